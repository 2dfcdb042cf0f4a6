package explore

import (
	"context"
	"testing"

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
		n, err := l.env.Server().Do(ctx, "SETNX", lockKey, mine)
		return n == int64(1), err
	}
	const source = `if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
		if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`
	n, err := l.env.Server().Eval(ctx, &impls.Script{Source: source}, []string{lockKey}, mine, l.lease.Milliseconds())
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
	n, err := l.env.Server().Do(ctx, "SETNX", lockKey, l.value)
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
