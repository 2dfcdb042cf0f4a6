package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/worker/protocol"
)

func TestTransactionsAreAborted(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		for lock, want := range map[string]string{"setnx-watch": protocol.OK, "setnx-watch-published": protocol.OK} {
			t.Run(lock, func(t *testing.T) {
				rdb := direct(t, addr)
				rdb.FlushAll(t.Context())
				gate := newGate(t, addr)
				c := opened(t, gate.addr, lock, long)
				require.Equal(t, protocol.OK, c.do(protocol.Acquire))
				gate.replies.set(true) // to WATCH
				_, answer := c.send(protocol.Request{Do: protocol.Release, Handle: "h"})
				require.Eventually(t, gate.replies.waiting, patience, time.Millisecond)
				require.NoError(t, rdb.Expire(t.Context(), "lock", long).Err()) // a repair
				gate.replies.set(false)
				assert.Equal(t, want, c.wait(answer).Outcome)
				left := map[string]int64{"setnx-watch": 0, "setnx-watch-published": 1}[lock]
				assert.Equal(t, left, rdb.Exists(t.Context(), "lock").Val())
			})
		}
	})
}

// A release that was given up between WATCH and EXEC must not abort what the same connection does next.
func TestTransactionGivenUp(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		gate := newGate(t, addr)
		c := opened(t, gate.addr, "setnx-watch-published", long)
		require.Equal(t, protocol.OK, c.do(protocol.Acquire))
		gate.replies.set(true)
		id, answer := c.send(protocol.Request{Do: protocol.Release, Handle: "h"})
		require.Eventually(t, gate.replies.waiting, patience, time.Millisecond)
		require.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Cancel, Op: id}).Outcome)
		assert.Equal(t, protocol.Unknown, c.wait(answer).Outcome)
		gate.replies.set(false)
		require.NoError(t, direct(t, addr).Expire(t.Context(), "lock", long).Err())
		assert.Equal(t, protocol.OK, c.do(protocol.Release))
		assert.Equal(t, int64(0), direct(t, addr).Exists(t.Context(), "lock").Val())
	})
}

func TestReleaseWakesWhoWaits(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		for _, lock := range []string{"redisson", "redisson-fair"} {
			t.Run(lock, func(t *testing.T) {
				rdb := direct(t, addr)
				rdb.FlushAll(t.Context())
				one, two := opened(t, addr, lock, long), opened(t, addr, lock, long)
				require.Equal(t, protocol.OK, one.do(protocol.Acquire))
				began := time.Now()
				_, answer := two.send(protocol.Request{
					Do: protocol.Acquire, Handle: "h", WithinMS: protocol.MS(2 * patience), Wait: "wake",
				})
				require.Eventually(t, func() bool {
					return len(rdb.PubSubChannels(t.Context(), "lock:channel*").Val()) > 0
				}, patience, time.Millisecond)
				require.Equal(t, protocol.OK, one.do(protocol.Release))
				assert.Equal(t, protocol.OK, two.wait(answer).Outcome)
				assert.Less(t, time.Since(began), patience, "not by the end of a lease")
				assert.Equal(t, protocol.OK, two.do(protocol.Release))
			})
		}
	})
}

func TestFairLockKeepsOrder(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		rdb := direct(t, addr)
		holder := opened(t, addr, "redisson-fair", long)
		require.Equal(t, protocol.OK, holder.do(protocol.Acquire))
		var clients []*client
		var answers []<-chan protocol.Message
		for n := range 3 {
			c := opened(t, addr, "redisson-fair", long)
			_, answer := c.send(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: protocol.MS(patience)})
			require.Eventually(t, func() bool {
				return rdb.LLen(t.Context(), "lock:queue").Val() == int64(n+1)
			}, patience, time.Millisecond)
			clients, answers = append(clients, c), append(answers, answer)
		}
		for n, c := range clients {
			require.Equal(t, protocol.OK, holder.do(protocol.Release))
			require.Equal(t, protocol.No, holder.do(protocol.Acquire), "who does not queue does not push in")
			require.Equal(t, protocol.OK, c.wait(answers[n]).Outcome)
			holder = c
		}
		assert.Equal(t, protocol.OK, holder.do(protocol.Release))
	})
}

func TestGivingUpLeavesTheQueue(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		rdb := direct(t, addr)
		one, two := opened(t, addr, "redisson-fair", long), opened(t, addr, "redisson-fair", long)
		require.Equal(t, protocol.OK, one.do(protocol.Acquire))
		// It tries once: another try could be on its way when it is given up, and come after it has left the queue.
		id, answer := two.send(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: protocol.MS(long), Wait: "sleep:1h"})
		require.Eventually(t, func() bool { return rdb.Exists(t.Context(), "lock:queue").Val() == 1 }, patience, time.Millisecond)
		require.Equal(t, protocol.OK, two.ask(protocol.Request{Do: protocol.Cancel, Op: id}).Outcome)
		assert.Equal(t, protocol.Unknown, two.wait(answer).Outcome)
		assert.Equal(t, int64(0), rdb.Exists(t.Context(), "lock:queue", "lock:timeout").Val())
	})
}

func TestWaysToWaitAreChecked(t *testing.T) {
	c := opened(t, startMini(t), "setpx-lua", long)
	for wait, want := range map[string]string{
		"wake": "this lock has no wake-ups", "nap": `"nap" is no way to wait`, "sleep:x": `"x" is no length of time above zero`,
	} {
		answer := c.ask(protocol.Request{Do: protocol.Acquire, Handle: "h", Wait: wait})
		assert.Equal(t, protocol.No, answer.Outcome)
		assert.True(t, answer.Unsupported)
		assert.Equal(t, want, answer.Error)
	}
	assert.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Acquire, Handle: "h", Wait: "backoff:10ms,1s,1"}).Outcome)
}

func TestSingleBugIsOpenedByName(t *testing.T) {
	addr := startMini(t)
	c := opened(t, addr, "getset-published/short-lease", time.Minute)
	require.Equal(t, protocol.OK, c.do(protocol.Acquire))
	two := opened(t, addr, "getset-published/short-lease", time.Minute)
	answer := two.ask(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: protocol.MS(patience)})
	assert.Equal(t, protocol.OK, answer.Outcome, "after 60 ms")
	refusal := two.ask(protocol.Request{Do: protocol.Open, Handle: "x", Lock: "getset/short-lease", Key: "lock", LeaseMS: 1})
	assert.Equal(t, protocol.No, refusal.Outcome)
}
