package impls_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// sleeper has a wall clock that can be stepped, and runs asleep in each sleep.
type sleeper struct {
	*fake
	by     time.Duration // what the wall clock has been stepped by
	asleep func(d time.Duration)
}

func (s *sleeper) Now() time.Time { return s.fake.Now().Add(s.by) }

func (s *sleeper) Sleep(ctx context.Context, d time.Duration) error {
	s.asleep(d)
	return s.fake.Sleep(ctx, d)
}

// nanoTime is no wall clock: a step changes neither what isLocked says nor when a lease has ended.
func TestNanoTimeDoesNotStep(t *testing.T) {
	live := exchange{want: "GET k", reply: mine(9, 0)}
	env := &sleeper{fake: newFake(t, exchange{reply: one}, exchange{reply: zero}, live)}
	l, other := lock(t, "getset-published", env), on(t, "getset-published/local-check", "k", env)
	_, err := l.TryAcquire(t.Context())
	require.NoError(t, err)
	env.by = time.Hour
	held, err := l.(impls.Checker).Held(t.Context())
	require.NoError(t, err)
	assert.True(t, held)
	assert.Equal(t, history.No, impls.Outcome(other.TryAcquire(t.Context())))
}

// The release of article 000 v2 tries again every 200 ms, for 2³¹−1 ms by the wall clock.
func TestReleaseIsBoundedByTheWallClock(t *testing.T) {
	const bound = (1<<31 - 1) * time.Millisecond
	gone := exchange{want: "EVAL delete k t1", reply: zero}
	env := &sleeper{fake: newFake(t, exchange{reply: "OK"}, gone, gone, gone)}
	var pauses []time.Duration
	env.asleep = func(d time.Duration) {
		if pauses = append(pauses, d); len(pauses) == 2 {
			env.by = bound - 2*d
		}
	}
	l := lock(t, "setpx-lua-published/endless-release", env)
	_, err := l.TryAcquire(t.Context())
	require.NoError(t, err)
	assert.Equal(t, history.No, impls.Outcome(l.Release(t.Context())))
	assert.Len(t, pauses, 3, "and one after the last try, as published")
	assert.Empty(t, env.exchanges)
}

// Until its renewal is due the published watchdog asks the wall clock 30 times in a lease, where the published code spins.
func TestWatchdogPollsItsClock(t *testing.T) {
	env := &sleeper{fake: newFake(t, exchange{reply: "OK"})}
	var renewed time.Time
	env.exchanges = append(env.exchanges, exchange{err: errLost, meanwhile: func() { renewed = env.clock; env.cancel() }})
	_, err := lock(t, "watchdog-published", env).TryAcquire(t.Context())
	require.NoError(t, err)
	asked := 0
	env.asleep = func(time.Duration) {
		if asked++; asked == 10 {
			env.by = -300 * time.Millisecond
		}
	}
	env.background()
	assert.Equal(t, 30, asked, "20 in two thirds of a lease, and 10 more for the third by which the clock was set back")
	assert.Equal(t, 900*time.Millisecond, renewed.Sub(start))
}
