package zookeeper

import (
	"context"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/needs"
)

func TestEnsemble(t *testing.T) {
	needs.Long(t, "three ZooKeepers")
	t.Parallel()
	needs.Found(t, "zookeeper", Find)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	guard := servertest.StartGuard(t)
	links, err := network.Open(ctx, "")
	require.NoError(t, err)
	e, err := StartEnsemble(ctx, guard, links, "")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		require.NoError(t, links.Close())
	})
	all := e.Members(ctx)
	require.Len(t, all, 3)
	follower, leader := all[1].Addr, all[0].Addr

	require.NoError(t, MakeNodes(ctx, follower, []string{"/kept"}))
	require.NoError(t, e.CutOff(ctx, leader))
	require.NotContains(t, e.Serving(), leader)
	require.NoError(t, MakeNodes(ctx, follower, []string{"/after"}))
	require.Error(t, RemoveNodes(ctx, leader, []string{"/kept"}), "a leader without followers serves nobody")
	require.NoError(t, e.Rejoin(ctx, leader))
	require.NoError(t, e.Reset(ctx))

	leader = e.Members(ctx)[0].Addr
	require.NoError(t, MakeNodes(ctx, leader, []string{"/kept"}))
	require.NoError(t, e.StopMember(ctx, leader))
	require.NotEqual(t, leader, e.Addr())
	require.NoError(t, MakeNodes(ctx, e.Addr(), []string{"/second"}))
	require.NoError(t, e.StartMember(ctx, leader))
	require.NoError(t, e.EmptyMember(ctx, e.Members(ctx)[1].Addr))
	require.Error(t, e.Reset(ctx), "links do not carry all")
	require.Error(t, MakeNodes(ctx, e.Members(ctx)[1].Addr, []string{"/kept"}), "what was acknowledged is there")
}
