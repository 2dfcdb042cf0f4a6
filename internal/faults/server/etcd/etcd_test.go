package etcd

import (
	"path/filepath"
	"testing"

	"github.com/locklab/locklab/internal/faults/server/daemon"
	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

func TestEtcd(t *testing.T) {
	t.Parallel()
	needs.Found(t, "etcd", Find)
	ctx, guard := servertest.Bounded(t), servertest.StartGuard(t)
	e, err := Start(ctx, guard, filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	assert.Regexp(t, `^etcd \d\S* \(started by the lab\)$`, e.Describe())

	nothing := struct{}{}
	put := func(key string, lease int) {
		require.NoError(t, e.ask(ctx, "kv/put", map[string]any{"key": []byte(key), "lease": lease}, &nothing))
	}
	state, err := e.State(ctx, "lock")
	require.NoError(t, err)
	assert.False(t, state.Exists())
	put("lock/second", 0)
	put("lock0", 0) // the next key that is not below it
	require.NoError(t, e.ask(ctx, "lease/grant", map[string]any{"ID": 7, "TTL": 60}, &nothing))
	require.NoError(t, e.ask(ctx, "kv/deleterange", map[string]any{"key": []byte("lock/second")}, &nothing))
	put("lock/first", 7)
	put("lock/a", 0)
	state, err = e.State(ctx, "lock")
	require.NoError(t, err)
	assert.Equal(t, "lock/first", state.Value, "the oldest")
	assert.InDelta(t, 60, state.TTL.Seconds(), 2)

	require.ErrorIs(t, e.StartAgain(ctx), daemon.ErrNotDown)
	require.NoError(t, e.Stop(ctx))
	require.ErrorIs(t, e.Stop(ctx), daemon.ErrDown)
	_, err = e.State(ctx, "lock")
	require.Error(t, err)
	require.NoError(t, e.StartAgain(ctx))
	state, err = e.State(ctx, "lock")
	require.NoError(t, err)
	assert.Equal(t, "lock/first", state.Value, "it came back with its data")
	require.NoError(t, e.RestartEmpty(ctx))
	state, err = e.State(ctx, "lock")
	require.NoError(t, err)
	assert.False(t, state.Exists())

	select {
	case <-e.Died():
		t.Fatal("it has died:", e.End())
	default:
	}
	require.NoError(t, e.Running().Kill(ctx))
	select {
	case <-e.Died():
		assert.Contains(t, e.End(), "killed")
	case <-ctx.Done():
		t.Fatal("its end was not noticed")
	}
	dir := e.Dir
	require.NoError(t, e.Close())
	require.NoDirExists(t, dir)
}

// TestWhatEtcdLacks: the reason names what to install.
func TestWhatEtcdLacks(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, _, err := Find()
	require.ErrorContains(t, err, "install Debian's package etcd-server")
}
