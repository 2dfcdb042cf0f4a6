package redis

import (
	"net"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/redisclient"
)

// TestReset: data, in whatever database, scripts, subscribers and clients are gone, and what a client had still sent with them.
func TestReset(t *testing.T) {
	s := startRedis(t).(*Server)
	before := s.Running().PID()
	do(t, s, 0, "SET", "lock", "a")
	do(t, s, 3, "SET", "other", "a")
	const script = "return 7"
	sha := do(t, s, 0, "SCRIPT", "LOAD", script)
	subscriber, half := dial(t, s), dial(t, s)
	exchange(t, subscriber, "SUBSCRIBE news\r\n")
	exchange(t, half, "PING\r\n")
	for range 20 { // some of these the server has yet to accept
		_, err := dial(t, s).Write([]byte("SET lock late\r\n"))
		require.NoError(t, err)
	}

	require.NoError(t, s.Reset(servertest.Bounded(t)))

	for _, conn := range []net.Conn{subscriber, half} {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err := conn.Read(make([]byte, 1))
		require.ErrorContains(t, err, "EOF")
	}
	assert.Nil(t, do(t, s, 0, "GET", "lock"))
	assert.Nil(t, do(t, s, 3, "GET", "other"))
	err := with(servertest.Bounded(t), Plain(s.Addr()), func(client redisclient.Client) error {
		return client.Do(servertest.Bounded(t), "EVALSHA", sha, "0").Err()
	})
	require.ErrorContains(t, err, "NOSCRIPT")
	assert.Equal(t, before, s.Running().PID())
}

func TestResetOfAServerThatHasEnded(t *testing.T) {
	s := startRedis(t).(*Server)
	require.NoError(t, s.Running().Kill(servertest.Bounded(t)))
	require.ErrorContains(t, s.Reset(servertest.Bounded(t)), "reset redis-server: ")
}

func dial(t *testing.T, s server.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// exchange sends text and waits for the beginning of the answer.
func exchange(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := conn.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 64))
	require.NoError(t, err)
}
