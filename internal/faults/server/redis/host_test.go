package redis

import (
	"io"
	"net"
	"net/rpc"
	"syscall"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/require"
)

func startHost(t *testing.T, memory uint64) *Host {
	t.Helper()
	h, err := StartHost(servertest.StartGuard(t), servertest.As("host"), memory)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

func startHosted(t *testing.T, memory uint64) *Hosted {
	t.Helper()
	s, err := startHost(t, memory).Start(servertest.Bounded(t))
	require.NoError(t, err)
	return s
}

// TestAPanicEndsTheHostOnly: miniredis panics at a request without a command.
func TestAPanicEndsTheHostOnly(t *testing.T) {
	s := startHosted(t, 0)
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("*0\r\n"))
	require.NoError(t, err)
	select {
	case <-s.Died():
	case <-time.After(time.Minute):
		t.Fatal("the host goes on")
	}
	require.Contains(t, s.End(), "exit status 2: panic: runtime error: ")
	require.ErrorContains(t, s.RestartEmpty(servertest.Bounded(t)), "its process has ended: exit status 2")
}

// TestHowAConnectionBrokeIsNoReason: which end of the pipe is noticed first is chance; the error says how the process ended.
func TestHowAConnectionBrokeIsNoReason(t *testing.T) {
	h := startHost(t, 0)
	require.NoError(t, h.process.Kill(servertest.Bounded(t)))
	for _, err := range []error{syscall.EPIPE, io.ErrUnexpectedEOF, rpc.ErrShutdown} {
		require.ErrorContains(t, h.broken(servertest.Bounded(t), err), "its process has ended: ")
	}
}

// TestEndlessScriptsInAHost: what cannot be interrupted can be killed.
func TestEndlessScriptsInAHost(t *testing.T) {
	h := startHost(t, 0)
	s, err := h.Start(servertest.Bounded(t))
	require.NoError(t, err)
	_, err = dial(t, s).Write([]byte("*3\r\n$4\r\nEVAL\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n"))
	require.NoError(t, err)
	require.NoError(t, h.Close())
	<-s.Died()
}
