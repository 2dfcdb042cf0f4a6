package search

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// uncounted is a lock that its holder can take again, and that forgets that it has: any release frees it.
type uncounted struct {
	env  impls.Env
	key  string
	held bool
}

func (l *uncounted) State() any { return l.held }

func (l *uncounted) TryAcquire(ctx context.Context) (bool, error) {
	if l.held {
		return true, nil
	}
	reply, err := l.env.Server().Do(ctx, "SET", l.key, "x", "NX", "PX", lease.Milliseconds())
	l.held = reply == "OK"
	return l.held, err
}

func (l *uncounted) Release(ctx context.Context) (bool, error) {
	l.held = false
	_, err := l.env.Server().Do(ctx, "DEL", l.key)
	return err == nil, err
}

// A lock that counts right holds; one that is free after too few releases has two holders; and one that counts what its holder was not told of is not free after
// as many releases.
func TestReenter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault faults.Kind
		want  checker.Name
	}{
		"redisson":       {"", ""},
		"redisson-lease": {faults.Duplicate, checker.Unreleasable},
		"uncounted":      {"", checker.DoubleHolder},
	} {
		c := config(t, "redisson", test.fault)
		if c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock { return &uncounted{env: env, key: opts.Key} }; name != "uncounted" {
			c.Lock, _ = impls.Find(name)
		}
		c.Reenter = 1
		r := searched(t, c)
		assert.Empty(t, r.Limit)
		if test.want == "" {
			assert.Empty(t, names(r))
			continue
		}
		assert.Contains(t, names(r), test.want, name)
	}
}

// A queue keeps its order, but not if a clock is ahead by more than a client may be silent. Nothing else is found meanwhile.
func TestQueues(t *testing.T) {
	t.Parallel()
	needs.Long(t, "thousands of states")
	for skew, want := range map[time.Duration][]checker.Name{lease * 3 / 2: nil, 20 * time.Second: {checker.Unfair}} {
		c := config(t, "redisson-fair", faults.ClockAhead)
		c.Clients, c.Tries, c.Skew, c.Only = 3, 2, skew, []checker.Name{checker.Unfair}
		assert.Equal(t, want, names(searched(t, c)), skew)
	}
}

// semaphore lets as many clients have it as there are keys.
type semaphore struct {
	env  impls.Env
	keys []string
	held string
}

func (l *semaphore) State() any { return l.held }

func (l *semaphore) TryAcquire(ctx context.Context) (bool, error) {
	for _, key := range l.keys {
		reply, err := l.env.Server().Do(ctx, "SET", key, "x", "NX", "PX", lease.Milliseconds())
		if l.held = key; reply == "OK" || err != nil {
			return reply == "OK", err
		}
	}
	l.held = ""
	return false, nil
}

func (l *semaphore) Release(ctx context.Context) (bool, error) {
	_, err := l.env.Server().Do(ctx, "DEL", l.held)
	return err == nil, err
}

// As many clients may hold a semaphore as it has permits, and one more may not. Nothing else is judged.
func TestPermits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		clients, keys int
		want          []checker.Name
	}{{2, 2, nil}, {3, 2, nil}, {3, 3, []checker.Name{checker.DoubleHolder}}}
	for _, test := range tests[:needs.Count(t, "searches", 1, len(tests))] {
		c := config(t, "setpx-lua", "")
		c.Clients = test.clients
		c.Lock.Contract = history.Contract{Permits: 2}
		c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock {
			return &semaphore{env: env, keys: []string{opts.Key, "second", "third"}[:test.keys]}
		}
		r := searched(t, c)
		assert.Empty(t, r.Limit)
		assert.Equal(t, test.want, names(r), "%+v", test)
	}
}

// confirmed writes once more where it has got the lock, so that a replica that lacks one write has the lock all the same.
type confirmed struct{ hashed }

func (l *confirmed) TryAcquire(ctx context.Context) (bool, error) {
	if held, err := l.hashed.TryAcquire(ctx); !held || err != nil {
		return false, err
	}
	confirms := `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end redis.call("SET", "confirmed", ARGV[1]) return 1`
	n, err := l.env.Server().Eval(ctx, &impls.Script{Source: confirms}, []string{l.key}, l.value)
	return n == int64(1), err
}

// A replica lacks as many writes as it may.
func TestLag(t *testing.T) {
	t.Parallel()
	for lag, finds := range map[int]bool{0: false, 1: false, 2: true} {
		c := config(t, "setpx-lua", faults.FailOver)
		c.Lag = lag
		c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock {
			return &confirmed{hashed{env: env, key: opts.Key}}
		}
		_, found := searched(t, c).All[checker.DoubleHolder]
		assert.Equal(t, finds, found, lag)
	}
}

// heard is told by a message that the lock is free, and then tries once more; or it trusts that, and takes the lock.
type heard struct {
	env    impls.Env
	key    string
	trusts bool
	value  string
}

func (l *heard) take(ctx context.Context, how ...any) (bool, error) {
	reply, err := l.env.Server().Do(ctx, append([]any{"SET", l.key, l.value, "PX", lease.Milliseconds()}, how...)...)
	return reply == "OK", err
}

func (l *heard) TryAcquire(ctx context.Context) (bool, error) {
	l.value = l.env.Token()
	free, err := l.env.Server().Subscribe(ctx, "free")
	if err != nil {
		return false, err
	}
	defer free.Close()
	if held, err := l.take(ctx, "NX"); held || err != nil {
		return held, err
	}
	if _, err := free.Receive(ctx); err != nil {
		return false, err
	}
	if l.trusts {
		return l.take(ctx)
	}
	return l.take(ctx, "NX")
}

func (l *heard) Release(ctx context.Context) (bool, error) {
	frees := `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end redis.call("DEL", KEYS[1]) redis.call("PUBLISH", "free", "") return 1`
	n, err := l.env.Server().Eval(ctx, &impls.Script{Source: frees}, []string{l.key}, l.value)
	return n == int64(1), err
}

// A client waits for what is published, and does something when it has heard it. Its connection may break, and who publishes may have crashed.
func TestMessages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault  faults.Kind
		trusts bool
		shows  checker.Name
	}{{"", false, ""}, {"", true, checker.Overwrite}, {faults.Crash, false, ""}, {faults.Restart, false, checker.DoubleHolder}}
	for _, test := range tests[:needs.Count(t, "searches", 2, len(tests))] {
		c := config(t, "setpx-lua", test.fault)
		c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock {
			return &heard{env: env, key: opts.Key, trusts: test.trusts}
		}
		c.Rounds = 2
		r := searched(t, c)
		assert.Empty(t, r.Limit)
		if test.shows == "" {
			assert.Empty(t, names(r))
			continue
		}
		assert.Contains(t, names(r), test.shows)
	}
}
