//go:build linux || darwin

package live_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// dialServer is a connection past the lab.
func dialServer(t *testing.T, addr string) redisclient.Client {
	t.Helper()
	client := redisclient.New(addr, redisclient.Settings{})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func theirs(t *testing.T) server.Server {
	t.Helper()
	s, err := redis.StartEmbedded()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// theirRedis is a redis-server that the lab under test has not started.
func theirRedis(t *testing.T) *redis.Server {
	t.Helper()
	needs.Found(t, "redis", redis.Find)
	guard := servertest.StartGuard(t)
	s, err := redis.Start(t.Context(), guard, redis.Options{})
	require.NoError(t, err)
	return s
}

const twoTurns = `
lease 60s
clients C1 C2
C1 acquire => ok
C1 work
C1 release => ok
C2 acquire => ok
C2 release => ok`

// A client that sends what could touch more than its cell's keys gets an error. The cell is unknown, and says why.
func TestCommandsBeyondTheCellAreRefused(t *testing.T) {
	at := theirs(t)
	s := openStage(t, func(cfg *live.Config) { cfg.Server = at.Addr() })
	direct := dialServer(t, at.Addr())
	require.NoError(t, direct.Set(t.Context(), "theirs", "x", 0).Err())
	for i, command := range []string{"FLUSHALL", "CONFIG SET maxmemory 1", "SHUTDOWN NOSAVE", "DEL theirs", "KEYS *", "EVAL redis.call('FLUSHALL') 0", "PUBLISH theirs x",
		`EVAL redis.call"FLUSHALL" 1 {key}`, "EVAL local--[[]]c=redis.call;return--[[]]c('DEL','theirs') 1 {key}", "FCALL wipe 1 {key}",
	} {
		for _, verb := range []string{"init", "acquire"} {
			if verb == "init" && strings.Contains(command, "{key}") {
				continue // which it does not know yet
			}
			t.Run(command+" at "+verb, func(t *testing.T) {
				t.Parallel()
				cell, _ := s.playScript(t, script(t, fmt.Sprint("turns ", verb, i), twoTurns), foreign("setpx-lua", "send "+verb+" "+command))
				require.Equal(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.String())
				name, _, _ := strings.Cut(command, " ")
				assert.Contains(t, cell.Verdict.Reason, name)
				assert.Contains(t, cell.Verdict.Reason, "which the lab refuses: ")
				assert.Contains(t, cell.Verdict.Reason, "--allow-any-command")
				assert.Equal(t, "x", direct.Get(t.Context(), "theirs").Val())
			})
		}
	}
}

func TestAnyCommandIfAllowed(t *testing.T) {
	at := theirs(t)
	s := openStage(t, func(cfg *live.Config) { cfg.Server, cfg.AnyCommand = at.Addr(), true })
	cell, _ := s.playScript(t, script(t, "two turns", twoTurns), foreign("setpx-lua", "send acquire SET theirs x"))
	require.Equal(t, checker.Safe, cell.Verdict.Kind, cell.Verdict.String())
	require.NoError(t, s.close())
	require.Equal(t, []string{"theirs"}, dialServer(t, at.Addr()).Keys(t.Context(), "*").Val(), "what the lab's clients left themselves")
}

// While a lock without a lease is held, all keys expire on the server, and the lock does not see that.
func TestKeysAtAnAddressExpire(t *testing.T) {
	at := theirs(t)
	s := openStage(t, func(cfg *live.Config) { cfg.Server = at.Addr() })
	direct := dialServer(t, at.Addr())
	checked := make(chan map[string]time.Duration, 1)
	go func() { checked <- awaitKeys(t, direct, 2) }()
	cell, events := s.playScript(t, script(t, "held", `
		lease 60s
		clients C1 C2
		C1 acquire => ok
		C1 work
		C2 acquire within 1s => no
		C1 release => ok`), subject(t, "setnx-del"))
	require.Equal(t, checker.Safe, cell.Verdict.Kind, cell.Verdict.String())
	for key, left := range <-checked {
		assert.Greater(t, left, time.Hour, key)
		assert.Less(t, left, 3*time.Hour, key)
	}
	for _, e := range events {
		if e.Command() != nil {
			for _, change := range e.Command().Changes {
				assert.Zero(t, change.Before.TTL+change.After.TTL)
			}
		}
	}
	require.NoError(t, s.close())
	require.Empty(t, direct.Keys(t.Context(), "*").Val())
}

// awaitKeys waits until there are so many keys, each with an expiry, and returns how long each has left. If that does not come to pass,
// it returns what there was.
func awaitKeys(t *testing.T, direct redisclient.Client, n int) (left map[string]time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		keys := direct.Keys(ctx, "locklab:*").Val()
		found := map[string]time.Duration{}
		for _, key := range keys {
			found[key] = direct.PTTL(ctx, key).Val()
		}
		if len(keys) < n {
			continue
		}
		left = found
		if !slices.ContainsFunc(keys, func(key string) bool { return found[key] <= 0 }) {
			break
		}
	}
	assert.Len(t, left, n)
	return left
}

// A server that is restarted, or fails over, by itself: what the lock does then is not its fault.
func TestAServerThatChangesByItself(t *testing.T) {
	needs.Long(t, "waits for a server that changes")
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, at *redis.Server, direct redisclient.Client) error
		why    string
	}{
		"restart": {func(t *testing.T, at *redis.Server, _ redisclient.Client) error { return at.RestartEmpty(t.Context()) }, "its run_id was "},
		"failover": {func(t *testing.T, _ *redis.Server, direct redisclient.Client) error {
			return direct.ReplicaOf(t.Context(), "127.0.0.1", "1").Err()
		}, "its role was master and is slave"},
		"loss": {func(_ *testing.T, at *redis.Server, _ redisclient.Client) error { return at.Close() }, "was lost: "},
	} {
		t.Run(name, func(t *testing.T) {
			at := theirRedis(t)
			cfg := live.Config{Dir: t.TempDir(), Guard: servertest.As("guard"), Worker: servertest.As("worker"), Server: at.Addr(), CellTimeout: time.Minute}
			world, err := live.Open(t.Context(), cfg)
			require.NoError(t, err)
			s := stage{Runner: lab.Runner{World: world}, dir: cfg.Dir, close: sync.OnceValue(world.Close)}
			defer s.close()
			direct := dialServer(t, at.Addr())
			changed := make(chan error, 1)
			go func() {
				awaitKeys(t, direct, 1)
				changed <- test.change(t, at, direct)
			}()
			cell, _ := s.playScript(t, script(t, "held", `
				lease 60s
				clients C1 C2
				C1 acquire => ok
				C2 acquire within 10s => ok`), subject(t, "setpx-lua"))
			require.NoError(t, <-changed)
			require.Equal(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.String())
			assert.Contains(t, cell.Verdict.Reason, "the server at "+at.Addr())
			assert.Contains(t, cell.Verdict.Reason, test.why)
			if err := s.close(); name == "restart" {
				assert.NoError(t, err)
			} else {
				assert.Regexp(t, `(?s)key.* of the lab may be left: .*redis-cli -h 127.0.0.1 -p \d+ UNLINK 'locklab:\d+:\w+:1:lock'`, err)
			}
		})
	}
}
