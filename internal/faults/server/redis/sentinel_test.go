package redis

import (
	"testing"

	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/needs"
)

func startSentinel(t *testing.T) *Sentinel {
	t.Helper()
	needs.Found(t, "redis", Find)
	links, err := network.Open(servertest.Bounded(t), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, links.Close()) })
	s, err := StartSentinel(servertest.Bounded(t), servertest.StartGuard(t), links, Options{Log: t.TempDir() + "/redis.log"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestSentinelsFailOver: they promote a replica at an address of its own, and make the old primary a replica, each time.
func TestSentinelsFailOver(t *testing.T) {
	needs.Long(t, "three sentinels")
	t.Parallel()
	s := startSentinel(t)
	require.Regexp(t, `^redis-server \d+\.\d+\.\d+ with two replicas and three Sentinels \(started by the lab\)$`, s.Describe())
	require.ErrorContains(t, s.RestartSaved(servertest.Bounded(t)), "the links to the replicas are not held")
	nodes, guides := s.Nodes(), s.Guides()
	for range 2 {
		old := s.primary
		do(t, s, 0, "SET", "key", "replicated", "PX", 60_000)
		require.NoError(t, s.Save(servertest.Bounded(t)))
		do(t, s, 0, "SET", "key", "lost")
		require.ErrorContains(t, s.Reset(servertest.Bounded(t)), "a link to one is held")
		require.NoError(t, s.RestartSaved(servertest.Bounded(t)))

		require.NotSame(t, old, s.primary)
		require.Equal(t, nodes, s.Nodes())
		require.Equal(t, guides, s.Guides())
		require.Equal(t, "replicated", do(t, s, 0, "GET", "key"))
		require.Positive(t, do(t, s, 0, "PTTL", "key"))
		require.Equal(t, int64(2), acknowledged(t, s), "it takes writes, and has two replicas")
		require.Equal(t, "acknowledged", do(t, old, 0, "GET", "key"), "the old primary follows")
		require.NoError(t, s.Reset(servertest.Bounded(t)))
	}
}

// TestSentinelsChoose: they promote the replica that has more, unless it dies, too.
func TestSentinelsChoose(t *testing.T) {
	needs.Long(t, "waits for sentinels to agree")
	t.Parallel()
	s := startSentinel(t)
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
		require.Equal(t, int64(2), acknowledged(t, s))
	}
}

// TestSentinelsOfASplit: both primaries take writes. When the partition ends, the old one becomes a replica, and loses what it has.
func TestSentinelsOfASplit(t *testing.T) {
	needs.Long(t, "sentinels of two sides")
	t.Parallel()
	s := startSentinel(t)
	for range 2 {
		do(t, s, 0, "SET", "key", "before")
		primary := s.primary
		addr, err := s.Split(servertest.Bounded(t))
		require.NoError(t, err)
		require.Equal(t, primary.Addr(), addr)
		require.NotEqual(t, addr, s.Addr())
		require.Equal(t, "before", do(t, s, 0, "GET", "key"))
		require.Equal(t, int64(0), acknowledged(t, primary), "it has no replicas any more")
		require.Equal(t, int64(1), acknowledged(t, s))
		do(t, s, 0, "SET", "key", "new")
		do(t, primary, 0, "SET", "key", "old")
		require.Equal(t, "new", do(t, s, 0, "GET", "key"))
		require.ErrorContains(t, s.Save(servertest.Bounded(t)), "two primaries")
		require.ErrorContains(t, s.Reset(servertest.Bounded(t)), "another primary")
		require.NoError(t, s.Demote(servertest.Bounded(t)))
		require.Equal(t, "new", do(t, primary, 0, "GET", "key"))
		require.Equal(t, int64(2), acknowledged(t, s))
		require.NoError(t, s.Demote(servertest.Bounded(t)), "there is none")
		require.NoError(t, s.Reset(servertest.Bounded(t)))
	}
}

// TestARestartIsNoFailOver: the Sentinels do not notice it.
func TestARestartIsNoFailOver(t *testing.T) {
	t.Parallel()
	s := startSentinel(t)
	addr := s.Addr()
	do(t, s, 0, "SET", "key", "value")
	require.NoError(t, s.RestartEmpty(servertest.Bounded(t)))
	require.Equal(t, addr, s.Addr())
	require.Nil(t, do(t, s, 0, "GET", "key"))
	require.NoError(t, s.RequireReplica(servertest.Bounded(t)))
	refuses, err := s.RefusesWrites(servertest.Bounded(t))
	require.NoError(t, err)
	require.False(t, refuses)
	require.ErrorContains(t, s.Reset(servertest.Bounded(t)), "it requires one")
}
