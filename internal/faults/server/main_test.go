package server

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
)

const role = "LOCKLAB_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "guard" {
		if err := process.GuardMain(os.Stdin, os.Stdout, nil); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(role) == "host" {
		if err := HostMain(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	needs.SideBySide(6)
	// As in internal/faults/network: a goroutine of toxiproxy may be left behind on a connection that died while a reply was coming in.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe"))
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func startGuard(t *testing.T) *process.Guard {
	t.Helper()
	guard, err := process.StartGuard([]string{"/usr/bin/env", role + "=guard", "GORACE=atexit_sleep_ms=0", os.Args[0]})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guard.Close()) })
	return guard
}

func startEmbedded(t *testing.T) Server {
	t.Helper()
	s, err := StartEmbedded()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func startRedis(t *testing.T) Server {
	t.Helper()
	needs.Found(t, "redis", FindRedis)
	s, err := StartRedis(bounded(t), startGuard(t), Options{Log: t.TempDir() + "/redis.log"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// onEach runs the test on each kind of server.
func onEach(t *testing.T, test func(t *testing.T, s Server)) {
	t.Run("embedded", func(t *testing.T) { test(t, startEmbedded(t)) })
	t.Run("hosted", func(t *testing.T) { test(t, startHosted(t, 0)) })
	t.Run("redis-server", func(t *testing.T) { test(t, startRedis(t)) })
	t.Run("replicated", func(t *testing.T) { test(t, startReplicated(t)) })
}

// do runs one command in a database.
func do(t *testing.T, s Server, db int, args ...any) any {
	t.Helper()
	var answer any
	err := with(bounded(t), Endpoint{Addr: s.Addr(), DB: db}, func(client redisclient.Client) (err error) {
		answer, err = client.Do(bounded(t), args...).Result()
		return err
	})
	if err != redis.Nil {
		require.NoErrorf(t, err, "%v", args)
	}
	return answer
}
