package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/worker/protocol"
)

const lease = 300 * time.Millisecond

// patientLease leaves a busy machine more than three seconds for a renewal.
const patientLease = 5 * time.Second

// TestWatchdogRenews holds each renewal for a moment: it restarts the lease, of which some time has passed by then.
func TestWatchdogRenews(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, addr string) {
		t.Parallel()
		rdb, gate := direct(t, addr), newGate(t, addr)
		c := opened(t, gate.addr, "watchdog", patientLease)
		answer := c.ask(protocol.Request{Do: protocol.Acquire, Handle: "h"})
		require.Equal(t, protocol.OK, answer.Outcome)
		require.NotNil(t, answer.ValidMS)
		assert.LessOrEqual(t, *answer.ValidMS, protocol.MS(patientLease))
		for range 2 {
			gate.requests.set(true)
			require.Eventually(t, gate.requests.waiting, patience, time.Millisecond)
			left := rdb.PTTL(t.Context(), "lock").Val()
			gate.requests.set(false)
			notice := c.notice()
			require.Equal(t, "h", notice.Valid, "%+v", notice)
			assert.LessOrEqual(t, *notice.ValidMS, protocol.MS(patientLease))
			assert.Greater(t, rdb.PTTL(t.Context(), "lock").Val(), left)
		}
		assert.Equal(t, protocol.OK, c.do(protocol.Release))
		assert.Equal(t, int64(0), rdb.Exists(t.Context(), "lock").Val())
	})
}

func TestWatchdogNeverRenewsAnothersLock(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, addr string) {
		t.Parallel()
		rdb := direct(t, addr)
		c := opened(t, addr, "watchdog", patientLease)
		require.Equal(t, protocol.OK, c.do(protocol.Acquire))
		require.NoError(t, rdb.Set(t.Context(), "lock", "another's", long).Err())
		notice := c.lost()
		assert.Equal(t, "h", notice.Lost)
		assert.Contains(t, notice.Why, "no longer ours")
		assert.Greater(t, rdb.PTTL(t.Context(), "lock").Val(), long/2)
		assert.Equal(t, protocol.No, c.do(protocol.Release))
	})
}

func TestWatchdogCutOffTellsItsLossInTime(t *testing.T) {
	needs.Long(t, "waits for leases to end")
	t.Parallel()
	addr := startMini(t)
	gate := newGate(t, addr)
	c := opened(t, gate.addr, "watchdog", patientLease)
	since := time.Now()
	require.Equal(t, protocol.OK, c.do(protocol.Acquire))
	gate.requests.set(true)
	notice := c.lost()
	assert.Contains(t, notice.Why, "no renewal was confirmed")
	assert.GreaterOrEqual(t, time.Since(since), patientLease, "not before its time")
}

func TestWatchdogSurvivesABrokenConnection(t *testing.T) {
	addr := startMini(t)
	gate := newGate(t, addr)
	c := opened(t, gate.addr, "watchdog", time.Second)
	require.Equal(t, protocol.OK, c.do(protocol.Acquire))
	for range 3 {
		gate.cut()
		assert.Equal(t, "h", c.notice().Valid)
	}
	assert.Equal(t, protocol.OK, c.do(protocol.Release))
}

func TestWatchdogTakesBackWhatItMayHaveGot(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		for lock, left := range map[string]int64{"watchdog": 0, "setpx-lua": 1} {
			t.Run(lock, func(t *testing.T) {
				rdb := direct(t, addr)
				rdb.FlushAll(t.Context())
				gate := newGate(t, addr)
				c := opened(t, gate.addr, lock, long)
				gate.replies.set(true)
				_, answer := c.send(protocol.Request{Do: protocol.Acquire, Handle: "h"})
				require.Eventually(t, gate.replies.waiting, patience, time.Millisecond)
				gate.cut()
				gate.replies.set(false)
				assert.Equal(t, protocol.Unknown, c.wait(answer).Outcome)
				assert.Equal(t, left, rdb.Exists(t.Context(), "lock").Val())
			})
		}
	})
}

func TestWatchdogStopsWithItsHandle(t *testing.T) {
	addr := startMini(t)
	c := opened(t, addr, "watchdog", lease)
	require.Equal(t, protocol.OK, c.do(protocol.Acquire))
	require.Equal(t, protocol.OK, c.do(protocol.Close))
	assert.Eventually(t, func() bool { return direct(t, addr).Exists(t.Context(), "lock").Val() == 0 }, patience, lease/10)
	c.open("watchdog", lease) // the handle is free again
	assert.Equal(t, protocol.OK, c.do(protocol.Acquire))
}
