package search

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

const lease = Lease

func config(t *testing.T, name string, kind faults.Kind) Config {
	t.Helper()
	lock, ok := impls.Find(name)
	require.True(t, ok, name)
	c := Config{Lock: lock, Clients: 2, Rounds: 1, Tries: 1, Budget: Budget{}, Settled: Settled{On: true}}
	if kind != "" {
		c.Budget[kind], c.MostFaults = 1, 1
	}
	return c
}

func searched(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Search(context.Background(), c)
	require.NoError(t, err)
	return r
}

func names(r *Result) []checker.Name { return slices.Sorted(maps.Keys(r.All)) }

// hashed releases by a script that it has loaded.
type hashed struct {
	env   impls.Env
	key   string
	value string
}

func (l *hashed) TryAcquire(ctx context.Context) (bool, error) {
	l.value = l.env.Token()
	reply, err := l.env.Servers()[0].Do(ctx, "SET", l.key, l.value, "NX", "PX", lease.Milliseconds())
	return reply == "OK", err
}

func (l *hashed) Release(ctx context.Context) (bool, error) {
	server := l.env.Servers()[0]
	sha, err := server.Do(ctx, "SCRIPT", "LOAD", `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	if err != nil {
		return false, err
	}
	n, err := server.Do(ctx, "EVALSHA", sha, 1, l.key, l.value)
	return n == int64(1), err
}

// A lock that loads its script is searched as one that sends it.
func TestLoadedScripts(t *testing.T) {
	t.Parallel()
	c := config(t, "setpx-lua", faults.Crash)
	c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock { return &hashed{env: env, key: opts.Key} }
	r := searched(t, c)
	assert.Empty(t, r.Limit)
	assert.Empty(t, names(r))
}

// What is known of these locks is found, and nothing else.
func TestKnownLocks(t *testing.T) {
	t.Parallel()
	const free = faults.Kind("")
	type known struct {
		lock string
		kind faults.Kind
		want []checker.Name
	}
	tests := []known{
		{"local", free, []checker.Name{checker.DoubleHolder, checker.LostUpdate, checker.StaleWrite}},
		{"setnx-del", free, nil},
		{"setnx-del", faults.Crash, []checker.Name{checker.StuckLock}},
		{"setnx-del", faults.Pause, nil},
		{"setnx-del", faults.ReplyLost, []checker.Name{checker.GhostLock, checker.StuckLock}},
		{"setpx-del", free, nil},
		{"setpx-del", faults.Pause, []checker.Name{checker.DoubleHolder, checker.LostUpdate, checker.StaleWrite, checker.WrongfulDelete}},
		{"setpx-lua", free, nil},
		{"setpx-lua", faults.Crash, nil},
		{"setpx-lua", faults.Pause, []checker.Name{checker.DoubleHolder, checker.LostUpdate, checker.StaleWrite}},
		{"setpx-lua", faults.ClockJump, []checker.Name{checker.DoubleHolder, checker.EarlyGrant, checker.LostUpdate, checker.StaleWrite}},
		{"setpx-lua", faults.ClockBack, nil},
		{"setnx-expire", faults.ClockBack, nil},
		{"getset", faults.ClockAhead, []checker.Name{
			checker.DoubleHolder, checker.EarlyGrant, checker.LostUpdate, checker.Overwrite, checker.StaleWrite, checker.WrongfulDelete,
		}},
		{"watchdog", faults.Crash, nil},
	}
	for _, test := range tests {
		t.Run(test.lock+" "+string(test.kind), func(t *testing.T) {
			if test.kind != free && test.kind != faults.Crash {
				needs.Long(t, "a search with one more fault")
			}
			t.Parallel()
			r := searched(t, config(t, test.lock, test.kind))
			assert.Empty(t, r.Limit)
			assert.Equal(t, test.want, names(r))
			for name, f := range r.All {
				least := 1
				if test.kind == free {
					least = 0
				}
				assert.Len(t, f.Faults, least, name)
			}
		})
	}
}

// contacts reports a loss at the second contact of a hold with its ZooKeeper.
type contacts struct {
	impls.Lock
	env impls.Env
}

func (l *contacts) TryAcquire(ctx context.Context) (bool, error) {
	held, err := l.Lock.TryAcquire(ctx)
	if held {
		life := l.env.Session().Present()
		l.env.Go(func(ctx context.Context) {
			for range 2 {
				if err := life.Prolonged(ctx); err != nil {
					return
				}
			}
			l.env.Lost("it was told twice")
		})
	}
	return held, err
}

// A lock that does something else at its second contact with a ZooKeeper than at the first is not taken to do the same.
func TestContactsAreTakenAgain(t *testing.T) {
	t.Parallel()
	c := config(t, "zookeeper", faults.Pause)
	inner := c.Lock.New
	c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock { return &contacts{inner(env, opts), env} }
	c.Clients = 1
	assert.NotContains(t, names(searched(t, c)), checker.FalseAlarm)
	c.Budget[faults.Pause], c.MostFaults = 2, 2
	assert.Contains(t, names(searched(t, c)), checker.FalseAlarm)
}

// readsClock asks for the time when it is released.
type readsClock struct {
	impls.Lock
	env impls.Env
}

func (l readsClock) Release(ctx context.Context) (bool, error) {
	l.env.Now()
	return l.Lock.Release(ctx)
}

// Of a lock on a ZooKeeper no clock is followed.
func TestSessionsBesideClocks(t *testing.T) {
	t.Parallel()
	c := config(t, "zookeeper", "")
	inner := c.Lock.New
	c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock { return readsClock{inner(env, opts), env} }
	_, err := Search(t.Context(), c)
	assert.ErrorContains(t, err, "it reads a clock")
}

// ownGoroutine releases the lock in a goroutine of its own.
type ownGoroutine struct{ impls.Lock }

func (l ownGoroutine) Release(ctx context.Context) (released bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		released, err = l.Lock.Release(ctx)
	}()
	<-done
	return released, err
}

// No search knows in which order goroutines go that it has not started.
func TestGoroutinesOfALockAreNoticed(t *testing.T) {
	t.Parallel()
	c := config(t, "setpx-lua", "")
	inner := c.Lock.New
	c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock { return ownGoroutine{inner(env, opts)} }
	_, err := Search(t.Context(), c)
	assert.ErrorContains(t, err, "used its Env from a goroutine of its own")
}

// Sequences that lead to exactly the same state count as one. To go through each of them shows the same.
func TestEverySequence(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"setpx-del", "setpx-lua", "setnx-watch", "local"} {
		c := config(t, name, "")
		few := searched(t, c)
		c.Every = true
		all := searched(t, c)
		assert.Equal(t, names(few), names(all), name)
		assert.Greater(t, all.States, few.States, name)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	c := config(t, "setpx-lua", faults.Pause)
	c.States = 50
	assert.NotEmpty(t, searched(t, c).Limit)
}
