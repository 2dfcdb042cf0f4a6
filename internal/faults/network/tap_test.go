package network_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/tap"
)

// The canaries of this package are understood by the real tap, before a real server.
func TestFaultsBeforeTheRealTap(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	redis, err := redis.StartEmbedded()
	require.NoError(t, err)
	defer redis.Close()
	start := time.Now()
	far, err := tap.New(ctx, tap.Config{
		Server:   "redis",
		Upstream: redis.Addr(),
		Since:    func() time.Duration { return time.Since(start) },
		Record:   func(history.Event) {},
		Current:  func(string) (history.Op, int64) { return history.OpNone, 0 },
	})
	require.NoError(t, err)
	defer far.Close()
	addr, err := far.Listen("C1")
	require.NoError(t, err)
	n, err := network.Open(ctx, "")
	require.NoError(t, err)
	defer n.Close()
	l, err := n.Link(ctx, "C1", addr, far)
	require.NoError(t, err)

	for _, fault := range []faults.LinkFault{
		{Kind: faults.Partition, Direction: faults.Both}, {Kind: faults.Partition, Direction: faults.Requests}, {Kind: faults.Partition, Direction: faults.Replies},
		{Kind: faults.Refuse}, {Kind: faults.Delay, Each: time.Millisecond}, {Kind: faults.ReplyLost},
	} {
		i, err := l.Inject(ctx, fault)
		require.NoError(t, err)
		_, err = i.Recover(ctx)
		require.NoError(t, err)
	}
	require.NoError(t, n.Close())
}
