package lab

import (
	"cmp"
	"context"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/scenarios/storm"
)

// StormPlan says which locks go through which storms. Storms run in the live world.
type StormPlan struct {
	Subjects []play.Subject
	// Params are those of the first storm of each lock; those that follow have the seeds that follow. Zero: 5 clients, a lease of a
	// second, and a minute.
	Params storm.Params
	// Storms is how many each lock goes through; zero: one.
	Storms   int
	Workload history.Workload // zero: a counter
	Options
}

// Storm runs storms and judges them by what the locks' cards promise; see Run.
func Storm(ctx context.Context, plan StormPlan) (*checker.Run, error) {
	run := Plan{Options: plan.Options}
	p := &plan.Params
	p.Clients, p.Lease, p.For = cmp.Or(p.Clients, 5), cmp.Or(p.Lease, time.Second), cmp.Or(p.For, time.Minute)
	for _, subject := range plan.Subjects {
		for round := 1; round <= max(1, plan.Storms); round++ {
			params := plan.Params
			params.Seed += int64(round) - 1
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
func (c Case) storm() *checker.Storm {
	if c.Storm == nil {
		return nil
	}
	return &checker.Storm{Seed: c.Storm.Seed, Planned: len(c.Storm.Strikes)}
}

// Conclude judges the history of a cell.
func (c Case) Conclude(events []history.Event) (checker.Verdict, *checker.Storm) {
	cell := judged(checker.Cell{Storm: c.storm(), Expected: c.Expected}, events)
	return cell.Verdict, cell.Storm
}
