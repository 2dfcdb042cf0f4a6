//go:build linux || darwin

package live_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/scenarios/live"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/worker/client"
)

// keyed is a lock of three keys on one server. It has as many as it wants, whatever it says that it needs.
type keyed struct {
	client.Options
	redis redisclient.Client
	how   string // "majority", "all"; "servers": most, on several servers; "greedy": one will do; "at once": all in one command; "fickle": other keys at each open
	token string
}

func (l *keyed) Keys() (keys []string, need string) {
	for i := range 3 {
		keys = append(keys, fmt.Sprintf("part:%d:%s", i, l.Key))
	}
	switch l.how {
	case "all", "at once":
		return keys, "all"
	case "fickle":
		return append(keys, l.token), "all"
	}
	return keys, "majority"
}

func (l *keyed) Acquire(ctx context.Context) (client.Grant, error) {
	keys, _ := l.Keys()
	if l.how == "at once" {
		ok, err := l.redis.MSetNX(ctx, keys[0], l.token, keys[1], l.token, keys[2], l.token).Result()
		return client.Grant{OK: ok}, err
	}
	got := 0
	for _, key := range keys {
		ok, err := l.redis.SetNX(ctx, key, l.token, l.Lease).Result()
		if err != nil {
			return client.Grant{}, err
		}
		if ok {
			got++
		}
	}
	if got >= map[string]int{"majority": 2, "all": 3, "greedy": 1}[l.how] {
		return client.Grant{OK: true, Valid: l.Lease / 2}, nil
	}
	_, err := l.Release(ctx)
	return client.Grant{}, err
}

func (l *keyed) Release(ctx context.Context) (bool, error) {
	const script = `local n = 0 for _, key in ipairs(KEYS) do if redis.call('GET', key) == ARGV[1] then n = n + redis.call('DEL', key) end end return n`
	keys, _ := l.Keys()
	n, err := l.redis.Eval(ctx, script, keys, l.token).Int()
	return n > 0, err
}

func (l *keyed) Ping(ctx context.Context) error { return l.redis.Ping(ctx).Err() }

func keyedClient(how string) error {
	n := 0
	hello := client.Hello{Name: "keyed", Promises: []string{"exclusion", "release-by-owner"}, Leaseless: how == "at once"}
	if how == "servers" {
		hello.Servers = "majority"
	}
	client.Serve(hello, &keyed{}, func(o client.Options) (client.Lock, error) {
		n++
		return &keyed{o, redisclient.New(o.Servers[0], redisclient.Settings{}), how, fmt.Sprint(o.Servers[0], n)}, nil
	})
	return nil
}

// A lock has several keys on one server, and its holder so many of them as the client says that it needs.
func TestSeveralKeys(t *testing.T) {
	const turns = "lease 20s\nclients C1 C2\nC1 acquire => ok\nC2 acquire => no\nC1 release => ok\nC2 acquire => ok\nC2 release => ok"
	const minority = "lease 20s\nclients C1 C2\nC1 acquire hold before second write => held-up\nC2 acquire => ok\nC1 continue"
	s := openStage(t, nil)
	for name, test := range map[string]struct{ how, text, verdict string }{
		"turns":                {"majority", turns, "safe"},
		"turns with all":       {"all", turns, "safe"},
		"turns at once":        {"at once", turns, "safe"},
		"two in a minority":    {"majority", minority, "safe"},
		"one is enough":        {"greedy", minority, "double-holder"},
		"until it has expired": {"majority", "lease 1s\nclients C1 C2\nC1 acquire => ok\nwait until expired => expired\nC2 acquire => ok", "safe"},
		"an operator limits":   {"all", "lease 20s\nclients C1 C2\nC1 acquire => ok\nC1 release hold before first EVAL => held-up\noperator limits lock to 1s\nC2 acquire within 10s => ok\nC1 continue", "safe"},
		"other keys each time": {"fickle", turns, "names the keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell, events := s.playScript(t, script(t, name, test.text), play.Subject{Name: "keyed", Argv: as("keyed " + test.how)})
			assert.Regexp(t, "^(unknown: C. )?"+test.verdict, cell.Verdict.String())
			for _, e := range events {
				if c := e.Command(); c != nil && c.Server != history.Resource {
					assert.Contains(t, []string{"redis/1", "redis/2", "redis/3"}, c.Server)
					assert.Equal(t, "lock", e.Lock)
				}
			}
		})
	}
}

// TestSeveralKeysOnSeveralServers are refused, once and before any cell.
func TestSeveralKeysOnSeveralServers(t *testing.T) {
	t.Parallel()
	s := openStage(t, nil)
	_, err := s.World.(*live.World).Greet(t.Context(), play.Subject{Argv: as("keyed servers")})
	require.EqualError(t, err, "the client cannot be used: C1 names several keys of a lock on several servers; a lock has one key on each of several servers, or several on one")
}
