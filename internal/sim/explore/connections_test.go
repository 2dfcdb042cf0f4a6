package explore

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/trace"
)

// TestARestartDropsWhatIsInFlight: a client may learn that its connection has broken, whether its request had been executed or not; and a transaction
// that watches a key on that connection does not go on.
func TestARestartDropsWhatIsInFlight(t *testing.T) {
	for _, test := range []struct {
		lock     string
		fault    faults.Kind
		looksFor checker.Name
		found    bool
	}{
		{"setpx-lua-resend", faults.Restart, checker.FalseAlarm, true},
		{"setpx-lua-resend", faults.FailOver, checker.FalseAlarm, true},
		{"setex-lua-published", faults.Restart, checker.FalseAlarm, true},
		{"setpx-lua", faults.Restart, checker.FalseAlarm, false},
		{"setnx-expire-norepair", faults.FailOver, checker.GhostLock, true},
		{"setnx-expire-norepair", faults.FailOver, checker.StuckLock, true},
		{"setpx-lua", faults.FailOver, checker.GhostLock, false},
		{"setnx-watch", faults.Restart, checker.WrongfulDelete, false},
		{"setnx-watch", faults.FailOver, checker.WrongfulDelete, false},
		{"setnx-watch", faults.FailOver, checker.StuckLock, true},
		{"redisson-multilock", faults.Restart, checker.DoubleHolder, false},
	} {
		t.Run(fmt.Sprintf("%s %s %s", test.lock, test.fault, test.looksFor), func(t *testing.T) {
			if !test.found {
				needs.Long(t, "a long search")
			}
			result, err := Explore(t.Context(), Config{
				Lock: lock(t, test.lock), Clients: 2, Rounds: 1, Budget: Budget{test.fault: 1}, MostFaults: 1, Only: []checker.Name{test.looksFor},
			}.Usual())
			require.NoError(t, err)
			require.Empty(t, result.Limit)
			require.Empty(t, result.Disputed)
			require.Equal(t, test.found, result.Found != nil)
		})
	}
}

// TestABrokenConnectionIsNoticedOnce: the loss that a restart causes is a step of its client, and costs no fault of its own.
func TestABrokenConnectionIsNoticedOnce(t *testing.T) {
	result, err := Explore(t.Context(), Config{
		Lock: lock(t, "setpx-lua-resend"), Clients: 2, Rounds: 1, Budget: Budget{faults.Restart: 1}, MostFaults: 1, Only: []checker.Name{checker.FalseAlarm},
	})
	require.NoError(t, err)
	require.NotNil(t, result.Found)
	require.Equal(t, []faults.Kind{faults.Restart}, result.Found.Faults)
	breaks := slices.DeleteFunc(slices.Clone(result.Found.Steps), func(s trace.Step) bool { return s.Kind != trace.Break })
	require.Len(t, breaks, 1)
	require.Nil(t, breaks[0].Request, "the release had been executed")
}

// TestAGivenUpRequestMayBeLost: what a client has sent and given up is on a connection, too. Here a background task renews; the release gives its
// request up, and the restart may drop that.
func TestAGivenUpRequestMayBeLost(t *testing.T) {
	x := newExplorer(Config{Lock: lock(t, "watchdog"), Clients: 1, Rounds: 1, Budget: Budget{faults.Restart: 1}, MostFaults: 1}, traits{})
	s := x.initial()
	c := &s.clients[0]
	c.travel[0] = x.texts.AddRequest(learn.Request{Commands: [][]string{{"PEXPIRE", learn.LockKey, "1200"}}}) | surely
	x.breakConnections(s, 0, s.servers[0])
	moves := x.clientMoves(nil, s, 0)
	require.Contains(t, moves, move{kind: moveArrive})
	require.Contains(t, moves, move{kind: moveArrive, slot: dropped})
	require.NoError(t, x.apply(s, move{kind: moveArrive, slot: dropped}))
	require.Zero(t, c.travel)
	require.Zero(t, c.torn)
}

// watcherLock takes its lock and gives it back by transactions that watch the key.
type watcherLock struct{ plain }

func (l *watcherLock) change(ctx context.Context, found any, command ...any) (done bool, err error) {
	err = l.env.Server().Watch(ctx, []string{learn.LockKey}, func(tx impls.Tx) error {
		v, err := tx.Do(ctx, "GET", learn.LockKey)
		if err == nil && v == found {
			_, done, err = tx.Exec(ctx, command)
		}
		return err
	})
	return done, err
}

func (l *watcherLock) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	held, err := l.change(ctx, nil, "SET", learn.LockKey, mine, "PX", l.lease.Milliseconds())
	if held {
		l.value = mine
	}
	return held, err
}

func (l *watcherLock) Release(ctx context.Context) (bool, error) {
	return l.change(ctx, l.value, "DEL", learn.LockKey)
}

// A transaction that its client has given up is on its way by the old connection. It does nothing if the key has changed, whatever the client has watched
// meanwhile by another one.
func TestALateTransactionIsOnItsOwnConnection(t *testing.T) {
	t.Parallel()
	s := strange{
		rounds: 2, faults: []faults.Kind{faults.LateRequest}, only: append([]checker.Name{checker.EarlyGrant, checker.Unreleasable, checker.FalseAlarm}, strays...),
		made: func(p plain) impls.Lock { return &watcherLock{p} },
	}
	result := s.explore(t)
	assert.Nil(t, result.Found)
	assert.True(t, result.Complete(), result.Limit)
}
