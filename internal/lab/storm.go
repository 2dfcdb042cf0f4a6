package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// StormPlan says which locks go through which storms. Storms run in the live world.
type StormPlan struct {
	Subjects []play.Subject
	// Params are those of the first storm of each lock; those that follow have the seeds that follow. Zero: 5 clients, a lease of
	// StormLease or, if that is longer, the shortest with which the lock can keep its promises, and a minute.
	Params storm.Params
	// Storms is how many each lock goes through; zero: one.
	Storms   int
	Workload history.Workload // zero: a counter
	Options
}

// StormLease is the lease of storms where neither their plan nor the lock says more.
const StormLease = time.Second

// Lease is the lease of a lock's storms. A lock is not blamed for what it cannot do: one that is too short for its promises is an error.
func (p StormPlan) Lease(subject play.Subject) (time.Duration, error) {
	var shortest time.Duration
	if subject.Spec != nil {
		shortest = subject.Spec.MinLease
	}
	lease := cmp.Or(p.Params.Lease, max(StormLease, shortest))
	switch {
	case lease < shortest:
		return 0, fmt.Errorf("a lease of %v is too short: %s can keep its promises with %v or more", lease, subject.Name, shortest)
	case p.Params.For != 0 && p.Params.For < lease:
		return 0, fmt.Errorf("a storm of %v is too short: the lease of %s is %v", p.Params.For, subject.Name, lease)
	case p.Params.Work > lease/2:
		return 0, fmt.Errorf("a hold of %v is too long: the lease of %s is %v, and the work alone must not outlast half of it", p.Params.Work, subject.Name, lease)
	}
	return lease, nil
}

// Longest is after how long a storm of the plan is given up: each client may wait for each other, a hundred leases at a time, when the faults
// have ended.
func (p StormPlan) Longest() (time.Duration, error) {
	var lease time.Duration
	for _, subject := range p.Subjects {
		own, err := p.Lease(subject)
		if err != nil {
			return 0, err
		}
		lease = max(lease, own)
	}
	locks := p.Params.Clients * (1 + p.Params.Handles)
	return p.Params.For + time.Duration(100*locks)*lease + time.Minute, nil
}

// Storm runs storms and judges them by what the locks' cards promise; see Run.
func Storm(ctx context.Context, plan StormPlan) (*record.Run, error) {
	p := &plan.Params
	p.Clients, p.For = cmp.Or(p.Clients, 5), cmp.Or(p.For, time.Minute)
	if plan.Timeout == 0 {
		longest, err := plan.Longest()
		if err != nil {
			return nil, err
		}
		plan.Timeout = longest
	}
	run := Plan{Options: plan.Options}
	for _, subject := range plan.Subjects {
		lease, err := plan.Lease(subject)
		if err != nil {
			return nil, err
		}
		for round := 1; round <= max(1, plan.Storms); round++ {
			params := plan.Params
			params.Seed += int64(round) - 1
			params.Lease = lease
			params.Outlives = subject.Spec != nil && subject.Spec.Bug == "" && !slices.Contains(subject.Spec.Promises, impls.CrashSafety)
			params.Servers = max(1, subject.Traits.Servers)
			params.ZooKeeper, params.Opaque = subject.Traits.ZooKeeper, subject.Traits.Opaque != ""
			if !subject.Traits.Separate {
				params.Handles = 0
			}
			run.Cases = append(run.Cases, StormCase(subject, storm.New(params), plan.Workload, round))
		}
	}
	return Run(ctx, run)
}

// StormName is the scenario of the cells of a storm.
const StormName = "storm"

// StormCase is one lock in one storm. It is measured by what the lock promises.
func StormCase(subject play.Subject, plan *storm.Plan, work history.Workload, round int) Case {
	script := &scenarios.Script{Name: StormName, Lease: plan.Lease}
	for i := range plan.Clients {
		names := plan.Names(i)
		script.Clients = append(script.Clients, names[0])
		for _, name := range names {
			script.Handles = append(script.Handles, plan.HandlesIn(name)...)
		}
	}
	var contract storm.Contract
	if subject.Spec != nil {
		contract = storm.ContractOf(*subject.Spec)
	}
	return Case{Subject: subject, Script: script.Under(work), Round: round, Expected: contract.Expected(), Storm: plan}
}

// storm is what is known of a storm beforehand; nil if the case is none.
func (c Case) storm() *record.Storm {
	if c.Storm == nil {
		return nil
	}
	return &record.Storm{Seed: c.Storm.Seed, Planned: len(c.Storm.Strikes)}
}
