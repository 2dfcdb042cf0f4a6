package redis

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/require"
)

// What keeps a server from being used is said in one line, before it is used.
func TestServersThatCannotBeUsed(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, s server.Server)
		why     string
	}{
		"sound":   {func(*testing.T, server.Server) {}, ""},
		"replica": {func(t *testing.T, s server.Server) { do(t, s, 0, "REPLICAOF", "127.0.0.1", "1") }, "it is a replica of 127.0.0.1:1; give the address of the primary"},
		"full":    {func(t *testing.T, s server.Server) { do(t, s, 0, "CONFIG", "SET", "maxmemory", "1") }, "it is full (maxmemory)"},
		"too few replicas": {
			func(t *testing.T, s server.Server) { do(t, s, 0, "CONFIG", "SET", "min-replicas-to-write", "1") }, "it has too few replicas",
		},
		"disk": {func(t *testing.T, s server.Server) {
			require.NoError(t, os.RemoveAll(s.(*Server).Dir))
			do(t, s, 0, "CONFIG", "SET", "save", "3600 1")
			do(t, s, 0, "BGSAVE")
			require.Eventually(t, func() bool {
				return strings.Contains(do(t, s, 0, "INFO", "persistence").(string), "rdb_last_bgsave_status:err")
			}, time.Minute, 5*time.Millisecond)
		}, "it cannot write to its disk"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			test.prepare(t, s)
			remote, err := At(servertest.Bounded(t), Plain(s.Addr()))
			if err == nil {
				err = remote.Try(servertest.Bounded(t), "locklab:trial", []string{"EVAL"})
			}
			if test.why == "" {
				require.NoError(t, err)
				require.Equal(t, int64(0), do(t, s, 0, "EXISTS", "locklab:trial"))
				return
			}
			require.ErrorContains(t, err, "redis at "+s.Addr()+": "+test.why)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	require.Contains(t, unsuited(map[string]string{"cluster_enabled": "1"}), "a node of a cluster")
	require.Contains(t, unsuited(map[string]string{"redis_mode": "sentinel"}), "a sentinel")
}

func TestWhatChanged(t *testing.T) {
	was := Identity{RunID: "a", Role: "master", ReplID: "x"}
	require.Empty(t, was.ChangedTo(was))
	require.Contains(t, was.ChangedTo(Identity{"b", "master", "y"}), "its run_id was a and is b")
	require.Contains(t, was.ChangedTo(Identity{"a", "slave", "y"}), "its role was master and is slave")
	require.Contains(t, was.ChangedTo(Identity{"a", "master", "y"}), "its replication id was x and is y")
}
