package worker_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// long is a lease that does not end within a test.
const long = 10 * patience

func TestEveryLockTakesTurns(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, addr string) {
		again := map[string]string{
			"redisson-published":    protocol.OK, // a lock that is gone counts as released
			"redisson-fair":         protocol.OK,
			"redisson-fair-redlock": protocol.OK,
			"getset-published":      protocol.OK, // its release has no result
		}
		for _, spec := range impls.All() {
			if spec.Needs == impls.NoServer {
				continue
			}
			t.Run(spec.Name, func(t *testing.T) {
				direct(t, addr).FlushAll(t.Context())
				one, two := opened(t, addr, spec.Name, long), opened(t, addr, spec.Name, long)
				for range 2 { // a lock can be taken again, and by either
					assert.Equal(t, protocol.OK, one.do(protocol.Acquire))
					assert.Equal(t, protocol.No, two.do(protocol.Acquire))
					if spec.CanCheck() {
						assert.Equal(t, protocol.OK, one.do(protocol.Check))
						assert.Equal(t, protocol.No, two.do(protocol.Check))
					}
					assert.Equal(t, protocol.OK, one.do(protocol.Work))
					assert.Equal(t, protocol.OK, one.do(protocol.Release))
					assert.Equal(t, cmp.Or(again[spec.Name], protocol.No), one.do(protocol.Release), "there is nothing left to release")
					one, two = two, one
				}
				assert.Equal(t, "2", direct(t, addr).Get(t.Context(), "counter").Val())
			})
		}
	})
}

// TestLeaseEnds waits for leases, so each lock has a server of its own and all wait at once.
func TestLeaseEnds(t *testing.T) {
	for name, start := range map[string]func(*testing.T) string{"miniredis": startMini, "redis-server": startRedis} {
		for _, spec := range impls.All() {
			if spec.Leaseless || spec.Renews || spec.Name == "setnx-expire-published" { // that one's ends much later
				continue
			}
			t.Run(name+"/"+spec.Name, func(t *testing.T) {
				addr := start(t)
				t.Parallel()
				lease := 100 * time.Millisecond
				if spec.Servers > 1 { // such a lock waits for each server for a tenth of the lease only; a busy host may stall for longer
					lease = 5 * time.Second
				}
				one, two := opened(t, addr, spec.Name, lease), opened(t, addr, spec.Name, lease)
				began := time.Now()
				require.Equal(t, protocol.OK, one.do(protocol.Acquire))
				answer := two.ask(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: 10_000})
				assert.Equal(t, protocol.OK, answer.Outcome)
				assert.GreaterOrEqual(t, time.Since(began), lease)
			})
		}
	}
}

func TestWhoseLockReleaseRemoves(t *testing.T) {
	t.Parallel()
	type result struct {
		answer string
		left   int64
	}
	want := map[string]result{ // all others refuse, and leave it
		"setnx-del": {protocol.OK, 0}, "setpx-del": {protocol.OK, 0}, "setpx-del-resend": {protocol.OK, 0},
		"setnx-expired-del": {protocol.OK, 0},
		"getset-published":  {protocol.OK, 1}, // it does not say
		"local":             {protocol.OK, 1}, // it does not know the server
		"none":              {protocol.OK, 1}, // nor does this one
	}
	eachServer(t, func(t *testing.T, addr string) {
		for _, spec := range impls.All() {
			t.Run(spec.Name, func(t *testing.T) {
				rdb := direct(t, addr)
				rdb.FlushAll(t.Context())
				one := opened(t, addr, spec.Name, long)
				require.Equal(t, protocol.OK, one.do(protocol.Acquire))
				kind := rdb.Type(t.Context(), "lock").Val()
				require.NoError(t, rdb.Del(t.Context(), "lock").Err())
				if kind == "hash" {
					require.NoError(t, rdb.HSet(t.Context(), "lock", "another:1", 1).Err())
				} else {
					require.NoError(t, rdb.Set(t.Context(), "lock", "another's", 0).Err())
				}
				expected, special := want[spec.Name]
				if !special {
					expected = result{protocol.No, 1}
				}
				answer := one.do(protocol.Release)
				assert.Equal(t, expected, result{answer, rdb.Exists(t.Context(), "lock").Val()})
			})
		}
	})
}

func TestAcquireWaitsForItsBound(t *testing.T) {
	addr := startMini(t)
	one, two := opened(t, addr, "setpx-lua", long), opened(t, addr, "setpx-lua", long)
	require.Equal(t, protocol.OK, one.do(protocol.Acquire))
	// The bound is real time, also for a client whose clock runs a hundred times too fast.
	require.Equal(t, protocol.OK, two.ask(protocol.Request{Do: protocol.Skew, Clock: protocol.Clock{Rate: 100}}).Outcome)
	began := time.Now()
	answer := two.ask(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: 100})
	assert.Equal(t, protocol.No, answer.Outcome)
	assert.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
}

func TestResending(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		tests := []struct{ lock, verb, want, why string }{
			{"setpx-lua", protocol.Acquire, protocol.Unknown, "the reply is lost"},
			{"setpx-lua-resend", protocol.Acquire, protocol.No, "the second SET is refused by the first"},
			{"setpx-del", protocol.Release, protocol.Unknown, "the reply is lost"},
			{"setpx-del-resend", protocol.Release, protocol.No, "the second DEL finds nothing"},
		}
		for _, test := range tests {
			t.Run(test.lock+" "+test.verb, func(t *testing.T) {
				rdb := direct(t, addr)
				rdb.FlushAll(t.Context())
				gate := newGate(t, addr)
				c := opened(t, gate.addr, test.lock, long)
				if test.verb == protocol.Release {
					require.Equal(t, protocol.OK, c.do(protocol.Acquire))
				}
				gate.replies.set(true)
				_, answer := c.send(protocol.Request{Do: test.verb, Handle: "h"})
				require.Eventually(t, gate.replies.waiting, patience, time.Millisecond)
				gate.cut() // the reply is lost with its connection
				gate.replies.set(false)
				assert.Equal(t, test.want, c.wait(answer).Outcome, test.why)
				held := int64(0)
				if test.verb == protocol.Acquire {
					held = 1
				}
				assert.Equal(t, held, rdb.Exists(t.Context(), "lock").Val(), "the command was carried out")
			})
		}
	})
}

func TestClockAheadTakesALiveLock(t *testing.T) {
	addr := startMini(t)
	one, two := opened(t, addr, "getset", long), opened(t, addr, "getset", long)
	require.Equal(t, protocol.OK, one.do(protocol.Acquire))
	require.Equal(t, protocol.No, two.do(protocol.Acquire))
	require.Equal(t, protocol.OK, two.ask(protocol.Request{Do: protocol.Skew, Clock: protocol.Clock{OffsetMS: protocol.MS(2 * long)}}).Outcome)
	assert.Equal(t, protocol.OK, two.do(protocol.Acquire))
	assert.Equal(t, protocol.No, one.do(protocol.Check), "its value was overwritten")
	assert.Equal(t, protocol.No, one.do(protocol.Release))
}

func TestFencedWork(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		one, two := opened(t, addr, "fenced", long), opened(t, addr, "fenced", long)
		first := one.ask(protocol.Request{Do: protocol.Acquire, Handle: "h"})
		require.Equal(t, protocol.OK, first.Outcome)
		require.Equal(t, protocol.OK, one.do(protocol.Work))
		require.NoError(t, direct(t, addr).Del(t.Context(), "lock").Err())
		second := two.ask(protocol.Request{Do: protocol.Acquire, Handle: "h"})
		assert.Greater(t, *second.Fence, *first.Fence)
		assert.Equal(t, protocol.OK, two.do(protocol.Work))
		assert.Equal(t, protocol.No, one.do(protocol.Work), "the resource has seen a greater fence")
		assert.Equal(t, "2", direct(t, addr).Get(t.Context(), "counter").Val())
	})
}

func TestLocalLockIsOfOneProcess(t *testing.T) {
	addr := startMini(t)
	one, two := opened(t, addr, "local", long), opened(t, addr, "local", long)
	one.ask(protocol.Request{Do: protocol.Open, Handle: "second", Lock: "local", Key: "lock"})
	second := func(verb string) string { return one.ask(protocol.Request{Do: verb, Handle: "second"}).Outcome }
	assert.Equal(t, protocol.OK, one.do(protocol.Acquire))
	assert.Equal(t, protocol.No, second(protocol.Acquire))
	assert.Equal(t, protocol.No, second(protocol.Release))
	assert.Equal(t, protocol.OK, two.do(protocol.Acquire), "another machine")
	assert.Equal(t, protocol.OK, one.do(protocol.Release))
	assert.Equal(t, protocol.OK, second(protocol.Acquire))
}

func TestRedissonCounts(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		for _, lock := range []string{"redisson", "redisson-fair"} {
			direct(t, addr).FlushAll(t.Context())
			one, two := opened(t, addr, lock, long), opened(t, addr, lock, long)
			assert.Equal(t, protocol.OK, one.do(protocol.Acquire))
			assert.Equal(t, protocol.OK, one.do(protocol.Acquire), "it is re-entrant")
			assert.Equal(t, protocol.OK, one.do(protocol.Release))
			assert.Equal(t, protocol.No, two.do(protocol.Acquire), "one release too few")
			assert.Equal(t, protocol.OK, one.do(protocol.Release))
			assert.Equal(t, protocol.OK, two.do(protocol.Acquire))
		}
	})
}
