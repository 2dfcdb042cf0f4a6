package explore

import (
	"context"
	"fmt"
	"testing"

	"github.com/locklab/locklab/internal/sim/states"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// twofold takes two keys, so that one write may be lost.
type twofold struct{ plain }

func (l *twofold) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	for _, key := range []string{learn.LockKey, learn.LockKey + ":2"} {
		if set, err := l.set(ctx, l.env.Server(), key, mine, "NX"); !set || err != nil {
			return false, err
		}
	}
	return true, nil
}

// TestFailOver: a replica that lacks only the last write has lost the lock of whoever took it, whatever that one wrote; or a released lock is
// there again, and two clients that come when it has expired take it over. To lose a lock of two keys, it must lack two.
func TestFailOver(t *testing.T) {
	needs.Long(t, "a long search")
	twice := stranger(func(p plain) impls.Lock { return &twofold{p} })
	for _, test := range []struct {
		lock      impls.Spec
		looksFor  checker.Name
		lag, lost int // lost: by the smallest counterexample; 0: there is none
	}{
		{lock(t, "setnx-del"), checker.DoubleHolder, 0, 1},
		{lock(t, "setnx-del"), checker.DoubleHolder, 3, 1},
		{lock(t, "getset"), checker.Overwrite, 1, 1},
		{lock(t, "getset"), checker.Overwrite, 2, 1},
		{lock(t, "getset"), checker.Overwrite, 3, 1},
		{twice, checker.DoubleHolder, 1, 0},
		{twice, checker.DoubleHolder, 2, 2},
		{twice, checker.DoubleHolder, 3, 2},
		// A client that finds an older lock of its own in the place of its latest has lost the latest: the notice is right.
		{lock(t, "setpx-lua"), checker.Unreleasable, 3, 0},
		{lock(t, "setpx-lua"), checker.FalseAlarm, 3, 0},
		{lock(t, "setpx-getdel"), checker.FalseAlarm, 3, 0},
	} {
		result, err := Explore(t.Context(), Config{
			Lock: test.lock, Clients: 2, Rounds: 2, Budget: Budget{faults.FailOver: 1}, MostFaults: 1, Lag: test.lag, Only: []checker.Name{test.looksFor},
		})
		require.NoError(t, err)
		require.Empty(t, result.Limit)
		require.Empty(t, result.Disputed, "%s, %s: the checker sees another thing", test.lock.Name, test.looksFor)
		lost := 0
		if result.Found != nil {
			require.Equal(t, []faults.Kind{faults.FailOver}, result.Found.Faults)
			for _, s := range result.Found.Steps {
				lost = max(lost, s.Lost)
			}
		}
		require.Equal(t, test.lost, lost, "%s, %s, lag %d", test.lock.Name, test.looksFor, test.lag)
	}
}

// TestALagByTimeIsOneByNumber: a replica that lags by a time lacks the writes of that time. The search has each such replica, whenever the
// writes were made, since it has one for each number of last writes.
func TestALagByTimeIsOneByNumber(t *testing.T) {
	const apart ms = 100
	servers := states.NewServers(learn.NewTexts(learn.Permutations(1)), learn.LockKey)
	replicas := states.NewReplicas(servers, states.MostLag)
	var state, replica uint32
	var before []uint32 // by write: what the server had until then, as a replica has it now
	for i := range states.MostLag {
		set := servers.Texts.AddRequest(learn.Request{Commands: [][]string{{"SET", fmt.Sprint("key", i), "value", "PX", "1000"}}})
		before = append(before, servers.Promote(state))
		next := servers.Serve(state, set, 0).Next
		state, replica = next, replicas.Wrote(replica, state, next)
		state, replica = servers.Tick(state, apart), replicas.Tick(replica, apart)
		for k := range before {
			before[k] = servers.Tick(before[k], apart)
		}
	}
	for _, lag := range []ms{apart + 1, 2*apart + 1, 3*apart + 1} {
		lacks := int(lag / apart)
		require.Equal(t, before[states.MostLag-lacks]+1, replicas.Known[replica][lacks-1], "a lag of %d ms", lag)
	}
}
