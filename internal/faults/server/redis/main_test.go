package redis

import (
	"os"
	"testing"

	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
)

func TestMain(m *testing.M) {
	servertest.Main(m, map[string]func() error{"host": func() error { return HostMain(os.Stdin, os.Stdout) }})
}

func startEmbedded(t *testing.T) server.Server {
	t.Helper()
	s, err := StartEmbedded()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func startRedis(t *testing.T) server.Server {
	t.Helper()
	needs.Found(t, "redis", Find)
	s, err := Start(servertest.Bounded(t), servertest.StartGuard(t), Options{Log: t.TempDir() + "/redis.log"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// onEach runs the test on each kind of server.
func onEach(t *testing.T, test func(t *testing.T, s server.Server)) {
	t.Run("embedded", func(t *testing.T) { test(t, startEmbedded(t)) })
	t.Run("hosted", func(t *testing.T) { test(t, startHosted(t, 0)) })
	t.Run("redis-server", func(t *testing.T) { test(t, startRedis(t)) })
	t.Run("replicated", func(t *testing.T) { test(t, startReplicated(t)) })
}

// do runs one command in a database.
func do(t *testing.T, s server.Server, db int, args ...any) any {
	t.Helper()
	var answer any
	err := with(servertest.Bounded(t), Endpoint{Addr: s.Addr(), DB: db}, func(client redisclient.Client) (err error) {
		answer, err = client.Do(servertest.Bounded(t), args...).Result()
		return err
	})
	if err != redis.Nil {
		require.NoErrorf(t, err, "%v", args)
	}
	return answer
}
