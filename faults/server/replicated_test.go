package server

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults/network"
)

func startReplicated(t *testing.T) *Replicated {
	t.Helper()
	needRedis(t)
	links, err := network.Open(bounded(t), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, links.Close()) })
	s, err := StartReplicated(bounded(t), startGuard(t), links, Options{Log: t.TempDir() + "/redis.log"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestReplicaFollows asks the replica itself.
func TestReplicaFollows(t *testing.T) {
	s := startReplicated(t)
	require.Regexp(t, `^redis-server \d+\.\d+\.\d+ with a replica \(started by the lab\)$`, s.Describe())
	do(t, s, 0, "SET", "key", "value")
	require.NoError(t, s.caughtUp(bounded(t)))
	require.Equal(t, "value", do(t, s.replica, 0, "GET", "key"))

	require.NoError(t, s.Save(bounded(t)))
	do(t, s, 0, "SET", "key", "later")
	require.Equal(t, int64(0), do(t, s, 0, "WAIT", 1, 50), "the link is held")
	require.Equal(t, "value", do(t, s.replica, 0, "GET", "key"))
	require.ErrorContains(t, s.Reset(bounded(t)), "the link to the replica is held")
}

// TestFailOverPromotesTheReplica asserts that another process answers at the same address, each time.
func TestFailOverPromotesTheReplica(t *testing.T) {
	s := startReplicated(t)
	require.ErrorContains(t, s.RestartSaved(bounded(t)), "the link to the replica is not held")
	for range 3 {
		addr, primary, replica := s.Addr(), s.primary, s.replica
		do(t, s, 0, "SET", "key", "replicated", "PX", 60_000)
		require.NoError(t, s.Save(bounded(t)))
		do(t, s, 0, "SET", "key", "lost")
		require.NoError(t, s.RestartSaved(bounded(t)))

		require.Equal(t, addr, s.Addr())
		require.Same(t, replica, s.primary)
		require.NotSame(t, primary, s.replica)
		require.Equal(t, "replicated", do(t, s, 0, "GET", "key"))
		require.Positive(t, do(t, s, 0, "PTTL", "key"))
		do(t, s, 0, "SET", "key", "after")
		require.Equal(t, "after", do(t, s, 0, "GET", "key"), "it takes writes")
		require.NoError(t, s.caughtUp(bounded(t)))
		require.Equal(t, "after", do(t, s.replica, 0, "GET", "key"), "it has a replica of its own")
		require.NoError(t, s.Reset(bounded(t)))
	}
}

// TestReplicaIsMissed asserts that the end of either process is the end of the server.
func TestReplicaIsMissed(t *testing.T) {
	s := startReplicated(t)
	replica, err := os.FindProcess(s.replica.process.PID())
	require.NoError(t, err)
	require.NoError(t, replica.Kill())
	<-s.Died()
	require.Contains(t, s.End(), "killed")
}
