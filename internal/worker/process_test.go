//go:build unix

package worker_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/worker/protocol"
)

func TestProcessPausedPastItsLeaseLearnsOfItsLoss(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		one, two := ownProcess(t), ownProcess(t)
		for _, c := range []*client{one, two} {
			c.begin(addr)
			c.open("watchdog", lease)
		}
		require.Equal(t, protocol.OK, one.do(protocol.Acquire))
		require.NoError(t, one.process.Signal(syscall.SIGSTOP))
		answer := two.ask(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: protocol.MS(patience)})
		require.Equal(t, protocol.OK, answer.Outcome)

		_, check := one.send(protocol.Request{Do: protocol.Check, Handle: "h"}) // a stopped client does not hold up the lab
		require.NoError(t, one.process.Signal(syscall.SIGCONT))
		assert.Equal(t, "h", one.lost().Lost)
		assert.True(t, one.wait(check).Unsupported)
		assert.Equal(t, protocol.No, one.do(protocol.Release))
		assert.Equal(t, protocol.OK, two.do(protocol.Release))
	})
}

func TestProcessKilledIsGone(t *testing.T) {
	addr := startMini(t)
	c := ownProcess(t)
	c.begin(addr)
	c.open("setpx-lua", long)
	require.Equal(t, protocol.OK, c.do(protocol.Acquire))
	require.NoError(t, c.process.Signal(syscall.SIGSTOP))
	_, answer := c.send(protocol.Request{Do: protocol.Release, Handle: "h"})
	require.NoError(t, c.process.Kill())
	select {
	case _, ok := <-answer:
		assert.False(t, ok, "the channel is closed without an answer")
	case <-time.After(patience):
		require.Fail(t, "the lab waits for a dead client")
	}
	<-c.conn.Done()
	require.ErrorIs(t, c.conn.Err(), protocol.ErrGone)
	assert.Equal(t, int64(1), direct(t, addr).Exists(t.Context(), "lock").Val())
}

func TestProcessEndsWithItsInput(t *testing.T) {
	c := ownProcess(t)
	c.begin(startMini(t))
	assert.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Exit}).Outcome)
	select {
	case err := <-c.ended:
		c.ended <- err
		assert.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "the process does not end")
	}
}

// A process that did not run when a sleep was over tells the lab, which cannot know otherwise that a renewal came too late for that.
func TestProcessSaysThatItWasLate(t *testing.T) {
	c := ownProcess(t)
	c.begin(startMini(t))
	c.open("watchdog", lease)
	for range 20 {
		require.Equal(t, protocol.OK, c.do(protocol.Acquire))
		require.NoError(t, c.process.Signal(syscall.SIGSTOP))
		time.Sleep(lease) // the watchdog sleeps for a part of that
		require.NoError(t, c.process.Signal(syscall.SIGCONT))
		c.lost()
		select {
		case <-c.lates:
			return
		default: // a watchdog that was stopped before it slept was not late; it finds its lock gone, as any other does
		}
		c.do(protocol.Release)
	}
	require.Fail(t, "it was never late")
}
