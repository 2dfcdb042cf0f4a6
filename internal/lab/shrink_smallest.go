package lab

import (
	"context"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// notForced is what the script of a smallest schedule says of itself.
const notForced = "The storm's own schedule could not be forced; this is the smallest schedule that shows the same anomaly."

// smallest is the script of the smallest schedule that shows one of the anomalies; nil if the explorer finds none.
func (s *shrinker) smallest(ctx context.Context) (*Shrunk, error) {
	tried := map[checker.Name]bool{}
	for _, a := range s.plan.Anomalies {
		tried[a.Name] = true
	}
	each := enoughTime / time.Duration(len(tried))
	clear(tried)
	for _, a := range s.plan.Anomalies {
		if tried[a.Name] || s.late() {
			continue
		}
		tried[a.Name] = true
		began := time.Now()
		s.try("%s by the smallest schedule of the explorer", a.Name)
		for _, budget := range budgets(*s.plan.Subject.Spec) {
			if time.Since(began) > each {
				s.inVain(a, "no smallest schedule was found in %v", each.Round(time.Second))
				break
			}
			t, err := s.explore(ctx, a.Name, budget)
			if err != nil {
				s.inVain(a, "not explored (%s)", firstLine(err))
				break
			}
			if t == nil {
				continue
			}
			if shrunk, err := s.validated(ctx, a, t); shrunk != nil || err != nil {
				return shrunk, err
			}
		}
	}
	return nil, context.Cause(ctx)
}

// validated is the script of a counterexample if it shows the anomaly in the model, and on a server; nil if not.
func (s *shrinker) validated(ctx context.Context, a checker.Anomaly, t *trace.Trace) (*Shrunk, error) {
	script, err := reproduce.Script(*s.plan.Subject.Spec, t)
	if err != nil {
		s.inVain(a, "no script can force its smallest schedule (%s)", firstLine(err))
		return nil, nil
	}
	script.Name, script.About = "race", append([]string{notForced}, script.About...)
	shrunk, err := s.shown(ctx, candidate{script, a})
	if shrunk != nil {
		shrunk.Smallest = true
	}
	return shrunk, err
}

// budgets are tried in this order: no fault, one kind after the other, then what befalls clients and messages together. Faults of a
// server are nobody's bug.
func budgets(lock impls.Spec) []search.Budget {
	together := search.Budget{}
	all := []search.Budget{{}}
	for _, kind := range search.FaultsOf(lock) {
		if kind.OnServer() {
			continue
		}
		together[kind] = 2
		all = append(all, search.Budget{kind: 2})
	}
	return append(all, together)
}

// Bounds of each search for a smallest schedule, and of all of them together. What is that large helps nobody to understand a race.
const (
	enoughStates = 100_000
	enoughTime   = 20 * time.Second
)

// explore finds the smallest schedule that shows an anomaly within a budget; nil if there is none.
func (s *shrinker) explore(ctx context.Context, name checker.Name, budget search.Budget) (*trace.Trace, error) {
	bounds := []search.Config{{Clients: 2, Rounds: 1}, {Clients: 3, Rounds: 1}, {Clients: 2, Rounds: 2}}
	if s.plan.Subject.Spec.Servers > 1 {
		bounds = []search.Config{{Clients: 2, Rounds: 1, Servers: 3}}
	}
	for _, config := range bounds {
		config.Lock, config.Budget, config.MostFaults, config.Only = *s.plan.Subject.Spec, budget, 2, []checker.Name{name}
		config.States, config.Time = enoughStates, enoughTime/8
		result, err := search.Search(ctx, config)
		if err != nil {
			return nil, err
		}
		if result.Found != nil {
			return result.Found, nil
		}
	}
	return nil, nil
}
