package explore

import (
	"maps"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Passed is what a search came past without an end.
type Passed struct {
	// Excused are the smallest counterexamples for anomalies that Config.Excuses has let pass, one for each anomaly.
	Excused []*trace.Trace
	// Idle are the kinds of faults in the budget of which none struck: nothing is known of them.
	Idle []faults.Kind
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
