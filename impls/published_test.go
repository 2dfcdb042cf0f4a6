package impls_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/waiting"
)

// on is another lock of the same process, on the key.
func on(t *testing.T, name, key string, env impls.Env) impls.Lock {
	t.Helper()
	spec, found := impls.Find(name)
	require.True(t, found)
	return spec.New(env, impls.Options{Key: key, Lease: 900 * time.Millisecond})
}

// A second lock of the thread overwrites the token of the first, which can then not be released.
func TestTokensOfOneThread(t *testing.T) {
	tests := []struct {
		lock      string
		exchanges []exchange
		want      history.Outcome
	}{
		{"getset-published/shared-token", []exchange{{reply: one}, {reply: one}, {want: "GET k", reply: mine(1, 0)}}, history.No},
		{"getset-published/local-check", []exchange{{reply: one}, {reply: one}, {reply: mine(1, 0)}, {want: "DEL k", reply: one}}, history.OK},
		{"watchdog-published/overwritten-token", []exchange{{reply: "OK"}, {reply: "OK"}, {want: "EVAL delete k t2", reply: zero}}, history.No},
		{"watchdog-published/blind-renewal", []exchange{{reply: "OK"}, {reply: "OK"}, {want: "EVAL delete k t1", reply: one}}, history.OK},
	}
	for _, test := range tests {
		t.Run(test.lock, func(t *testing.T) {
			env := newFake(t, test.exchanges...)
			first, second := on(t, test.lock, "k", env), on(t, test.lock, "k2", env)
			for _, l := range []impls.Lock{first, second} {
				held, err := l.TryAcquire(t.Context())
				require.NoError(t, err)
				require.True(t, held)
			}
			assert.Equal(t, test.want, impls.Outcome(first.Release(t.Context())))
			assert.Empty(t, env.exchanges)
		})
	}
}

// The published isLocked asks no server: it compares the expiry that the client has written with the client's clock.
func TestLocalCheckAsksNobody(t *testing.T) {
	env := newFake(t, exchange{reply: one})
	l := lock(t, "getset-published", env)
	check := func(want bool) {
		t.Helper()
		held, err := l.(impls.Checker).Held(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, held)
	}
	check(false)
	_, err := l.TryAcquire(t.Context())
	require.NoError(t, err)
	check(true)
	env.clock = env.clock.Add(900 * time.Millisecond)
	check(true)
	env.clock = env.clock.Add(time.Millisecond)
	check(false)
	assert.Len(t, env.sent, 1)
}

// The published release forgets its token between GET and DEL: after an error of GET it can be repeated, after an error of DEL it cannot.
func TestReleaseForgetsItsToken(t *testing.T) {
	get, lost := exchange{want: "GET k", reply: mine(1, 0)}, exchange{want: "DEL k", err: errLost}
	tests := []struct {
		name, lock    string
		first, second []exchange
	}{
		{"GET lost", "getset-published", []exchange{{want: "GET k", err: errLost}}, []exchange{get, {want: "DEL k", reply: one}}},
		{"DEL lost", "getset-published", []exchange{get, lost}, nil},
		{"DEL lost, not forgotten", "getset-published/local-check", []exchange{get, lost}, []exchange{get, {want: "DEL k", reply: one}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := newFake(t, append([]exchange{{reply: one}}, append(test.first, test.second...)...)...)
			l := lock(t, test.lock, env)
			_, err := l.TryAcquire(t.Context())
			require.NoError(t, err)
			assert.Equal(t, history.Unknown, impls.Outcome(l.Release(t.Context())))
			assert.Equal(t, history.OK, impls.Outcome(l.Release(t.Context())), "it has no result, or released")
			assert.Empty(t, env.exchanges)
			assert.Len(t, env.sent, 1+len(test.first)+len(test.second))
		})
	}
}

// Only a GET that returns its own value makes the published release forget its token.
func TestReleaseKeepsItsTokenUntilGetMatches(t *testing.T) {
	for name, seen := range map[string]any{"gone": nil, "overwritten": mine(7, 0)} {
		t.Run(name, func(t *testing.T) {
			env := newFake(t, exchange{reply: one}, exchange{want: "GET k", reply: seen}, exchange{want: "GET k", reply: mine(1, 0)}, exchange{want: "DEL k", reply: one})
			l := lock(t, "getset-published", env)
			_, err := l.TryAcquire(t.Context())
			require.NoError(t, err)
			for range 3 {
				_, err := l.Release(t.Context())
				require.NoError(t, err)
			}
			assert.Empty(t, env.exchanges)
			assert.Len(t, env.sent, 4, "the third release sends nothing: the token is gone")
		})
	}
}

// The release of article 000 v2 removes its token when it has succeeded, and only then. Without one it sends nothing, and does not wait.
func TestOnlyASuccessfulReleaseRemovesTheToken(t *testing.T) {
	script := exchange{want: "EVAL delete k t1"}
	env := newFake(t, exchange{reply: "OK"}, script.answered(zero), exchange{want: script.want, err: errLost}, script.answered(one))
	l := lock(t, "setpx-lua-published", env)
	assert.Equal(t, history.No, impls.Outcome(l.Release(t.Context())), "it has never had the lock")
	_, err := l.TryAcquire(t.Context())
	require.NoError(t, err)
	for _, want := range []history.Outcome{history.No, history.Unknown, history.OK, history.No, history.No} {
		assert.Equal(t, want, impls.Outcome(l.Release(t.Context())))
	}
	assert.Len(t, env.sent, 4)

	env = newFake(t)
	assert.Equal(t, history.No, impls.Outcome(lock(t, "setpx-lua-published/endless-release", env).Release(t.Context())), "it does not wait for 24.9 days")
	assert.Equal(t, start, env.clock)
}

// A waiter does not try again after the exception. The lock is taken.
func TestNullPointerEndsTheWait(t *testing.T) {
	env := newFake(t, exchange{reply: zero}, exchange{want: "GET k"}, exchange{reply: one})
	l := lock(t, "getset-published/lost-retry", env)
	held, err := waiting.Acquire(t.Context(), t.Context(), env, l, waiting.Spin())
	assert.ErrorContains(t, err, "null pointer")
	assert.Equal(t, history.No, impls.Outcome(held, err))
	assert.Len(t, env.sent, 3)
}

// Both articles have a lease that is as good as none: 2³¹−1 ms, and milliseconds that are passed as seconds.
func TestEndlessLeases(t *testing.T) {
	env := newFake(t, exchange{want: "SET k t1 NX PX 2147483647", reply: "OK"})
	_, err := lock(t, "setpx-lua-published/endless-lease", env).TryAcquire(t.Context())
	require.NoError(t, err)
	env = newFake(t, exchange{reply: one}, exchange{want: "EXPIRE k 900", reply: one})
	_, err = lock(t, "setnx-expire-published", env).TryAcquire(t.Context())
	require.NoError(t, err)
}

func TestSpentRetries(t *testing.T) {
	for name, want := range map[string]int{"watchdog-published": 4 + 1, "watchdog-published/blind-renewal": 4 + 4} {
		env := newFake(t, make([]exchange, 10)...)
		l := lock(t, name, env)
		for range 2 {
			held, err := l.TryAcquire(t.Context())
			require.NoError(t, err)
			assert.False(t, held)
		}
		assert.Len(t, env.sent, want, name)
	}
}

func TestPublishedWatchdogs(t *testing.T) {
	blind := "PEXPIRE k 900"
	tests := []struct {
		name, lock string
		exchanges  []exchange
	}{
		{"renews at two thirds, without looking", "watchdog-published", []exchange{
			{want: blind, reply: zero}, {want: blind, reply: one}, {want: blind, err: errLost},
		}},
		{"looks whose it is", "watchdog-published/silent-end", []exchange{
			{want: "EVAL expire k t1 900", reply: one}, {want: "EVAL expire k t1 900", reply: zero},
		}},
		{"survives an error", "watchdog-published/blind-renewal", []exchange{{err: errLost}, {want: blind, reply: one}}},
		{"renews another key", "watchdog-published/blind-renewal+foreign-encoding", []exchange{{want: `PEXPIRE "k" 900`, reply: zero}}},
		{"Redisson's", "redisson-watchdog", []exchange{{want: "EVAL expire k t1 900", reply: one}, {err: errLost}}},
		{"Redisson's, lost", "redisson-watchdog", []exchange{{want: "EVAL expire k t1 900", reply: zero}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := newFake(t, append([]exchange{{reply: "OK"}}, test.exchanges...)...)
			_, err := lock(t, test.lock, env).TryAcquire(t.Context())
			require.NoError(t, err)
			env.background()
			assert.Empty(t, env.exchanges)
			assert.Len(t, env.sent, 1+len(test.exchanges))
			assert.Empty(t, env.said, "nobody is told")
		})
	}
}

// setRedis catches the error of a thread that cannot be started, and returns true.
func TestWatchdogThatIsNotStarted(t *testing.T) {
	env := newFake(t, exchange{reply: "OK"})
	held, err := lock(t, "watchdog-published/unstarted-watchdog", env).TryAcquire(t.Context())
	require.NoError(t, err)
	assert.True(t, held)
	assert.Nil(t, env.task)
}

// The published watchdog reads its clock when its thread starts: after the reply to SET, and before it waits for the static monitor.
func TestWatchdogCountsFromTheReply(t *testing.T) {
	for name, want := range map[string]time.Duration{
		"watchdog-published": 900, "watchdog-published/late-start": 900, "watchdog-published/blind-renewal": 600,
	} {
		t.Run(name, func(t *testing.T) {
			var renewed time.Time
			env := newFake(t, exchange{reply: "OK", takes: 300 * time.Millisecond})
			env.exchanges = append(env.exchanges, exchange{err: errLost, meanwhile: func() { renewed = env.clock; env.cancel() }})
			_, err := lock(t, name, env).TryAcquire(t.Context())
			require.NoError(t, err)
			env.background()
			assert.Equal(t, want*time.Millisecond, renewed.Sub(start))
		})
	}
}

// A release clears the flag, and an acquire within the watchdog's sleep sets it again.
func TestWatchdogSurvives(t *testing.T) {
	tests := []struct {
		lock string
		want int // renewals after the release
	}{
		{"watchdog-published/blind-renewal+shared-flag+surviving-watchdog", 1},
		{"watchdog-published/blind-renewal+shared-flag", 0},
	}
	for _, test := range tests {
		t.Run(test.lock, func(t *testing.T) {
			env := newFake(t, exchange{reply: "OK"})
			l, other := on(t, test.lock, "k", env), on(t, test.lock, "k2", env)
			_, err := l.TryAcquire(t.Context())
			require.NoError(t, err)
			renewals := 0
			env.exchanges = []exchange{{reply: one, meanwhile: func() {
				dog := env.task
				env.exchanges = append([]exchange{{reply: one}, {reply: "OK"}}, exchange{reply: one, meanwhile: func() { renewals++ }})
				_, _ = l.Release(t.Context())
				_, _ = other.TryAcquire(context.Background())
				env.task = dog
			}}}
			env.background()
			assert.Equal(t, test.want, renewals)
		})
	}
}

// The pool has two connections. Who waits keeps one, and who waits for one bars the way to give one back.
func TestPoolStarvesTheHolder(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	env := newFake(t, exchange{reply: "OK"})
	holder, first, second := lock(t, "setpx-lua-published", env), lock(t, "setpx-lua-published", env), lock(t, "setpx-lua-published", env)
	held, err := holder.TryAcquire(ctx)
	require.NoError(t, err)
	require.True(t, held)
	require.NoError(t, first.(impls.Patient).Enter(ctx))
	require.NoError(t, second.(impls.Patient).Enter(ctx))
	cancel()
	_, err = holder.Release(ctx)
	assert.ErrorIs(t, err, context.Canceled, "there is no connection left")
	require.NoError(t, first.(impls.Patient).Leave(t.Context(), false))
	env.exchanges = []exchange{{want: "EVAL delete k t1", reply: one}}
	assert.Equal(t, history.OK, impls.Outcome(holder.Release(t.Context())))
}

// A release that waits for a connection is in the monitor of its lock object: waiters of the same key cannot return theirs, those of
// another key can.
func TestMonitorIsThatOfTheLockObject(t *testing.T) {
	for key, want := range map[string]int{"k": 1, "k2": 0} {
		t.Run(key, func(t *testing.T) {
			env := &sleeper{fake: newFake(t, exchange{reply: "OK"}, exchange{want: "EVAL delete k t1", reply: one})}
			holder, first, second := on(t, "setpx-lua-published", "k", env), on(t, "setpx-lua-published", "k", env), on(t, "setpx-lua-published", key, env)
			_, err := holder.TryAcquire(t.Context())
			require.NoError(t, err)
			require.NoError(t, first.(impls.Patient).Enter(t.Context()))
			require.NoError(t, second.(impls.Patient).Enter(t.Context()))
			blocked := 0
			env.asleep = func(time.Duration) {
				ctx, cancel := context.WithCancel(t.Context())
				env.asleep = func(time.Duration) { blocked++; cancel() } // its thread ends
				assert.NoError(t, second.(impls.Patient).Leave(ctx, false))
			}
			assert.Equal(t, history.OK, impls.Outcome(holder.Release(t.Context())))
			assert.Equal(t, want, blocked)
		})
	}
}

func TestRedissonRenewsOncePerName(t *testing.T) {
	env := newFake(t, exchange{}, exchange{}, exchange{want: "EVAL expire counted k 900 t1:1", reply: zero}, exchange{reply: one})
	lost, heir := lock(t, "redisson", env), lock(t, "redisson", user{env, "a", "2"})
	_, err := lost.TryAcquire(t.Context())
	require.NoError(t, err)
	first := env.task
	_, err = heir.TryAcquire(t.Context()) // the lease has ended meanwhile, and the entry is still there
	require.NoError(t, err)
	require.NotNil(t, first)
	env.background()
	assert.Len(t, env.exchanges, 1, "the heir is not renewed")
}

func TestRedissonSaysHowLongToWait(t *testing.T) {
	env := newFake(t, exchange{reply: int64(500)}, exchange{reply: zero}, exchange{reply: int64(-1)}, exchange{}, exchange{want: "SUBSCRIBE k:channel"})
	l := lock(t, "redisson", env)
	for _, want := range []time.Duration{500 * time.Millisecond, time.Millisecond, 0, 0} {
		_, err := l.TryAcquire(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, l.(impls.Hinter).RetryAfter())
	}
	_, err := l.(impls.Waker).Wakeups(t.Context())
	assert.NoError(t, err)
}

func TestFairLockQueuesWhileItsUserWaits(t *testing.T) {
	env := newFake(t,
		exchange{want: "EVAL queue k k:queue k:timeout 900 t1:1 9000 1000000", reply: int64(500)},
		exchange{want: "EVAL leave k:queue k:timeout t1:1 9000", reply: one},
		exchange{want: "EVAL in turn k k:queue k:timeout 900 t1:1 9000 1000000", reply: int64(500)},
		exchange{want: "SUBSCRIBE k:channel:t1:1"},
	)
	l := lock(t, "redisson-fair", env).(interface {
		impls.Lock
		impls.Patient
		impls.Waker
	})
	require.NoError(t, l.Enter(t.Context()))
	_, _ = l.TryAcquire(t.Context())
	require.NoError(t, l.Leave(t.Context(), false))
	_, _ = l.TryAcquire(t.Context())
	_, err := l.Wakeups(t.Context())
	assert.NoError(t, err)
	assert.Empty(t, env.exchanges)
}

func TestFenceGrowsWithTheGrant(t *testing.T) {
	env := newFake(t, exchange{reply: int64(7)}, exchange{reply: zero})
	l := lock(t, "fenced", env)
	for range 2 {
		_, err := l.TryAcquire(t.Context())
		require.NoError(t, err)
		assert.Equal(t, int64(7), l.(impls.Fencer).Fence())
	}
}

func TestTheWallClockSaysWhenToStopWaiting(t *testing.T) {
	for name, another := range map[string]string{
		"getset-published": "local-check", "setpx-lua-published": "starving-pool", "setex-lua-published": "swallowed-error",
		"setnx-watch-published": "aborted-release", "setnx-expire-published": "long-lease",
	} {
		t.Run(name, func(t *testing.T) {
			env := newFake(t)
			l := lock(t, name, env).(impls.SelfTimed)
			began := env.Now()
			for _, test := range []struct {
				passed time.Duration // by the wall clock
				enough bool
			}{{0, false}, {999 * time.Millisecond, false}, {time.Second, true}, {-time.Hour, false}, {time.Hour, true}} {
				assert.Equal(t, test.enough, l.WaitedEnough(began.Add(-test.passed), time.Second), test.passed)
			}
			_, measures := lock(t, name+"/"+another, env).(impls.SelfTimed)
			assert.False(t, measures)
		})
	}
}

// Each published lock pauses as its code does, with and without its bugs.
func TestPublishedPauses(t *testing.T) {
	tests := []struct {
		lock        string
		first, late time.Duration // before and after three seconds
	}{
		{"getset-published", impls.NoPause, 0},
		{"setpx-lua-published", 200 * time.Millisecond, 200 * time.Millisecond},
		{"setex-lua-published", 50 * time.Millisecond, 50 * time.Millisecond},
		{"setnx-watch-published", impls.NoPause, impls.NoPause},
		{"setnx-expire-published", impls.NoPause, impls.NoPause},
	}
	for _, test := range tests {
		spec, _ := impls.Find(test.lock)
		for _, name := range []string{test.lock, test.lock + "/" + spec.Bugs[0].Name, test.lock + "/wall-clock"} {
			l := lock(t, name, newFake(t)).(impls.Paced)
			assert.Equal(t, test.first, l.Pause(3*time.Second-1), name)
			assert.Equal(t, test.late, l.Pause(3*time.Second), name)
		}
	}
}
