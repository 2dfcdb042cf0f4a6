package compare

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

func find(t *testing.T, lock string, kind faults.Kind, b Bounds) Cell {
	t.Helper()
	spec, ok := impls.Find(lock)
	require.True(t, ok, lock)
	c, err := Find(context.Background(), spec, kind, b)
	require.NoError(t, err)
	require.Empty(t, c.Disputed)
	return c
}

// A few cells of the table, of both outcomes. internal/cmd/reference does them all.
func TestTheSearchesAgree(t *testing.T) {
	t.Parallel()
	cells := map[string][]faults.Kind{
		"setnx-del":   {"", faults.Crash},
		"setpx-del":   {faults.Pause, faults.FailOver},
		"setpx-lua":   {faults.Restart, faults.LateRequest},
		"getset":      {faults.ClockAhead, faults.StepBack},
		"setnx-watch": {faults.Duplicate},
	}
	for lock, kinds := range cells {
		for _, kind := range kinds {
			t.Run(lock+" "+string(kind), func(t *testing.T) {
				if lock != "setnx-del" {
					needs.Long(t, "one more cell of the table")
				}
				t.Parallel()
				c := find(t, lock, kind, Usual())
				assert.Empty(t, c.SlowLimit+c.FastLimit)
				assert.Empty(t, c.Differences())
			})
		}
	}
}

// Locks on a ZooKeeper: whatever one search finds the other does, with as few faults, if not within one try
// then within two.
func TestTheSearchesAgreeOnSessions(t *testing.T) {
	t.Parallel()
	b := Usual()
	for _, lock := range impls.OnZooKeeper() {
		for _, kind := range Kinds(lock) {
			t.Run(lock.Name+" "+string(kind), func(t *testing.T) {
				if kind != "" || lock.Name != "zookeeper" && lock.Name != "zookeeper-herd" {
					needs.Long(t, "one more cell of the table")
				}
				t.Parallel()
				c, err := FindPatiently(t.Context(), lock, kind, b, 2)
				require.NoError(t, err)
				assert.Empty(t, c.Disputed)
				assert.Empty(t, c.Differences())
				if lock.Name != "go-zookeeper" { // with that, a try goes on beside the next one
					assert.Empty(t, c.SlowLimit+c.FastLimit)
				}
			})
		}
	}
}

// A release of unknown outcome that is tried again, both ways: whatever one search finds the other does, with as few faults.
func TestTheSearchesAgreeOnReleasesTriedAgain(t *testing.T) {
	t.Parallel()
	b := Usual()
	b.ReleaseAgain = true
	for _, lock := range []string{"setpx-lua", "setnx-del"} {
		for _, kind := range []faults.Kind{faults.ReplyLost, faults.LateRequest} {
			t.Run(lock+" "+string(kind), func(t *testing.T) {
				if lock != "setpx-lua" || kind != faults.ReplyLost {
					needs.Long(t, "one more cell of the table")
				}
				t.Parallel()
				c := find(t, lock, kind, b)
				assert.Empty(t, c.SlowLimit+c.FastLimit)
				assert.Empty(t, c.Differences())
				assert.Equal(t, lock == "setnx-del", c.Slow[checker.WrongfulDelete] == 1)
			})
		}
	}
}

// What looks wrong only to whoever comes later: a release told ok that has left its lock in place, with a lease of minutes; and the lock of a
// client that was told nothing before another one called.
func TestTheSearchesAgreeOnWhatOthersLeave(t *testing.T) {
	t.Parallel()
	b := Usual()
	b.Tries = 2
	for lock, what := range map[string]struct {
		kind  faults.Kind
		shows checker.Name
		least int
	}{"setnx-expire-published": {"", checker.Unreleasable, 0}, "setnx-watch": {faults.ReplyLost, checker.GhostLock, 1}} {
		c := find(t, lock, what.kind, b)
		assert.Empty(t, c.SlowLimit+c.FastLimit)
		assert.Empty(t, c.Differences())
		assert.Equal(t, what.least, fewest(c.Slow, what.shows), lock)
	}
}

// A clock at less than a third of the right speed renews too late: two clients hold the lock after a drift and a long hold, by both, and after none of them.
func TestTheSearchesAgreeOnDrift(t *testing.T) {
	t.Parallel()
	rates := map[float64]int{.3: 2, 0: 0}
	if needs.Count(t, "rates", 1, len(rates)) < len(rates) {
		delete(rates, 0)
	}
	for rate, found := range rates {
		b := Usual()
		b.Beside, b.States = []faults.Kind{faults.LongHold}, 20_000
		b.ClockRate = rate
		c := find(t, "redisson-watchdog", faults.ClockBehind, b)
		assert.Empty(t, c.Differences())
		assert.Equal(t, found, c.Slow[checker.DoubleHolder], rate)
	}
}

// A client that tries once does not meet its own lost grant. The comparison says so, and not where the search was not complete.
func TestDifferencesAreNoticed(t *testing.T) {
	t.Parallel()
	needs.Long(t, "two searches")
	c := find(t, "getset", faults.ReplyLost, Usual())
	assert.Contains(t, c.Differences(), Difference{checker.Overwrite, -1, 1})
	c.SlowLimit = "1 states"
	assert.Empty(t, c.Differences())
	c.Slow[checker.StuckLock] = 1
	assert.Equal(t, []Difference{{checker.StuckLock, 1, -1}}, c.Differences())
}

// lender tells everybody that they have the lock, and nobody releases it. Whoever has not taken it has it for no time, and so does not work.
type lender struct {
	env   impls.Env
	valid time.Duration
}

func (l *lender) TryAcquire(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "SETNX", "k", l.env.Token())
	if l.valid = 0; reply == int64(1) {
		l.valid = time.Hour
	}
	return err == nil, err
}

func (l *lender) Valid() time.Duration { return l.valid }

func (l *lender) State() any { return l.valid }

func (l *lender) Release(context.Context) (bool, error) { return true, nil }

// The copy of a write arrives when its client has had the lock once more, and another in between. The copy changes nothing, and yet it is stale.
func TestTheSearchesAgreeOnCopiesOfWrites(t *testing.T) {
	t.Parallel()
	spec := impls.Spec{
		Card: impls.Card{Name: "lender", Needs: impls.OneServer, Contract: history.Contract{Leaseless: true}, EqualTokens: true},
		New:  func(env impls.Env, _ impls.Options) impls.Lock { return &lender{env: env} },
	}
	for clients, found := range map[int]int{1: 0, 2: 1} {
		b := Usual()
		b.Clients, b.Rounds = clients, 2
		c, err := Find(context.Background(), spec, faults.Duplicate, b)
		require.NoError(t, err)
		assert.Empty(t, c.SlowLimit+c.FastLimit)
		assert.Empty(t, c.Differences())
		assert.Equal(t, found, c.Slow[checker.StaleWrite])
	}
}
