package redis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
)

func startCluster(t *testing.T) *Cluster { return startLinked(t, StartCluster) }

// TestEpochsOfACluster: no two primaries have one epoch, of which one would take a higher one at any time, and with it slots that it lost.
func TestEpochsOfACluster(t *testing.T) {
	needs.Long(t, "one more cluster")
	t.Parallel()
	c := startCluster(t)
	epochs := map[string]bool{}
	for _, n := range c.nodes[:clusterPrimaries] {
		about := map[string]string{}
		readFacts(about, do(t, n, 0, "CLUSTER", "INFO").(string))
		epochs[about["cluster_my_epoch"]] = true
	}
	require.Equal(t, map[string]bool{"1": true, "2": true, "3": true}, epochs)
}

// TestAReplicaTakesOver: the replica of the slot's primary takes over, and the old primary becomes its replica, each time.
func TestAReplicaTakesOver(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	require.Regexp(t, `^redis-server \d+\.\d+\.\d+ as a cluster of three primaries and three replicas \(started by the lab\)$`, c.Describe())
	require.ErrorContains(t, c.RestartSaved(servertest.Bounded(t)), "nothing is saved")
	key := ClusterTag + "key"
	for range needs.Count(t, "rounds", 1, 2) {
		old := c.Addr()
		do(t, c, 0, "SET", key, "replicated", "PX", 60_000)
		require.NoError(t, c.Save(servertest.Bounded(t)))
		do(t, c, 0, "SET", key, "lost")
		require.ErrorContains(t, c.Reset(servertest.Bounded(t)), "a link is held")
		require.NoError(t, c.RestartSaved(servertest.Bounded(t)))
		require.NotEqual(t, old, c.Addr())
		require.Equal(t, "replicated", do(t, c, 0, "GET", key))
		require.Positive(t, do(t, c, 0, "PTTL", key))
		do(t, c, 0, "SET", key, "after")
		require.NoError(t, c.Save(servertest.Bounded(t)), "it has a replica")
		for _, n := range c.nodes {
			require.NoError(t, n.letGo(servertest.Bounded(t)))
		}
		require.NoError(t, c.Reset(servertest.Bounded(t)))
		require.Nil(t, do(t, c, 0, "GET", key))
	}
	do(t, c, 0, "SET", key, "value")
	addr := c.Addr()
	require.NoError(t, c.RestartEmpty(servertest.Bounded(t)))
	require.Equal(t, addr, c.Addr())
	require.Nil(t, do(t, c, 0, "GET", key))
	do(t, c, 0, "SET", key, "it takes writes")
}

// TestASlotMigrates: its keys move to another primary with their expiries, whoever asks the old one is sent on, and all nodes name the new one
// in the end, each time.
func TestASlotMigrates(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	require.ErrorContains(t, c.Migrated(servertest.Bounded(t)), "none is migrating")
	key, other := ClusterTag+"key", ClusterTag+"other"
	for range needs.Count(t, "rounds", 1, 2) {
		from := c.Addr()
		do(t, c, 0, "SET", key, "value", "PX", 60_000)
		moved, left, err := c.Migrate(servertest.Bounded(t), all)
		require.NoError(t, err)
		require.Equal(t, []int{1, 0}, []int{moved, left})
		_, _, err = c.Migrate(servertest.Bounded(t), all)
		require.ErrorContains(t, err, "it is migrating")
		require.ErrorContains(t, c.Reset(servertest.Bounded(t)), "a slot is migrating")
		to := c.Addr()
		require.NotEqual(t, from, to)
		for _, absentToo := range []string{key, other} {
			require.ErrorContains(t, errorOf(t, from, "GET", absentToo), "ASK ")
		}
		require.ErrorContains(t, errorOf(t, to, "GET", key), "MOVED ", "not without ASKING")
		require.NoError(t, c.Migrated(servertest.Bounded(t)))
		require.Equal(t, to, c.Addr())
		require.ErrorContains(t, errorOf(t, from, "GET", key), "MOVED ")
		require.Equal(t, "value", do(t, c, 0, "GET", key))
		require.Positive(t, do(t, c, 0, "PTTL", key))
		require.NoError(t, c.Save(servertest.Bounded(t)), "its replica follows")
		require.NoError(t, c.RestartSaved(servertest.Bounded(t)))
		require.Equal(t, "value", do(t, c, 0, "GET", key))
		require.NoError(t, c.Reset(servertest.Bounded(t)))
	}
}

// TestASlotMigratesInPart: a command for one key is answered where the key is, one for keys on both sides nowhere, until the others have followed.
func TestASlotMigratesInPart(t *testing.T) {
	needs.Long(t, "one more cluster")
	t.Parallel()
	c := startCluster(t)
	from := c.Addr()
	key, other, absent := ClusterTag+"key", ClusterTag+"other", ClusterTag+"absent"
	do(t, c, 0, "MSET", key, "moves", other, "stays")
	moved, left, err := c.Migrate(servertest.Bounded(t), func(k string) bool { return k == key })
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{moved, left})
	to := c.Addr()
	require.NoError(t, errorOf(t, from, "GET", other))
	require.ErrorContains(t, errorOf(t, from, "GET", key), "ASK ")
	require.ErrorContains(t, errorOf(t, from, "GET", absent), "ASK ")
	require.ErrorContains(t, errorOf(t, from, "MGET", key, other), "TRYAGAIN ")
	require.NoError(t, with(servertest.Bounded(t), Plain(to), func(client redisclient.Client) error {
		asked := client.Pipeline()
		asked.Do(servertest.Bounded(t), "ASKING")
		value := asked.Get(servertest.Bounded(t), key)
		asked.Do(servertest.Bounded(t), "ASKING")
		both := asked.MGet(servertest.Bounded(t), key, other)
		_, _ = asked.Exec(servertest.Bounded(t))
		require.ErrorContains(t, both.Err(), "TRYAGAIN ")
		require.Equal(t, "moves", value.Val())
		return nil
	}))
	require.NoError(t, c.Migrated(servertest.Bounded(t)))
	require.Equal(t, to, c.Addr())
	require.Equal(t, []any{"moves", "stays"}, do(t, c, 0, "MGET", key, other))
}

func all(string) bool { return true }

// errorOf is the error of a command to a node.
func errorOf(t *testing.T, addr string, args ...any) error {
	t.Helper()
	return with(servertest.Bounded(t), Plain(addr), func(client redisclient.Client) error { return client.Do(servertest.Bounded(t), args...).Err() })
}

// TestTheMastersOfALock: its keys are on three primaries, and each can fail over alone.
func TestTheMastersOfALock(t *testing.T) {
	needs.Long(t, "one more cluster")
	t.Parallel()
	c := startCluster(t)
	tags := []string{"{a}", "{b}", "{c}"} // of impls.MasterKey
	at := map[string]*Shard{}
	for _, tag := range tags {
		s := c.Shard(tag)
		at[s.Addr()] = s
		do(t, s, 0, "SET", tag+"lock", "kept")
	}
	require.Len(t, at, clusterPrimaries)
	first := c.Shard(tags[0])
	require.NoError(t, first.Save(servertest.Bounded(t)))
	old := first.Addr()
	do(t, first, 0, "SET", tags[0]+"lock", "lost")
	require.NoError(t, first.RestartSaved(servertest.Bounded(t)))
	require.NotEqual(t, old, first.Addr())
	delete(at, old)
	for addr, s := range at {
		require.Equal(t, addr, s.Addr())
	}
	for _, tag := range tags {
		require.Equal(t, "kept", do(t, c.Shard(tag), 0, "GET", tag+"lock"))
	}
}
