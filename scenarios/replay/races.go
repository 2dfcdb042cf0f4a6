package replay

import (
	"context"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/sim/explore"
)

// Race is a counterexample.
type Race struct {
	Lock   impls.Spec
	Faults string // what was allowed: the name of one kind, or "all"
	Trace  *explore.Trace
}

// Name is the race in one word.
func (r Race) Name() string { return r.Lock.Name + "-" + r.Faults }

// Parsed is the script of the race, ready to be played.
func (r Race) Parsed() (*scenarios.Script, error) {
	text, err := Script(r.Lock, r.Trace)
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(r.Name()+".lab", []byte(text))
}

// bounds are tried in this order; the first in which a lock breaks will do. Three servers are the fewest of which a majority is not all.
func bounds(lock impls.Spec) []explore.Config {
	if lock.Servers > 1 {
		return []explore.Config{{Clients: 2, Rounds: 1, Servers: 3}}
	}
	return []explore.Config{{Clients: 2, Rounds: 1}, {Clients: 2, Rounds: 2}, {Clients: 3, Rounds: 1}}
}

// All as the faults of a race are all kinds together.
const All = "all"

// Races explores a lock with each kind of fault alone, and with two faults of any kinds, and returns what breaks it. limit bounds each
// exploration; one that it stops has found nothing.
func Races(ctx context.Context, lock impls.Spec, limit explore.Config) ([]Race, error) {
	var races []Race
	worst, err := First(ctx, lock, limit)
	if err != nil {
		return nil, err
	}
	if worst != nil {
		races = append(races, *worst)
	}
	for _, f := range explore.Faults() {
		var alone explore.Budget
		alone[f] = 1
		trace, err := first(ctx, lock, alone, 1, limit)
		if err != nil {
			return nil, err
		}
		if trace != nil && len(trace.Faults) > 0 {
			races = append(races, Race{Lock: lock, Faults: f.String(), Trace: trace})
		}
	}
	return races, nil
}

// First is the first race of a lock when two faults of any kinds may strike; nil: there is none.
func First(ctx context.Context, lock impls.Spec, limit explore.Config) (*Race, error) {
	var budget explore.Budget
	for _, f := range explore.Faults() {
		budget[f] = 1
	}
	trace, err := first(ctx, lock, budget, 2, limit)
	if trace == nil || err != nil {
		return nil, err
	}
	return &Race{Lock: lock, Faults: All, Trace: trace}, nil
}

// first explores within growing bounds until the lock breaks.
func first(ctx context.Context, lock impls.Spec, budget explore.Budget, most int, limit explore.Config) (*explore.Trace, error) {
	for _, config := range bounds(lock) {
		config.Lock, config.Budget, config.MostFaults = lock, budget, most
		config.States, config.Time, config.Memory, config.Only = limit.States, limit.Time, limit.Memory, limit.Only
		found, err := explore.Explore(ctx, config)
		if err != nil {
			return nil, err
		}
		if found.Found != nil {
			return found.Found, nil
		}
	}
	return nil, nil
}

// Shown says whether a cell that played the script of a race shows what the trace does; if not, why.
func (r Race) Shown(cell checker.Cell) (why string, shown bool) {
	seen := cell.Verdict.Names()
	for _, name := range r.Trace.Anomalies {
		if !slices.Contains(seen, name) {
			return strings.TrimSpace(cell.Verdict.String() + " " + cell.Verdict.Reason), false
		}
	}
	return "", true
}
