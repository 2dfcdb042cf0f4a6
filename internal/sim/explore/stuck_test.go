package explore

import (
	"context"
	"testing"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// remaker has a watchdog that nobody stops. It makes the key anew when it is missing, and prolongs it for ever.
type remaker struct {
	plain
	leaseless bool
}

func (l *remaker) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	taken, err := l.make(ctx, mine)
	if taken {
		l.value = mine
		l.env.Go(func(ctx context.Context) {
			for l.env.Sleep(ctx, l.lease/3) == nil {
				_, _ = l.make(ctx, mine)
			}
		})
	}
	return taken, err
}

func (l *remaker) make(ctx context.Context, mine string) (bool, error) {
	if l.leaseless {
		n, err := l.env.Server().Do(ctx, "SETNX", learn.LockKey, mine)
		return n == int64(1), err
	}
	const source = `if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
		if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`
	n, err := l.env.Server().Eval(ctx, &impls.Script{Source: source}, []string{learn.LockKey}, mine, l.lease.Milliseconds())
	return n == int64(1), err
}

// A key that is made anew after the release keeps everybody out, and gives the lock to nobody.
func TestRemadeKeyIsStuck(t *testing.T) {
	t.Parallel()
	for _, leaseless := range []bool{false, true} {
		spec := stranger(func(p plain) impls.Lock { return &remaker{p, leaseless} })
		spec.Leaseless = leaseless
		config := Config{Lock: spec, Clients: 2, Budget: Budget{}, Only: []checker.Name{checker.StuckLock}, States: 20_000}
		result, err := Explore(context.Background(), config.Usual())
		require.NoError(t, err)
		assert.Empty(t, result.Disputed, "leaseless: %v", leaseless)
		require.NotNil(t, result.Found, "leaseless: %v", leaseless)
	}
}

// guarded takes a permit under another key before it takes the lock.
type guarded struct {
	plain
	permit permit
}

func (l *guarded) TryAcquire(ctx context.Context) (bool, error) {
	if permitted, err := l.permit.TryAcquire(ctx); !permitted || err != nil {
		return false, err
	}
	l.value = l.env.Token()
	n, err := l.env.Server().Do(ctx, "SETNX", learn.LockKey, l.value)
	return n == int64(1), err
}

func (l *guarded) Release(ctx context.Context) (bool, error) {
	if freed, err := l.plain.Release(ctx); !freed || err != nil {
		return false, err
	}
	return l.permit.Release(ctx)
}

// After a lost reply the permit is gone, and nobody asks for the lock any more: the lock's key does not show that it is stuck.
func TestRefusedUnderAnotherKey(t *testing.T) {
	t.Parallel()
	spec := stranger(func(p plain) impls.Lock { return &guarded{p, permit{p, "permits"}} })
	config := Config{Lock: spec, Clients: 2, Budget: spend(faults.ReplyLost), Only: []checker.Name{checker.StuckLock}}
	result, err := Explore(context.Background(), config.Usual())
	require.NoError(t, err)
	assert.Empty(t, result.Disputed)
	assert.Nil(t, result.Found)
	assert.NotEmpty(t, result.Doubt)
}

// keeping takes a lock without a lease, and never gives it back.
func keeping(refused step) func(plain) impls.Lock {
	return script(func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "SETNX", learn.LockKey, l.env.Token())
		if n == int64(1) || err != nil {
			return err == nil, err
		}
		return refused(l, ctx)
	}, func(*scripted, context.Context) (bool, error) { return false, nil })
}

// Whoever is refused for good has a lock that is stuck, whatever its tries do besides.
func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]step{
		"at once":                     func(*scripted, context.Context) (bool, error) { return false, nil },
		"after a sleep":               func(l *scripted, ctx context.Context) (bool, error) { return false, l.env.Sleep(ctx, l.lease/12) },
		"after a sleep of two leases": func(l *scripted, ctx context.Context) (bool, error) { return false, l.env.Sleep(ctx, 2*l.lease) },
		"after a sleep, and remembers when": func(l *scripted, ctx context.Context) (bool, error) {
			l.t = l.env.Now()
			return false, l.env.Sleep(ctx, l.lease)
		},
		"and writes down that it was here": func(l *scripted, ctx context.Context) (bool, error) {
			_, err := l.env.Server().Do(ctx, "SET", "here", l.env.Token())
			return false, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kinds := range [][]faults.Kind{nil, {faults.Crash}} {
				s := strange{only: []checker.Name{checker.StuckLock}, faults: kinds, made: keeping(refused)}
				result := s.explore(t)
				assert.Empty(t, result.Disputed)
				assert.NotNil(t, result.Found)
			}
		})
	}
}

// A try that does not end shows nothing: no live client is refused by it.
func TestATryThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	for _, sleeps := range []bool{true, false} {
		polls := func(l *scripted, ctx context.Context) (bool, error) {
			for {
				if v, err := l.env.Server().Do(ctx, "GET", learn.LockKey); v == nil || err != nil {
					return false, err
				}
				if !sleeps {
					continue
				}
				if err := l.env.Sleep(ctx, l.lease/4); err != nil {
					return false, err
				}
			}
		}
		s := strange{only: []checker.Name{checker.StuckLock}, clients: 1, faults: []faults.Kind{faults.Crash}, made: keeping(polls)}
		result := s.explore(t)
		assert.Nil(t, result.Found)
		assert.Contains(t, result.Doubt, "still in a try", "sleeps: %v", sleeps)
	}
}

// What is not free within two leases, and is not free for a client that asks then, is stuck, also where it would be taken later.
func TestHowLongAStuckLockLasts(t *testing.T) {
	t.Parallel()
	for tries, stuck := range map[int]bool{2: false, 4: false, 5: true} {
		made := keeping(func(l *scripted, ctx context.Context) (bool, error) {
			v, err := l.env.Server().Do(ctx, "GET", learn.LockKey)
			if err != nil {
				return false, err
			}
			if v != l.value {
				l.value, l.n = v.(string), 0
			}
			if l.n++; l.n == tries {
				return l.take(ctx, l.env.Token())
			}
			return false, l.env.Sleep(ctx, l.lease*5/4)
		})
		s := strange{only: []checker.Name{checker.StuckLock}, clients: 1, made: made}
		result := s.explore(t)
		assert.Empty(t, result.Disputed)
		assert.Equal(t, stuck, result.Found != nil, "%d tries", tries)
	}
}

// A late request that takes a lock without a lease counts from the command before it, however long its client has slept in between.
func TestALateRequestAfterASleep(t *testing.T) {
	t.Parallel()
	made := script(func(l *scripted, ctx context.Context) (bool, error) {
		if err := l.env.Sleep(ctx, l.lease/2); err != nil {
			return false, err
		}
		n, err := l.env.Server().Do(ctx, "SETNX", learn.LockKey, l.env.Token())
		if n == int64(1) || err != nil {
			return err == nil, err
		}
		return false, l.env.Sleep(ctx, l.lease/2)
	}, nil)
	s := strange{only: ghosts, faults: []faults.Kind{faults.LateRequest}, made: made}
	result := s.explore(t)
	assert.Empty(t, result.Disputed)
}
