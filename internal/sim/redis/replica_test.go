package redis

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/internal/racing"
)

// TestPromotedAgainstRedis: a real replica receives the first part of random steps and takes over; it has what the model says, and
// nothing of what the first server went on to do.
func TestPromotedAgainstRedis(t *testing.T) {
	first, replica := realRedis(t), realRedis(t)
	require.NoError(t, first.client.ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err())
	steps := rapid.SliceOfN(rapid.Custom(drawStep).Filter(func(s step) bool { return s.advance == 0 }), 20, 40)
	probes := probes()
	histories := 25
	if racing.Enabled {
		histories = 5
	}
	for seed := range histories {
		mine := &model{}
		mine.reset()
		follow(t, replica, first)
		first.reset()
		drawn := steps.Example(seed)
		for _, s := range drawn[:15] {
			require.Equal(t, first.do(s.connection, s.args), mine.do(s.connection, s.args), s)
		}
		received(t, first)
		require.NoError(t, replica.client.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
		promoted := &model{mine.server.Promoted()}
		for _, s := range drawn[15:] { // what the replica does not receive
			first.do(s.connection, s.args)
			mine.do(s.connection, s.args)
		}
		for _, passes := range []time.Duration{0, leap, 2 * leap} {
			if passes > 0 {
				promoted.advance(passes)
				replica.advance(passes)
			}
			for _, args := range probes {
				require.Equal(t, replica.do(1, args), promoted.do(1, args), "seed %d, after %v: %v", seed, passes, args)
			}
		}
		replica.hangUp()
	}
}

// probes are commands that show all data, the connections and the scripts.
func probes() (all [][]string) {
	for _, key := range []string{"k", "k2", "k3"} {
		for _, command := range []string{"TYPE %", "PTTL %", "GET %", "LRANGE % 0 -1", "HLEN %", "HGET % a", "ZRANGE % 0 -1", "SMEMBERS %"} {
			all = append(all, strings.Fields(strings.ReplaceAll(command, "%", key)))
		}
	}
	return append(all, []string{"EVALSHA", shaOf(`return 1`), "0"}, []string{"EXEC"})
}

// follow has a server follow another, and waits until it does.
func follow(t *testing.T, replica, first *wire) {
	t.Helper()
	host, port, err := net.SplitHostPort(first.addr)
	require.NoError(t, err)
	require.NoError(t, replica.client.Do(t.Context(), "REPLICAOF", host, port).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(replica.client.Info(t.Context(), "replication").Val(), "master_link_status:up")
	}, time.Minute, 5*time.Millisecond)
}

// received waits until the replica has received all that the first server has done.
func received(t *testing.T, first *wire) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// WAIT looks at the writes of its own connection.
	require.NoError(t, first.client.Set(ctx, "mark", "1", 0).Err())
	n, err := first.client.Wait(ctx, 1, 20*time.Second).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}
