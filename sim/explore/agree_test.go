package explore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/racing"
)

// notWatched are anomalies that the explorer does not look for: they need what its clients never do.
func notWatched() []checker.Name { return []checker.Name{checker.Unfair} }

// The explorer's properties and the checker's monitors are written apart. On ways taken at random, faults and all, they see the same.
func TestTheJudgesAgree(t *testing.T) {
	walks := 40
	if racing.Enabled {
		walks = 5
	}
	endless, ok := impls.Find("setpx-lua-published/endless-release")
	require.True(t, ok)
	for _, spec := range append(impls.All(), endless) {
		if spec.Needs == impls.EveryServer || spec.Needs == impls.MostServers {
			continue
		}
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range walks {
				walk(t, spec, uint64(seed))
			}
		})
	}
}

func walk(t *testing.T, spec impls.Spec, seed uint64) {
	t.Helper()
	config := Config{Lock: spec, Clients: 3, Rounds: 2, MostFaults: 3}
	for f := range config.Budget {
		config.Budget[f] = 2
	}
	x := newExplorer(config, false, true)
	defer x.automaton.class.dismiss()
	x.horizon = 10 * x.lease
	r := &recorder{x: x, trace: &Trace{}}
	x.watcher = r
	r.begin(x.clients)
	s, dice, found := x.initial(), rand.New(rand.NewPCG(seed, 1)), anomalies(0)
	for range 150 {
		moves := x.moves(nil, s)
		if len(moves) == 0 {
			break
		}
		m := moves[dice.IntN(len(moves))]
		if m.kind >= moveCrash && dice.IntN(4) != 0 {
			continue // faults are many, and should not come all at once
		}
		x.judge.found = 0
		err := r.step(s, m)
		if errors.Is(err, errTokens) {
			break
		}
		require.NoError(t, err)
		if found |= x.judge.found; found&noReturn != 0 {
			break // its user asks no more
		}
	}
	verdict := checker.Judge(r.trace.Events, checker.Options{})
	require.False(t, verdict.CheckerFault, verdict.Reason)
	seen := slices.DeleteFunc(verdict.Names(), func(n checker.Name) bool { return slices.Contains(notWatched(), n) })
	if !slices.Equal(found.names(), seen) {
		t.Errorf("seed %d: the explorer saw %v, the checker %v", seed, found.names(), seen)
		for i, step := range r.trace.Steps {
			t.Logf("%3d %6v %-7s C%d S%d %v %v %v %v %s | %v %v", i+1, step.At, step.Kind, step.Client+1, step.Server, step.Op,
				step.Answer.Outcome, step.Passed, step.Request, step.Reply, step.After, step.Held)
		}
		for _, a := range verdict.Anomalies {
			t.Log(a.Name, a.Why)
		}
		t.FailNow()
	}
}
