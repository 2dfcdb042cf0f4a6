package impls_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// t1:1 and t1:2 are two threads of the client t1.

func TestNamedLeaseHasNoWatchdog(t *testing.T) {
	for name, renewed := range map[string]bool{"redisson-lease": false, "redisson-published": true, "redisson": true} {
		env := newFake(t, exchange{want: "EVAL count in k 900 t1:1"})
		held, err := lock(t, name, env).TryAcquire(t.Context())
		require.NoError(t, err)
		assert.True(t, held)
		assert.Equal(t, renewed, env.task != nil, name)
	}
}

// The first failed renewal is the last. Its entry goes: the next acquire is renewed again, unlike with redisson/stale-entry.
func TestPublishedRenewals(t *testing.T) {
	const renewal = "EVAL expire counted k 900 t1:1"
	for name, last := range map[string]exchange{
		"not ours": {want: renewal, reply: zero},
		"lost":     {want: renewal, err: errLost},
	} {
		t.Run(name, func(t *testing.T) {
			env := newFake(t, exchange{}, exchange{want: renewal, reply: one}, last)
			l := lock(t, "redisson-published", env)
			_, err := l.TryAcquire(t.Context())
			require.NoError(t, err)
			env.exchanges = append(env.exchanges, exchange{want: "not sent"})
			env.background()
			assert.Len(t, env.exchanges, 1)
			env.exchanges, env.task = []exchange{{}}, nil
			_, err = l.TryAcquire(t.Context())
			require.NoError(t, err)
			assert.NotNil(t, env.task)
		})
	}
}

// An inner acquire with a lease of its own overwrites the lock object's: the renewal goes on with that, and so does the release. It is not renewed itself,
// and the next acquire without one puts the watchdog's back.
func TestInnerLeaseOverwritesTheOuterOne(t *testing.T) {
	for name, inner := range map[string]string{"redisson-published": "900", "redisson-published/overwritten-lease": "225"} {
		env := newFake(t, exchange{want: "EVAL count in k 900 t1:1"}, exchange{want: "EVAL count in k " + inner + " t1:1"})
		l := lock(t, name, env)
		for range 2 {
			_, err := l.TryAcquire(t.Context())
			require.NoError(t, err)
		}
		env.exchanges = []exchange{{want: "EVAL expire counted k " + inner + " t1:1", reply: zero}}
		env.background()
		env.exchanges, env.task = []exchange{
			{want: "EVAL count out k k:channel " + inner + " t1:1", reply: zero}, {want: "EVAL count out k k:channel " + inner + " t1:1", reply: one},
			{want: "EVAL count in k 900 t1:1"},
		}, nil
		_, _ = l.Release(t.Context())
		_, _ = l.Release(t.Context())
		_, _ = l.TryAcquire(t.Context())
		assert.Empty(t, env.exchanges, name)
	}
}

// What becomes of the renewal when a thread releases the lock while its renewal is on the way, and another thread takes it.
func TestRenewalAnsweredAfterRelease(t *testing.T) {
	for name, heirRenewed := range map[string]bool{"redisson-published": false, "redisson": true} {
		t.Run(name, func(t *testing.T) {
			env := newFake(t, exchange{})
			owner, heir := lock(t, name, env), lock(t, name, user{env, "a", "2"})
			_, err := owner.TryAcquire(t.Context())
			require.NoError(t, err)
			env.exchanges = []exchange{{want: "EVAL expire counted k 900 t1:1", reply: one, meanwhile: func() {
				renewal := env.task
				env.exchanges = []exchange{{want: "EVAL count out k k:channel 900 t1:1", reply: one}}
				_, _ = owner.Release(t.Context())
				env.task = renewal
			}}}
			env.background()
			env.task, env.exchanges = nil, []exchange{{want: "EVAL count in k 900 t1:2"}}
			_, err = heir.TryAcquire(t.Context())
			require.NoError(t, err)
			assert.Equal(t, heirRenewed, env.task != nil)
		})
	}
}

// A release that frees the lock ends the renewal of whichever thread is registered; one that fails, only its own; others, none.
func TestPublishedReleaseAndRenewal(t *testing.T) {
	tests := []struct {
		name     string
		release  exchange
		heir     bool // it is another thread that releases
		outcome  history.Outcome
		released bool // there is no renewal any more
	}{
		{"freed", exchange{reply: one}, false, history.OK, true},
		{"gone, by another thread", exchange{reply: one}, true, history.OK, true},
		{"still held", exchange{reply: zero}, false, history.OK, false},
		{"another's", exchange{}, true, history.No, false},
		{"reply lost", exchange{err: errLost}, false, history.Unknown, true},
		{"reply lost, of another thread", exchange{err: errLost}, true, history.Unknown, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := newFake(t, exchange{}, test.release)
			l, other := lock(t, "redisson-published", env), lock(t, "redisson-published", user{env, "a", "2"})
			_, err := l.TryAcquire(t.Context())
			require.NoError(t, err)
			env.task = nil
			by := l
			if test.heir {
				by = other
			}
			assert.Equal(t, test.outcome, impls.Outcome(by.Release(t.Context())))
			assert.Equal(t, test.released, env.ctx.Err() != nil, "the timer is stopped")
		})
	}
}

// fairRedlockTests are those of TestMultilock for the published RedLock, whose client does not wait.
func fairRedlockTests() []multilockTest {
	in := func(server, id string) exchange {
		return exchange{want: server + " EVAL in turn k k:queue k:timeout 900 " + id + " 9000 1000000"}
	}
	out := func(server, id string) exchange {
		return exchange{want: server + " EVAL pass on k k:queue k:timeout k:channel 900 " + id + " 9000 1000000", reply: one}
	}
	return []multilockTest{
		{"turn", "redisson-fair-redlock", history.OK, history.OK, []exchange{
			in("S1", "t1:1"), in("S2", "t2:1"), in("S3", "t3:1"), out("S1", "t1:1"), out("S2", "t2:1"), out("S3", "t3:1"),
		}},
		{"two refuse", "redisson-fair-redlock", history.No, 0, []exchange{
			in("S1", "t1:1"), in("S2", "t2:1").answered(int64(500)), in("S3", "t3:1").answered(int64(500)), out("S1", "t1:1"),
		}},
		{"names on one server", "redisson-fair-redlock/one-server", history.OK, 0, []exchange{
			{want: "S2 EVAL in turn k k:queue k:timeout 900 t1:1 9000 1000000"},
			{want: "S2 EVAL in turn k-2 k-2:queue k-2:timeout 900 t1:1 9000 1000000"},
			{want: "S2 EVAL in turn k-3 k-3:queue k-3:timeout 900 t1:1 9000 1000000"},
		}},
	}
}

// Who waits stands in one queue after another, and leaves each with the lock or without it.
func TestFairRedlockWaitsInItsQueues(t *testing.T) {
	queue := func(server, id string) exchange {
		return exchange{want: server + " EVAL queue k k:queue k:timeout 900 " + id + " 9000 1000000"}
	}
	leave := func(server, id string) exchange {
		return exchange{want: server + " EVAL leave k:queue k:timeout " + id + " 9000", reply: one}
	}
	f := several(t, 3, []exchange{
		queue("S1", "t1:1").answered(int64(500)), {want: "SUBSCRIBE k:channel:t1:1"},
		queue("S1", "t1:1").answered(int64(500)), {want: "receive", err: errLost}, leave("S1", "t1:1"),
		queue("S2", "t2:1").answered(int64(500)), {want: "SUBSCRIBE k:channel:t2:1"},
		queue("S2", "t2:1").answered(int64(500)), {want: "receive", reply: "0"}, queue("S2", "t2:1"),
		queue("S3", "t3:1"),
	})
	l := lock(t, "redisson-fair-redlock", f)
	waiter := l.(impls.Patient)
	require.NoError(t, waiter.Enter(t.Context()))
	held, err := l.TryAcquire(t.Context())
	require.NoError(t, err)
	assert.True(t, held)
	require.NoError(t, waiter.Leave(t.Context(), held))
	assert.Empty(t, f.exchanges)
}
