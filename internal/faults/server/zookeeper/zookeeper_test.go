package zookeeper

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/needs"
)

// TestZooKeeperOnATakenPort: Java says so above the trace of its call stack, and another port is tried.
func TestZooKeeperOnATakenPort(t *testing.T) {
	needs.Long(t, "one more ZooKeeper")
	t.Parallel()
	needs.Found(t, "zookeeper", Find)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	found, err := find(jarDir)
	require.NoError(t, err)
	z := newServer(found, servertest.StartGuard(t), t.TempDir(), filepath.Join(t.TempDir(), "log"))
	isTaken, err := z.process.StartAt(servertest.Bounded(t), other.Addr().String())
	require.Error(t, err)
	require.True(t, isTaken, err)
}

func TestZooKeeper(t *testing.T) {
	t.Parallel()
	needs.Found(t, "zookeeper", Find)
	ctx, guard := servertest.Bounded(t), servertest.StartGuard(t)
	z, err := Start(ctx, guard, filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { require.NoError(t, z.Close()) }()
	assert.Regexp(t, `^ZooKeeper \d\S* \(started by the lab\)$`, z.Describe())

	places := []string{"/one", "/two"}
	require.NoError(t, MakeNodes(ctx, z.Addr(), places))
	require.ErrorIs(t, MakeNodes(ctx, z.Addr(), places), jute.CodeNodeExists)
	require.NoError(t, MakeNodes(ctx, z.Addr(), []string{"/one/below"}))
	require.NoError(t, RemoveNodes(ctx, z.Addr(), append(places, "/never")))
	c, err := jute.Dial(ctx, z.Addr(), time.Second)
	require.NoError(t, err)
	names, err := c.Children("/")
	require.NoError(t, err)
	assert.Equal(t, []string{"zookeeper"}, names)
	names, err = c.Children("/never")
	require.NoError(t, err)
	assert.Empty(t, names)
	require.NoError(t, c.End())

	_, err = redis.At(ctx, redis.Plain(z.Addr()))
	require.ErrorContains(t, err, "it is a ZooKeeper; write zookeeper://"+z.Addr())
	remote, err := At(ctx, z.Addr())
	require.NoError(t, err)
	assert.Equal(t, z.Addr(), remote.Addr())
	shortest, longest := remote.Sessions()
	assert.Equal(t, tick, shortest)
	assert.Equal(t, time.Hour, longest)
	require.NoError(t, MakeNodes(ctx, z.Addr(), []string{"/run", "/run/place", "/run/place/node", "/run/other", "/runaway"}))
	found, err := RemoveTree(ctx, z.Addr(), "/run")
	require.NoError(t, err)
	assert.True(t, found)
	found, err = RemoveTree(ctx, z.Addr(), "/run")
	require.NoError(t, err)
	assert.False(t, found)
	require.ErrorIs(t, MakeNodes(ctx, z.Addr(), []string{"/runaway"}), jute.CodeNodeExists, "the node of somebody else is there")

	select {
	case <-z.Died():
		t.Fatal("it has died:", z.End())
	default:
	}
	require.NoError(t, z.process.Running().Kill(ctx))
	select {
	case <-z.Died():
		assert.Contains(t, z.End(), "killed")
	case <-ctx.Done():
		t.Fatal("its end was not noticed")
	}
	dir := z.process.Dir
	require.NoError(t, z.Close())
	require.NoDirExists(t, dir)
}

// TestWhatZooKeeperLacks: the reason names what to install.
func TestWhatZooKeeperLacks(t *testing.T) {
	none := t.TempDir()
	_, err := find(none)
	require.ErrorContains(t, err, "install Debian's package zookeeper")

	some := t.TempDir()
	for _, jar := range jars {
		require.NoError(t, os.WriteFile(filepath.Join(some, jar+".jar"), nil, 0o600))
	}
	require.NoError(t, os.Remove(filepath.Join(some, "slf4j-api.jar")))
	_, err = find(some)
	require.ErrorContains(t, err, "incomplete: no "+filepath.Join(some, "slf4j-api.jar"))

	require.NoError(t, os.WriteFile(filepath.Join(some, "slf4j-api.jar"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(some, "zookeeper-3.8.0.jar"), nil, 0o600))
	t.Setenv("PATH", none)
	_, err = find(some)
	require.ErrorContains(t, err, "install Debian's package default-jre-headless")

	require.NoError(t, os.WriteFile(filepath.Join(none, "java"), []byte("#!/bin/sh\n"), 0o700))
	found, err := find(some)
	require.NoError(t, err)
	assert.Equal(t, "3.8.0", found.version)
}

func TestKeeperAddr(t *testing.T) {
	addr, ok := Addr("zookeeper://127.0.0.1:2181")
	assert.True(t, ok)
	assert.Equal(t, "127.0.0.1:2181", addr)
	for _, text := range []string{"127.0.0.1:2181", "zookeeper://", "zookeeper://here", "zookeeper", "etcd://127.0.0.1:2379"} {
		_, ok := Addr(text)
		assert.False(t, ok, text)
	}
}
