//go:build linux || darwin

package live_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// TestAddressIsLeftAsItWas runs cells, one of them with a jump of the clock, at a server that others use as well.
func TestAddressIsLeftAsItWas(t *testing.T) {
	theirs, err := redis.StartEmbedded()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, theirs.Close()) })
	client := redisclient.New(theirs.Addr(), redisclient.Settings{})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	ctx := t.Context()
	require.NoError(t, client.Set(ctx, "lock", "theirs", time.Hour).Err())
	require.NoError(t, client.Set(ctx, "counter", "7", 0).Err())
	require.NoError(t, client.Set(ctx, "locklab:other:1:lock", "of another run", time.Hour).Err())
	require.NoError(t, client.HSet(ctx, "hash", "field", "value").Err())

	s := openStage(t, func(cfg *live.Config) { cfg.Server = theirs.Addr() })
	jump := script(t, "jump", `
		lease 60s
		clients C1 C2
		C1 acquire => ok
		C1 work => ok
		server clock jumps 2 leases
		C2 acquire => ok
		C2 work => ok
		C2 crash`)
	for _, lock := range []string{"setpx-lua", "watchdog"} {
		cell, events := s.playScript(t, jump, subject(t, lock))
		assert.Equal(t, "double-holder, early-grant", cell.Verdict.String())
		tells(t, events, "C1 work: ok", "redis clock-jump: effective", "C2 work: ok", "counter 2", "end: complete")
	}
	cell, _ := s.playScript(t, builtin(t, "redis-restarts-empty"), subject(t, "setpx-lua"))
	assert.Equal(t, "n/a: a server at an address is never restarted (--restart-command)", cell.Verdict.String())
	assert.Equal(t, record.ByNeeds, cell.Expected.By)

	keys, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"lock", "counter", "locklab:other:1:lock", "hash"}, keys)
	for _, key := range []string{"lock", "locklab:other:1:lock"} {
		left, err := client.PTTL(ctx, key).Result()
		require.NoError(t, err)
		assert.Greater(t, left, 50*time.Minute, "the clock of %s has jumped", key)
	}
	value, err := client.Get(ctx, "counter").Result()
	require.NoError(t, err)
	assert.Equal(t, "7", value)
}

// TestOpenFails asserts that a world that cannot be had is one clear error, and that nothing is left of it.
func TestOpenFails(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := closed.Addr().String()
	require.NoError(t, closed.Close())
	tests := map[string]struct {
		change func(*live.Config)
		want   string
	}{
		"no redis there":      {func(c *live.Config) { c.Server = nobody }, "redis at " + nobody},
		"no toxiproxy there":  {func(c *live.Config) { c.Toxiproxy = "http://" + nobody }, "unreachable"},
		"no guard":            {func(c *live.Config) { c.Guard = []string{"/bin/echo", "hello"} }, "start the guard"},
		"no redis-server":     {func(c *live.Config) { c.Server = live.RedisServer }, "redis-server"},
		"no etcd":             {func(c *live.Config) { c.Server = live.Etcd }, "etcd-server"},
		"no directory":        {func(c *live.Config) { c.Dir = "" }, "no such file or directory"},
		"not even an address": {func(c *live.Config) { c.Server = "redis" }, "not an address"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := live.Config{Dir: t.TempDir(), Guard: servertest.As("guard"), Worker: servertest.As("worker"), Host: servertest.As("host"), Server: live.Embedded, CellTimeout: time.Minute}
			switch name {
			case "no redis-server", "no etcd":
				t.Setenv("PATH", "")
			case "no directory":
				t.Setenv("TMPDIR", "nowhere")
			}
			test.change(&cfg)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := live.Open(ctx, cfg)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestWithoutStateProbes asserts that without state probes no further anomaly is reported, and none that only probes can prove.
func TestWithoutStateProbes(t *testing.T) {
	needs.Long(t, "cells with and without probes")
	asked := openStage(t, nil)
	unasked := openStage(t, func(cfg *live.Config) { cfg.NoStateProbes = true })
	tests := []struct {
		scenario, lock string
		with           []checker.Name
		without        []checker.Name
	}{
		{"server-clock-jumps", "setpx-del",
			[]checker.Name{checker.DoubleHolder, checker.EarlyGrant, checker.WrongfulDelete, checker.StaleWrite, checker.LostUpdate},
			[]checker.Name{checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate}},
		{"clock-ahead", "getset",
			[]checker.Name{checker.DoubleHolder, checker.EarlyGrant, checker.Overwrite, checker.StaleWrite, checker.LostUpdate},
			[]checker.Name{checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate}},
		{"acquire-reply-lost", "setpx-lua", []checker.Name{checker.GhostLock}, nil},
		{"stopped-between-check-and-delete", "setpx-lua", nil, nil},
		{"take-turns", "watchdog", nil, nil},
	}
	for _, test := range tests {
		t.Run(test.scenario+" "+test.lock, func(t *testing.T) {
			t.Parallel()
			with, _ := asked.playScript(t, builtin(t, test.scenario), subject(t, test.lock))
			without, events := unasked.playScript(t, builtin(t, test.scenario), subject(t, test.lock))
			assert.Equal(t, test.with, with.Verdict.Names(), with.Verdict.String())
			assert.Equal(t, test.without, without.Verdict.Names(), without.Verdict.String())
			assert.Subset(t, with.Verdict.Names(), without.Verdict.Names())
			for _, e := range events {
				if e.Command() != nil {
					require.Empty(t, e.Command().Changes, "nothing may be said about the state of a key")
				}
			}
		})
	}
}
