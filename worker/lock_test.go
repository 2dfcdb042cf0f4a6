package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/worker/protocol"
)

// long is a lease that does not end within a test.
const long = time.Minute

func TestEveryLockTakesTurns(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		for _, spec := range impls.All() {
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
					assert.Equal(t, protocol.No, one.do(protocol.Release), "there is nothing left to release")
					one, two = two, one
				}
				assert.Equal(t, "2", direct(t, addr).Get(t.Context(), "counter").Val())
			})
		}
	})
}

func TestLeaseEnds(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		for _, spec := range impls.All() {
			if spec.Leaseless || spec.Renews {
				continue
			}
			t.Run(spec.Name, func(t *testing.T) {
				direct(t, addr).FlushAll(t.Context())
				one, two := opened(t, addr, spec.Name, 100*time.Millisecond), opened(t, addr, spec.Name, long)
				began := time.Now()
				require.Equal(t, protocol.OK, one.do(protocol.Acquire))
				answer := two.ask(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: 10_000})
				assert.Equal(t, protocol.OK, answer.Outcome)
				assert.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
			})
		}
	})
}

func TestWhoseLockReleaseRemoves(t *testing.T) {
	want := map[string]string{ // the answer to a release after the lock has become somebody else's
		"setnx-del": protocol.OK, "setpx-del": protocol.OK, "setpx-del-resend": protocol.OK,
		"getset": protocol.No, "setpx-getdel": protocol.No, "setpx-lua": protocol.No, "setpx-lua-resend": protocol.No,
		"watchdog": protocol.No,
	}
	eachServer(t, func(t *testing.T, addr string) {
		for _, spec := range impls.All() {
			t.Run(spec.Name, func(t *testing.T) {
				rdb := direct(t, addr)
				rdb.FlushAll(t.Context())
				one := opened(t, addr, spec.Name, long)
				require.Equal(t, protocol.OK, one.do(protocol.Acquire))
				require.NoError(t, rdb.Set(t.Context(), "lock", "another's", 0).Err())
				assert.Equal(t, want[spec.Name], one.do(protocol.Release))
				left := int64(1)
				if want[spec.Name] == protocol.OK {
					left = 0
				}
				assert.Equal(t, left, rdb.Exists(t.Context(), "lock").Val())
			})
		}
	})
}

func TestAcquireWaitsForItsBound(t *testing.T) {
	addr := startMini(t)
	one, two := opened(t, addr, "setpx-lua", long), opened(t, addr, "setpx-lua", long)
	require.Equal(t, protocol.OK, one.do(protocol.Acquire))
	// The bound is real time, also for a client whose clock runs a hundred times too fast.
	require.Equal(t, protocol.OK, two.ask(protocol.Request{Do: protocol.Skew, Rate: 100}).Outcome)
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
	require.Equal(t, protocol.OK, two.ask(protocol.Request{Do: protocol.Skew, OffsetMS: protocol.MS(2 * long)}).Outcome)
	assert.Equal(t, protocol.OK, two.do(protocol.Acquire))
	assert.Equal(t, protocol.No, one.do(protocol.Check), "its value was overwritten")
	assert.Equal(t, protocol.No, one.do(protocol.Release))
}
