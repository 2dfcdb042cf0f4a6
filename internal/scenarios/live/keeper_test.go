//go:build linux || darwin

package live_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server/address"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// TestKeeperAtAnAddress: cells run on a ZooKeeper that is not the world's, below one node, which is gone afterwards; those of others stay.
func TestKeeperAtAnAddress(t *testing.T) {
	needs.Long(t, "a ZooKeeper, and the lab beside it")
	t.Parallel()
	needs.Found(t, "zookeeper", zookeeper.Find)
	guard, err := process.StartGuard(servertest.As("guard"))
	require.NoError(t, err)
	defer func() { require.NoError(t, guard.Close()) }()
	keeper, err := zookeeper.Start(t.Context(), guard, filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { require.NoError(t, keeper.Close()) }()
	require.NoError(t, zookeeper.MakeNodes(t.Context(), keeper.Addr(), []string{"/somebody"}))
	nodes := func() []string {
		c, err := jute.Dial(t.Context(), keeper.Addr(), time.Second)
		require.NoError(t, err)
		names, err := c.Children("/")
		require.NoError(t, err)
		require.NoError(t, c.End())
		slices.Sort(names)
		return names
	}

	spec, found := impls.Find("zookeeper")
	require.True(t, found)
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	w, err := live.Open(t.Context(), live.Config{
		Dir: t.TempDir(), Guard: servertest.As("guard"), Worker: servertest.As("worker"), Host: servertest.As("host"), Server: address.ZooKeeperScheme + keeper.Addr(), CellTimeout: time.Minute,
	})
	require.NoError(t, err)
	assert.Regexp(t, `^ZooKeeper \d\S* at 127`, w.ServerVersion())
	assert.Len(t, nodes(), 3, "that of the run, too")
	for _, script := range scripts {
		if script.Name == "take-turns" {
			played, err := w.Play(t.Context(), play.SubjectOf(spec), script, "cell")
			require.NoError(t, err)
			require.NotEmpty(t, played.Events)
			assert.Equal(t, history.EndedComplete, played.Events[len(played.Events)-1].Detail.Text)
		}
	}
	require.NoError(t, w.Close())
	assert.Equal(t, []string{"somebody", "zookeeper"}, nodes())
}
