//go:build unix

package worker_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// inPython is the client of the kit for Python with its lock open on the server.
func inPython(t *testing.T, addr string) *client {
	t.Helper()
	c := ownProcess(t, needs.RedisPy(t), repositoryFile("internal/kits/python/client.py"))
	hello := c.begin(addr)
	assert.Contains(t, hello.Hello.About, "redis-py")
	assert.Equal(t, []string{protocol.Check, protocol.Reconnect}, hello.Hello.Verbs)
	assert.True(t, hello.Hello.Separate)
	c.open("", long)
	return c
}

func TestPythonTakesTurns(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, addr string) {
		one, two := inPython(t, addr), opened(t, addr, "setpx-lua", long)
		require.Equal(t, protocol.OK, one.do(protocol.Acquire))
		assert.Equal(t, protocol.OK, one.do(protocol.Check))
		assert.Equal(t, protocol.No, two.do(protocol.Acquire))
		answer := one.ask(protocol.Request{Do: protocol.Work, Handle: "h", Key: "counter"})
		require.NotNil(t, answer.Wrote, answer.Error)
		assert.Equal(t, int64(0), *answer.Read)
		assert.Equal(t, int64(1), *answer.Wrote)

		assert.True(t, one.working(history.Stock, 0).Unsupported)

		_, waits := two.send(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: protocol.MS(patience)})
		assert.Equal(t, protocol.OK, one.do(protocol.Release))
		assert.Equal(t, protocol.OK, two.wait(waits).Outcome)
		assert.Equal(t, protocol.No, one.do(protocol.Check))
		assert.Equal(t, protocol.No, one.do(protocol.Release))

		assert.True(t, one.ask(protocol.Request{Do: protocol.Skew, Clock: protocol.Clock{OffsetMS: 1000}}).Unsupported)
		assert.Equal(t, protocol.OK, one.do(protocol.Close))
		assert.Equal(t, protocol.No, one.do(protocol.Acquire), "the handle is closed")
		assert.Equal(t, protocol.OK, one.ask(protocol.Request{Do: protocol.Exit}).Outcome)
		assert.NoError(t, <-one.ended)
		one.ended <- nil
	})
}

func TestPythonGivesUp(t *testing.T) {
	t.Parallel()
	addr := startMini(t)
	gate := newGate(t, addr)
	c := inPython(t, gate.addr)
	gate.requests.set(true)
	id, answer := c.send(protocol.Request{Do: protocol.Acquire, Handle: "h"})
	require.Eventually(t, gate.requests.waiting, patience, time.Millisecond)
	queued, second := c.send(protocol.Request{Do: protocol.Check, Handle: "h"})
	assert.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Cancel, Op: queued}).Outcome)
	assert.Equal(t, protocol.Unknown, c.wait(second).Outcome)
	assert.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Cancel, Op: id}).Outcome)
	assert.Equal(t, protocol.Unknown, c.wait(answer).Outcome)

	gate.requests.set(false) // the request arrives after its client gave up
	rdb := direct(t, addr)
	assert.Eventually(t, func() bool { return rdb.Exists(t.Context(), "lock").Val() == 1 }, patience, time.Millisecond)
	assert.Equal(t, protocol.No, c.do(protocol.Acquire), "its own ghost, over a new connection")
}

func TestPythonWaitsAndGivesUpWaiting(t *testing.T) {
	needs.Long(t, "two more clients in Python")
	t.Parallel()
	addr := startMini(t)
	one, two := opened(t, addr, "setpx-lua", long), inPython(t, addr)
	require.Equal(t, protocol.OK, one.do(protocol.Acquire))
	answer := two.ask(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: 50})
	assert.Equal(t, protocol.No, answer.Outcome)

	id, waits := two.send(protocol.Request{Do: protocol.Acquire, Handle: "h", WithinMS: 60_000})
	assert.Equal(t, protocol.OK, two.ask(protocol.Request{Do: protocol.Cancel, Op: id}).Outcome)
	assert.Equal(t, protocol.Unknown, two.wait(waits).Outcome)
}

func TestPythonReconnects(t *testing.T) {
	needs.Long(t, "one more client in Python")
	t.Parallel()
	gate := newGate(t, startMini(t))
	c := inPython(t, gate.addr)
	for range 3 {
		require.Equal(t, protocol.OK, c.do(protocol.Acquire))
		gate.cut()
		require.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Reconnect}).Outcome)
		assert.Equal(t, protocol.OK, c.do(protocol.Release))
	}
}

// A client that its host did not run for a while says so. Here the test stops it.
func TestPythonSaysThatItWasLate(t *testing.T) {
	needs.Long(t, "one more client in Python")
	t.Parallel()
	c := inPython(t, startMini(t))
	const pause = 300 * time.Millisecond
	require.NoError(t, c.process.Signal(syscall.SIGSTOP))
	time.Sleep(pause) // what is measured
	require.NoError(t, c.process.Signal(syscall.SIGCONT))
	for {
		select {
		case notice := <-c.lates:
			if protocol.Duration(notice.LateMS) > pause*9/10 { // a shorter one is the host's
				return
			}
		case <-time.After(patience):
			require.Fail(t, "no notice")
		}
	}
}
