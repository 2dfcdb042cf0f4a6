package explore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/sim/states"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/racing"
)

// The search's anomalies are those that the checker defines, in its order.
func TestAnomaliesAreTheCheckers(t *testing.T) {
	want := []checker.Name{
		checker.DoubleHolder, checker.EarlyGrant, checker.WrongfulDelete, checker.WrongfulRenew, checker.Overwrite, checker.StaleWrite,
		checker.LostUpdate, checker.StuckLock, checker.GhostLock, checker.Unreleasable, checker.HungOperation, checker.FalseAlarm,
		checker.FenceRegression, checker.Unfair,
	}
	for i, a := range []anomalies{
		doubleHolder, earlyGrant, wrongfulDelete, wrongfulRenew, overwrite, staleWrite, lostUpdate, stuckLock, ghostLock, unreleasable,
		hungOperation, falseAlarm, fenceRegression, unfair,
	} {
		require.Equal(t, want[i:i+1], a.names())
	}
	require.Equal(t, want, Anomalies())
}

// Explorer and checker share the rules of ownership, but not the evidence. On random interleavings, faults and all, they see the same.
func TestTheJudgesAgree(t *testing.T) {
	if racing.Enabled {
		t.Skip("the race detector keeps gigabytes for the coroutines that a search has used; other tests run the same code beside it")
	}
	part := needs.Count(t, "twentieths of the random paths", 1, 10)
	walks, reentering, waiting := 3*part, 8*part, needs.Count(t, "random paths of waiting clients", 6, 400)
	endless, ok := impls.Find("setpx-lua-published/endless-release")
	require.True(t, ok)
	for i, spec := range append(impls.All(), endless) {
		if spec.Needs == impls.EveryServer {
			continue
		}
		t.Run(spec.Name, func(t *testing.T) {
			if i%3 != 0 {
				needs.Long(t, "random paths of one more lock")
			}
			t.Parallel()
			walk(t, Config{Lock: spec}, walks, onTheWay)
		})
	}
	for name, rate := range map[string]float64{"getset": .5, "setnx-expired-del": .3, "watchdog": .7, "redisson-watchdog": .5, "watchdog-published": .9, "redlock": .7, "redlock-endless": .5} {
		t.Run(name+" by clocks that drift", func(t *testing.T) {
			if name != "getset" && name != "redlock" {
				needs.Long(t, "random paths of one more lock")
			}
			t.Parallel()
			walk(t, Config{Lock: lock(t, name), ClockRate: rate}, walks, onTheWay)
		})
	}
	for _, name := range []string{"redisson", "redisson-fair"} {
		t.Run(name+" re-entered", func(t *testing.T) {
			if name != "redisson" {
				needs.Long(t, "random paths of one more lock")
			}
			t.Parallel()
			walk(t, Config{Lock: lock(t, name), Reenter: 2}, reentering, onTheWay)
		})
	}
	for _, name := range []string{"setnx-del", "getset", "setpx-lua", "redisson"} {
		t.Run(name+" released again", func(t *testing.T) {
			t.Parallel()
			walk(t, Config{Lock: lock(t, name), ReleaseAgain: true}, walks, onTheWay)
		})
	}
	t.Run("waiting in line", func(t *testing.T) {
		t.Parallel()
		fair, ok := impls.Find("redisson-fair")
		require.True(t, ok)
		config := Config{Lock: fair, Skew: 20 * time.Second, Only: []checker.Name{checker.Unfair}}
		unfairly := walk(t, config, waiting, func(n checker.Name) bool { return n == checker.Unfair })
		require.True(t, unfairly > 0 || !needs.Full(), "nobody was overtaken")
	})
}

// onTheWay says whether the explorer judges an anomaly in any state: a stuck lock it looks for at the end of a path only, and whether order is kept
// where clients wait.
func onTheWay(n checker.Name) bool { return n != checker.Unfair && n != checker.StuckLock }

// walk takes random paths and says how many of the anomalies that are watched they showed. They share an explorer: what it has learned of the
// lock's code, which knows nothing of replicas, is most of the work.
func walk(t *testing.T, config Config, paths int, watched func(checker.Name) bool) (shown int) {
	t.Helper()
	config.Clients, config.Rounds, config.MostFaults, config.Budget = 3, 2, 3, Any(config.Lock, 2)
	x := newExplorer(config, traits{reads: true, lives: true, nominal: true})
	defer x.automaton.Close()
	x.horizon = 10 * x.lease
	fresh := x.judge
	for lag := range states.MostLag {
		x.replicas = states.NewReplicas(x.servers, 1+lag)
		for seed := lag; seed < paths; seed += states.MostLag {
			x.judge = fresh
			shown += walkOnce(t, x, uint64(seed), watched)
		}
	}
	return shown
}

// walkOnce takes one of these paths.
func walkOnce(t *testing.T, x *explorer, seed uint64, watched func(checker.Name) bool) int {
	t.Helper()
	r := newRecorder(x)
	x.watcher = r
	r.begin(x.clients)
	s, dice, found := x.initial(), rand.New(rand.NewPCG(seed, 1)), anomalies(0)
	for range 150 {
		var moves []move
		passes := dice.IntN(4) == 0 // for how long it may takes most of the time to find out
		for faults := range x.atOnce + 1 {
			if moves = x.movesAtOnce(moves, s, faults); passes {
				moves = x.timeMoves(moves, s, faults)
			}
		}
		if len(moves) == 0 {
			break
		}
		m := moves[dice.IntN(len(moves))]
		if m.kind >= moveCrash && m.kind != moveContact && m.kind != moveHeal && dice.IntN(4) != 0 {
			continue // faults are many, and should not come all at once
		}
		x.judge.found = 0
		err := r.step(s, m)
		if errors.Is(err, learn.ErrTokens) {
			break
		}
		require.NoError(t, err)
		if found |= x.judge.found; found&hungOperation != 0 {
			break // its user asks no more
		}
	}
	verdict := checker.Judge(r.trace.Events, checker.Options{})
	require.False(t, verdict.CheckerFault, verdict.Reason)
	unwatched := func(n checker.Name) bool { return !watched(n) }
	seen, mine := slices.DeleteFunc(verdict.Names(), unwatched), slices.DeleteFunc(found.names(), unwatched)
	if !slices.Equal(mine, seen) {
		t.Errorf("seed %d: the explorer saw %v, the checker %v", seed, mine, seen)
		for i, step := range r.trace.Steps {
			t.Logf("%3d %6v %-7s C%d S%d %v %v %v %v %s | %v %v", i+1, step.At, step.Kind, step.Client+1, step.Server, step.Op,
				step.Answer.Outcome, step.Passed, step.Request, step.Reply, step.After.Keys, step.After.Holds)
		}
		for _, a := range verdict.Anomalies {
			t.Log(a.Name, a.Why)
		}
		t.FailNow()
	}
	return len(seen)
}
