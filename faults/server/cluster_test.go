package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/internal/needs"
)

func startCluster(t *testing.T) *Cluster {
	t.Helper()
	needs.Found(t, "redis", FindRedis)
	links, err := network.Open(bounded(t), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, links.Close()) })
	c, err := StartCluster(bounded(t), startGuard(t), links, Options{Log: t.TempDir() + "/redis.log"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// TestAReplicaTakesOver: the replica of the slot's primary takes over, and the old primary becomes its replica, each time.
func TestAReplicaTakesOver(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	require.Regexp(t, `^redis-server \d+\.\d+\.\d+ as a cluster of three primaries and three replicas \(started by the lab\)$`, c.Describe())
	require.ErrorContains(t, c.RestartSaved(bounded(t)), "nothing is saved")
	key := ClusterTag + "key"
	for range 2 {
		old := c.Addr()
		do(t, c, 0, "SET", key, "replicated", "PX", 60_000)
		require.NoError(t, c.Save(bounded(t)))
		do(t, c, 0, "SET", key, "lost")
		require.ErrorContains(t, c.Reset(bounded(t)), "a link is held")
		require.NoError(t, c.RestartSaved(bounded(t)))
		require.NotEqual(t, old, c.Addr())
		require.Equal(t, "replicated", do(t, c, 0, "GET", key))
		require.Positive(t, do(t, c, 0, "PTTL", key))
		do(t, c, 0, "SET", key, "after")
		require.NoError(t, c.Save(bounded(t)), "it has a replica")
		for _, n := range c.nodes {
			require.NoError(t, n.letGo(bounded(t)))
		}
		require.NoError(t, c.Reset(bounded(t)))
		require.Nil(t, do(t, c, 0, "GET", key))
	}
	do(t, c, 0, "SET", key, "value")
	addr := c.Addr()
	require.NoError(t, c.RestartEmpty(bounded(t)))
	require.Equal(t, addr, c.Addr())
	require.Nil(t, do(t, c, 0, "GET", key))
	do(t, c, 0, "SET", key, "it takes writes")
}
