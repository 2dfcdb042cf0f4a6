package lab

import (
	"context"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	internal "github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// Bounds are those of a search. With the zero Bounds three clients (two of a lock on several servers) acquire, work and release once, and up to two
// faults of any kind strike.
type Bounds struct {
	Clients    int
	Rounds     int                 // how often each client acquires, works and releases
	Faults     map[faults.Kind]int // how many of each kind may strike; nil: any; empty: none
	MostFaults int                 // of all kinds together
	Anomalies  []checker.Name      // which to look for; nil: all
	// Limits end the search early; zero: there is none.
	States int
	Time   time.Duration
}

// Exploration is what came of a search.
type Exploration struct {
	Outcome Outcome // by the reviewed table of breaking points, or else by the lock's card
	// Counterexample has the fewest faults and then the fewest steps; nil: there is none within the bounds, or none was found before a limit.
	Counterexample *Counterexample
	Complete       bool   // everything within the bounds was searched
	Limit          string // what ended the search early
	States         int    // how many were found
	// Doubt is what the lock did that a model cannot follow, so that nothing is shown; empty: nothing. locktest.Explore with Search.Every searches any code.
	Doubt string
}

// Counterexample is an interleaving that breaks a lock.
type Counterexample struct {
	Anomalies []checker.Name
	Faults    []faults.Kind // in the order in which they strike
	History   []history.Event
	Verdict   checker.Verdict // of the history

	lock  impls.Spec
	trace *trace.Trace
}

// Explore searches every interleaving of a lock within bounds. What the lock's card promises nothing of does not end the search. The error is
// of bounds that cannot be, of a lock that cannot be explored, or of the context.
func Explore(ctx context.Context, lock impls.Spec, bounds Bounds) (*Exploration, error) {
	found, err := internal.Explore(ctx, internal.ExplorePlan{
		Lock: lock, Clients: bounds.Clients, Rounds: bounds.Rounds, Budget: search.Budget(bounds.Faults), MostFaults: bounds.MostFaults,
		Only: bounds.Anomalies, States: bounds.States, Time: bounds.Time,
	})
	if err != nil {
		return nil, err
	}
	out := &Exploration{Outcome: outcomeOf(found.Outcome()), Complete: found.Complete(), Limit: found.Limit, States: found.States, Doubt: found.Doubt}
	if t := found.Found; t != nil {
		out.Counterexample = &Counterexample{Anomalies: t.Anomalies, Faults: t.Faults, History: t.Events, Verdict: t.Verdict, lock: lock, trace: t}
	}
	return out, nil
}

// Script is a scenario that forces the interleaving. The error names a step that no script can express.
func (c *Counterexample) Script() (*scenarios.Script, error) {
	return reproduce.Script(c.lock, c.trace)
}
