package search

import (
	"maps"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Result is what came of a search.
type Result struct {
	// Found is the smallest counterexample; nil: there is none within the bounds, or none was found before a limit.
	Found *trace.Trace
	// Excused are the smallest counterexamples for anomalies that Config.Excuses has let pass, one for each anomaly.
	Excused []*trace.Trace
	// All has the smallest one for each anomaly, if Config.On.
	All map[checker.Name]*trace.Trace
	// Idle are the kinds of faults in the budget of which none struck: nothing is known of them.
	Idle []faults.Kind
	// Limit says what stopped the search before it was complete; empty: nothing did.
	Limit string
	Progress
	// Runs is how many steps of the lock's own code were executed.
	Runs int
	// Longest is the number of steps of the longest path.
	Longest int
	// Coverage is what happened at all: "held", "refused", "expired", "handed over".
	Coverage []string
	// Symmetric: clients that differ only in their name count as one.
	Symmetric bool
	// Sessions: the lock is on a ZooKeeper.
	Sessions bool
	// Tries is how often a client tried in a round, at most.
	Tries int
	// Unnamed: nothing was ever under the lock's key, so whose the lock is was not judged.
	Unnamed bool
	// FewerServers says that the search has fewer servers than the lock's card names, and what else was searched; empty: it has as many.
	FewerServers string
	// Uncalled are the methods by which the lab has a client wait for the lock, and which the search did not call.
	Uncalled []string
	// Doubt says what the lock does that the search does not follow; empty: nothing was noticed.
	Doubt string
	// Horizon is the time at which the search stopped following time; 0: it did not matter.
	Horizon time.Duration
	// Dismissed is how often something looked wrong, by anomaly, and the checker said that it was not.
	Dismissed map[checker.Name]int
}

// Progress is how far a search has come.
type Progress struct {
	States   int
	Steps    int // from the first state, of the states that are expanded now
	Frontier int // states that are queued
	Memory   int // bytes, of what grows
	Faults   int // spent by the states that are expanded now
	Took     time.Duration
}

// Complete says whether everything within the bounds was searched.
func (r *Result) Complete() bool { return r.Limit == "" && r.Doubt == "" }

// Vacuous says whether there is no counterexample to a lock that was never held, or of which nothing was ever under its key: that shows nothing, or not
// enough.
func (r *Result) Vacuous() bool {
	return r.Found == nil && (r.Unnamed || !slices.Contains(r.Coverage, "held"))
}

// Shown is the counterexample, or the first of those that are excused; nil: there is none.
func (r *Result) Shown() *trace.Trace {
	if r.Found == nil && len(r.Excused) > 0 {
		return r.Excused[0]
	}
	return r.Found
}

// Unstruck are the faults that a search was asked for and that never struck in it. Of all kinds that a search of the lock can spend, some may
// never strike.
func (c Config) Unstruck(r *Result) []faults.Kind {
	if r.Found != nil || len(r.Idle) < len(c.Budget) && maps.Equal(c.Budget, Any(c.Lock, c.MostFaults)) {
		return nil
	}
	return r.Idle
}
