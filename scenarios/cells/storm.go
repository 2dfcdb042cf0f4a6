package cells

import (
	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/storm"
)

// StormName is the scenario of the cells of a storm.
const StormName = "storm"

// StormCase is one lock in one storm.
func StormCase(subject Subject, plan *storm.Plan, work history.Workload, round int, expected checker.Expected) Case {
	script := &scenarios.Script{Name: StormName, Lease: plan.Lease}
	for i := range plan.Clients {
		names := plan.Names(i)
		script.Clients = append(script.Clients, names[0])
		for _, name := range names {
			script.Handles = append(script.Handles, plan.HandlesIn(name)...)
		}
	}
	return Case{Subject: subject, Script: script.Under(work), Round: round, Expected: expected, Storm: plan}
}

// Clients are the names of all clients that may appear.
func (c Case) Clients() []string {
	if c.Storm == nil {
		return c.Script.Clients
	}
	var names []string
	for i := range c.Storm.Clients {
		names = append(names, c.Storm.Names(i)...)
	}
	return names
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
	if c.Storm == nil {
		return checker.Conclude(events, checker.Options{}), nil
	}
	return storm.Conclude(events, storm.CreedIn(c.Expected), *c.storm())
}
