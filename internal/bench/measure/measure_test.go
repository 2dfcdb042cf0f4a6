package measure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/needs"
)

const ms = time.Millisecond

// TestMarket: every crowd trades under every guard, and the market's books balance.
func TestMarket(t *testing.T) {
	needs.Long(t, "a market on three kinds of locks")
	for kind, guards := range map[string]int{measure.Embedded: 2, measure.RedisServer: 3} {
		t.Run(kind, func(t *testing.T) {
			p := openOn(t, kind, nil)
			enough(t, func(length time.Duration) bool {
				var record bench.Market
				plan := measure.MarketPlan{For: length, Rounds: 2, Lock: find(t, "setnx-watch")[0], Wait: "sleep:1ms"}
				require.NoError(t, p.Market(t.Context(), plan, &record))
				require.Len(t, record.Cells, 2*guards*len(bench.Crowds()))
				assert.Len(t, record.Absent, 3-guards)
				return balanced(t, record)
			})
		})
	}
}

// enough measures for longer and longer, until a measurement has seen enough.
func enough(t *testing.T, measure func(length time.Duration) bool) {
	t.Helper()
	for length := 20 * ms; length < time.Minute; length *= 2 {
		if measure(length) {
			return
		}
	}
	t.Fatal("nothing happened in a minute")
}

// balanced checks the books. It returns false if there was no trade under a lock.
func balanced(t *testing.T, record bench.Market) bool {
	t.Helper()
	bought := map[bench.Guard]int{}
	for _, c := range record.Cells {
		assert.Positive(t, c.Listed, "%+v", c)
		assert.Equal(t, c.Left, c.Listed-c.Bought, "%+v", c)
		assert.Zero(t, c.Failed, "%+v", c)
		bought[c.Guard] += c.Bought
	}
	assert.Empty(t, (&bench.Record{Market: &record}).Surprises())
	return bought[bench.OneLock] > 0 && bought[bench.PerItem] > 0
}

// TestWaiting: every request of the flash sale is granted and sells one item, and each way to wait has its price.
func TestWaiting(t *testing.T) {
	var record bench.Waiting
	plan := measure.WaitingPlan{
		Sale:     []bench.Strategy{{Way: "yield", Lock: "setpx-lua"}, {Way: "backoff:1ms,2ms,1", Lock: "setpx-lua"}, {Way: "wake", Lock: "redisson"}},
		Held:     []bench.Strategy{{Way: "sleep:1ms", Lock: "setpx-lua"}, {Way: "wake", Lock: "redisson-fair"}},
		Requests: 8, AtOnce: 4, Within: time.Minute, Waiters: 3, Holds: []time.Duration{ms}, For: 10 * ms,
	}
	require.NoError(t, open(t, nil).Waiting(t.Context(), plan, &record))
	require.Len(t, record.Sale, 2*3)
	for _, c := range record.Sale {
		assert.Equal(t, 8, c.Granted, "%+v", c)
		assert.Equal(t, 8, c.Sold, "%+v", c)
		assert.Zero(t, c.Failed, "%+v", c)
		assert.Equal(t, 8, c.Time.N)
		assert.GreaterOrEqual(t, c.PerGrant(), 2.0, "an acquire and a release: %+v", c)
		assert.Positive(t, c.Fairness)
	}
	require.Len(t, record.Held, 2)
	for _, c := range record.Held {
		assert.GreaterOrEqual(t, c.Granted, 3, "%+v", c)
		assert.GreaterOrEqual(t, c.PerGrant(), 2.0, "%+v", c)
		assert.Equal(t, ms, c.Hold)
	}
}

// TestStrategiesExist: each lock of the published comparisons can be waited for in that way.
func TestStrategiesExist(t *testing.T) {
	for _, s := range append(bench.Strategies(), bench.HeldStrategies()...) {
		assert.Empty(t, measure.CannotWait(find(t, s.Lock)[0], s.Way), s.Way)
	}
	find(t, bench.UpdatesLocks()...)
	assert.Equal(t, "this lock has no wake-ups", measure.CannotWait(find(t, "setpx-lua")[0], "wake"))
}

// TestLocks: locks on one server and on several are measured beside plain SET and DEL; what cannot be measured says why.
func TestLocks(t *testing.T) {
	var record bench.Locks
	plan := measure.LocksPlan{
		Locks: find(t, "local", "setpx-lua", "setnx-watch", "getset", "redlock"), For: 10 * ms, Rounds: 2, Clients: 3, Absent: bench.Planned(),
	}
	require.NoError(t, open(t, nil).Locks(t.Context(), plan, &record))
	require.Len(t, record.Rows, 5)
	assert.InDelta(t, 2, record.Plain.Alone.Commands, 0)
	assert.InDelta(t, 1, record.Plain.Alone.Share, 0)
	for _, row := range record.Rows {
		assert.Positive(t, row.Alone.PerSecond, row.Lock)
		assert.Zero(t, row.Alone.Failed, row.Lock)
		if row.Lock == "local" {
			assert.Nil(t, row.Together)
			assert.Equal(t, "each client has a lock of its own", row.Why)
			continue
		}
		assert.Positive(t, row.Alone.Share, row.Lock)
		assert.Positive(t, row.Together.PerSecond, row.Lock)
	}
	commands := map[string]float64{"local": 0, "setpx-lua": 2, "setnx-watch": 6, "getset": 3, "redlock": 10}
	for _, row := range record.Rows {
		assert.InDelta(t, commands[row.Lock], row.Alone.Commands, 0, row.Lock)
	}
	assert.Equal(t, 5, record.Rows[4].Servers)
	assert.Len(t, record.Absent, 2)
}

// TestZooKeeper: locks on a ZooKeeper are measured beside Redis, with their requests counted and the data on Redis.
func TestZooKeeper(t *testing.T) {
	needs.Long(t, "a ZooKeeper")
	p := openOn(t, measure.Embedded, nil)
	specs := find(t, "zookeeper")
	needs.Found(t, "zookeeper", zookeeper.Find)
	t.Run("locks", func(t *testing.T) {
		var record bench.Locks
		require.NoError(t, p.Locks(t.Context(), measure.LocksPlan{Locks: specs, For: 10 * ms, Rounds: 1, Clients: 3}, &record))
		require.Len(t, record.Rows, 1)
		assert.InDelta(t, 3, record.Rows[0].Alone.Commands, 0, "CREATE, GETCHILDREN, DELETE")
		assert.Positive(t, record.Rows[0].Together.PerSecond)
		assert.Contains(t, p.Describe(), "ZooKeeper")
	})
	t.Run("waiting", func(t *testing.T) {
		var record bench.Waiting
		wake := []bench.Strategy{{Way: "wake", Lock: "zookeeper"}}
		plan := measure.WaitingPlan{Sale: wake, Held: wake, Requests: 6, AtOnce: 3, Within: time.Minute, Waiters: 3, Holds: []time.Duration{ms}, For: 10 * ms}
		require.NoError(t, p.Waiting(t.Context(), plan, &record))
		require.Len(t, record.Sale, 2)
		for _, c := range record.Sale {
			assert.Equal(t, 6, c.Sold, "%+v", c)
			assert.GreaterOrEqual(t, c.PerGrant(), 3.0, "%+v", c)
		}
		assert.GreaterOrEqual(t, record.Held[0].Granted, 3)
	})
	t.Run("updates", func(t *testing.T) {
		enough(t, func(length time.Duration) bool {
			var record bench.Updates
			plan := updates(t)
			plan.Locks, plan.Seeds, plan.For = specs, []int64{1}, plan.Every+plan.Pause+length
			require.NoError(t, p.Updates(t.Context(), plan, &record))
			require.Len(t, record.Rows, 1)
			assert.Zero(t, bench.Total(record.Rows[0].Guarded).Lost)
			return bench.Total(record.Rows[0].Unguarded).Acked > 0
		})
	})
}

// TestWakingWhatCannotWake: a lock without wake-ups is measured alone.
func TestWakingWhatCannotWake(t *testing.T) {
	var record bench.Locks
	plan := measure.LocksPlan{Locks: find(t, "setpx-lua", "redisson"), For: ms, Rounds: 1, Clients: 2, Wait: "wake"}
	require.NoError(t, open(t, nil).Locks(t.Context(), plan, &record))
	assert.Nil(t, record.Rows[0].Together)
	assert.Equal(t, "this lock has no wake-ups", record.Rows[0].Why)
	assert.NotNil(t, record.Rows[1].Together)
}

func updates(t *testing.T) measure.UpdatesPlan {
	return measure.UpdatesPlan{
		Locks: find(t, "setpx-lua", "fenced"), Clients: 2, Lease: 200 * ms, Every: 50 * ms, Pause: 250 * ms,
		Think: 20 * ms, Rest: ms, Wait: "sleep:2ms", Seeds: []int64{1, 2},
	}
}

// TestUpdates: clients are paused past their lease; what was acknowledged is there, or counted as lost, and with a fence nothing is lost.
func TestUpdates(t *testing.T) {
	p := open(t, nil)
	enough(t, func(length time.Duration) bool {
		var record bench.Updates
		plan := updates(t)
		plan.For = plan.Every + plan.Pause + length
		require.NoError(t, p.Updates(t.Context(), plan, &record))
		require.Len(t, record.Rows, 2)
		acked := true
		for i, row := range record.Rows {
			assert.Equal(t, i == 1, row.OwnFence)
			require.Len(t, row.Unguarded, 2)
			require.Len(t, row.Guarded, 2)
			for _, count := range append(row.Unguarded, row.Guarded...) {
				acked = acked && count.Acked > 0
				assert.Positive(t, count.Pauses)
				assert.LessOrEqual(t, count.Lost, count.Acked)
			}
			assert.Zero(t, bench.Total(row.Guarded).Lost, row.Lock)
		}
		return acked
	})
}

// TestPrograms: the locks of a program are used by its own processes, beside the lab's.
func TestPrograms(t *testing.T) {
	program := strings.Join(servertest.As("program"), " ")
	own, err := measure.ProgramLocks(t.Context(), servertest.As("guard"), program)
	require.NoError(t, err)
	require.Len(t, own, 1)
	specs, programs := append(find(t, "setpx-lua"), own...), map[string]string{"mine": program}
	p := open(t, nil)

	var locks bench.Locks
	require.NoError(t, p.Locks(t.Context(), measure.LocksPlan{Locks: specs, For: 10 * ms, Rounds: 1, Clients: 3, Programs: programs}, &locks))
	require.Len(t, locks.Rows, 2)
	assert.Equal(t, "mine", locks.Rows[1].Lock)
	assert.Positive(t, locks.Rows[1].Alone.PerSecond)
	assert.Positive(t, locks.Rows[1].Together.PerSecond)
	assert.InDelta(t, 2, locks.Rows[1].Alone.Commands, 0, "SET, EVAL")

	enough(t, func(length time.Duration) bool {
		var record bench.Updates
		plan := updates(t)
		plan.Locks, plan.Programs, plan.For = specs, programs, plan.Every+plan.Pause+length
		require.NoError(t, p.Updates(t.Context(), plan, &record))
		require.Len(t, record.Rows, 2)
		acked := true
		for _, row := range record.Rows {
			require.Len(t, row.Unguarded, len(plan.Seeds))
			require.Len(t, row.Guarded, len(plan.Seeds))
			acked = acked && bench.Total(row.Unguarded).Acked > 0
		}
		return acked
	})

	plan := measure.LocksPlan{Locks: own, For: 10 * ms, Rounds: 1, Clients: 3, Programs: map[string]string{"mine": "false"}}
	require.ErrorContains(t, p.Locks(t.Context(), plan, &locks), `measuring mine by "false"`)
}

var errEnough = errors.New("enough")

// TestInterrupted: a measurement that is ended early has the figures that are known by then.
func TestInterrupted(t *testing.T) {
	t.Run("before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errEnough)
		var record bench.Market
		err := open(t, nil).Market(ctx, measure.MarketPlan{For: time.Hour, Rounds: 1, Lock: find(t, "setpx-lua")[0]}, &record)
		require.ErrorIs(t, err, errEnough)
		assert.Empty(t, record.Cells)
	})
	t.Run("in a step", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		told := make(chan measure.Progress, 1)
		p := open(t, func(p measure.Progress) {
			select {
			case told <- p:
			default:
			}
			cancel(errEnough)
		})
		plan := updates(t)
		plan.For = time.Hour
		var record bench.Updates
		require.ErrorIs(t, p.Updates(ctx, plan, &record), errEnough)
		progress := <-told
		assert.Equal(t, 1, progress.Step)
		assert.Equal(t, 1, progress.Steps)
		assert.Greater(t, progress.Left, 50*time.Minute)
		require.Len(t, record.Rows, 2, "what the clients did by then")
		for _, row := range record.Rows {
			assert.Zero(t, bench.Total(row.Guarded).Lost)
		}
	})
}

func TestOpenErrors(t *testing.T) {
	_, err := measure.Open(t.Context(), measure.Config{Guard: servertest.As("guard"), Server: "127.0.0.1:6379"})
	require.ErrorContains(t, err, `unknown server "127.0.0.1:6379"; a measurement takes embedded or redis-server`)
	_, err = measure.Open(t.Context(), measure.Config{})
	require.Error(t, err)
}

// TestClientsThatDoNotStart are an error, not a figure.
func TestClientsThatDoNotStart(t *testing.T) {
	p, err := measure.Open(t.Context(), measure.Config{Guard: servertest.As("guard"), Host: servertest.As("host"), Client: []string{"false"}, Server: measure.Embedded})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	var record bench.Updates
	require.Error(t, p.Updates(t.Context(), updates(t), &record))
	assert.Empty(t, record.Rows)
}
