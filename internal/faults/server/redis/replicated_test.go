package redis

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
)

func startReplicated(t *testing.T) *Replicated { return startLinked(t, StartReplicated) }

// startLinked starts a server whose processes have links.
func startLinked[S server.Server](t *testing.T, start func(context.Context, *process.Guard, *network.Network, Options) (S, error)) S {
	t.Helper()
	needs.Found(t, "redis", Find)
	links, err := network.Open(servertest.Bounded(t), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, links.Close()) })
	s, err := start(servertest.Bounded(t), servertest.StartGuard(t), links, Options{Log: t.TempDir() + "/redis.log"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestReplicaFollows asks the replica itself.
func TestReplicaFollows(t *testing.T) {
	s := startReplicated(t)
	require.Regexp(t, `^redis-server \d+\.\d+\.\d+ with two replicas \(started by the lab\)$`, s.Describe())
	do(t, s, 0, "SET", "key", "value")
	require.NoError(t, s.caughtUp(servertest.Bounded(t), replicaCount))
	for _, one := range s.replicas {
		require.Equal(t, "value", do(t, one, 0, "GET", "key"))
	}

	require.NoError(t, s.Save(servertest.Bounded(t)))
	do(t, s, 0, "SET", "key", "later")
	require.Equal(t, int64(0), acknowledged(t, s), "the links are held")
	for _, one := range s.replicas {
		require.Equal(t, "value", do(t, one, 0, "GET", "key"))
	}
	require.ErrorContains(t, s.Reset(servertest.Bounded(t)), "a link to one is held")
}

// TestFailOverPromotesTheReplica asserts that another process answers at the same address, each time.
func TestFailOverPromotesTheReplica(t *testing.T) {
	s := startReplicated(t)
	require.ErrorContains(t, s.RestartSaved(servertest.Bounded(t)), "the links to the replicas are not held")
	for range 3 {
		addr, primary, replica := s.Addr(), s.primary, s.replicas[0].Server
		do(t, s, 0, "SET", "key", "replicated", "PX", 60_000)
		require.NoError(t, s.Save(servertest.Bounded(t)))
		do(t, s, 0, "SET", "key", "lost")
		require.NoError(t, s.RestartSaved(servertest.Bounded(t)))

		require.Equal(t, addr, s.Addr())
		require.Same(t, replica, s.primary)
		require.NotSame(t, primary, s.primary)
		require.Equal(t, "replicated", do(t, s, 0, "GET", "key"))
		require.Positive(t, do(t, s, 0, "PTTL", "key"))
		do(t, s, 0, "SET", "key", "after")
		require.Equal(t, "after", do(t, s, 0, "GET", "key"), "it takes writes")
		require.NoError(t, s.caughtUp(servertest.Bounded(t), replicaCount))
		require.Equal(t, "after", do(t, s.replicas[1], 0, "GET", "key"), "it has replicas of its own")
		require.NoError(t, s.Reset(servertest.Bounded(t)))
	}
}

// TestReplicaIsMissed asserts that the end of either process is the end of the server.
func TestReplicaIsMissed(t *testing.T) {
	s := startReplicated(t)
	replica, err := os.FindProcess(s.replicas[1].Running().PID())
	require.NoError(t, err)
	require.NoError(t, replica.Kill())
	<-s.Died()
	require.Contains(t, s.End(), "killed")
}

// acknowledged is how many replicas acknowledge a write.
func acknowledged(t *testing.T, s server.Server) (count int64) {
	t.Helper()
	require.NoError(t, with(servertest.Bounded(t), Plain(s.Addr()), func(client redisclient.Client) error {
		if err := client.Set(servertest.Bounded(t), "key", "acknowledged", 0).Err(); err != nil {
			return err
		}
		var err error
		count, err = client.Wait(servertest.Bounded(t), replicaCount, 100*time.Millisecond).Result()
		return err
	}))
	return count
}

// TestEitherReplicaTakesOver: one that is held back lacks what the other has acknowledged.
func TestEitherReplicaTakesOver(t *testing.T) {
	s := startReplicated(t)
	require.ErrorContains(t, s.TakeOver(servertest.Bounded(t), true), "no replica is held back")
	for heldBack, found := range map[bool]string{true: "before", false: "acknowledged"} {
		do(t, s, 0, "SET", "key", "before")
		require.NoError(t, s.HoldBack(servertest.Bounded(t)))
		require.Equal(t, int64(1), acknowledged(t, s))
		require.ErrorContains(t, s.RestartSaved(servertest.Bounded(t)), "nothing is saved")
		primary := s.primary
		require.NoError(t, s.TakeOver(servertest.Bounded(t), heldBack))
		require.NotSame(t, primary, s.primary)
		require.Equal(t, found, do(t, s, 0, "GET", "key"))
		require.Equal(t, int64(2), acknowledged(t, s), "it has replicas of its own")
	}
}

// TestSplit: both primaries take writes, at addresses of their own, and neither gets those of the other.
func TestSplit(t *testing.T) {
	s := startReplicated(t)
	addr := s.Addr()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	for range 2 {
		do(t, s, 0, "SET", "key", "before")
		old, err := s.Split(servertest.Bounded(t))
		require.NoError(t, err)
		require.NotEqual(t, addr, old)
		require.Equal(t, addr, s.Addr())
		require.Equal(t, "before", do(t, s, 0, "GET", "key"))
		require.Equal(t, "before", do(t, s.old, 0, "GET", "key"))
		do(t, s, 0, "SET", "key", "new")
		do(t, s.old, 0, "SET", "key", "old")
		require.Equal(t, "new", do(t, s, 0, "GET", "key"))
		require.Equal(t, int64(0), acknowledged(t, s.old), "it has no replicas any more")
		require.Equal(t, int64(2), acknowledged(t, s))
		_, err = s.Split(servertest.Bounded(t))
		require.ErrorContains(t, err, "two primaries already")
		require.ErrorContains(t, s.Reset(servertest.Bounded(t)), "another primary")
		require.NoError(t, s.Demote(servertest.Bounded(t)))
		_, err = ask(servertest.Bounded(t), Plain(old))
		require.Error(t, err, "it answers nobody")
	}
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "connections to the old primary break")
	require.NoError(t, s.Demote(servertest.Bounded(t)), "there is none")
	require.NoError(t, s.Reset(servertest.Bounded(t)))
}
