//go:build linux || darwin

package live_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/worker/client"
)

// keyed is a lock of three keys on one server. It has as many as it wants, whatever it says that it needs.
type keyed struct {
	client.Options
	redis redisclient.Client
	how   string // "majority", "all"; "servers": most, on several servers; "greedy": one will do; "at once": all in one command; "fickle": other keys at each open
	token string
}

func (l *keyed) keys() (keys []string, need string) {
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

func (l *keyed) acquire(op *client.Operation) (bool, error) {
	keys, _ := l.keys()
	if l.how == "at once" {
		return l.redis.MSetNX(op, keys[0], l.token, keys[1], l.token, keys[2], l.token).Result()
	}
	got := 0
	for _, key := range keys {
		ok, err := l.redis.SetNX(op, key, l.token, l.Lease).Result()
		if err != nil {
			return false, err
		}
		if ok {
			got++
		}
	}
	if got >= map[string]int{"majority": 2, "all": 3, "greedy": 1}[l.how] {
		op.Answer["valid_ms"] = l.Lease.Milliseconds() / 2
		return true, nil
	}
	_, err := l.release(op)
	return false, err
}

func (l *keyed) release(op *client.Operation) (bool, error) {
	const script = `local n = 0 for _, key in ipairs(KEYS) do if redis.call('GET', key) == ARGV[1] then n = n + redis.call('DEL', key) end end return n`
	keys, _ := l.keys()
	n, err := l.redis.Eval(op, script, keys, l.token).Int()
	return n > 0, err
}

func (l *keyed) reconnect(op *client.Operation) (bool, error) { return true, l.redis.Ping(op).Err() }

func keyedClient(how string) error {
	n := 0
	hello := map[string]any{"name": "keyed", "promises": []string{"exclusion", "release-by-owner"}, "leaseless": how == "at once"}
	if how == "servers" {
		hello["servers"] = "majority"
	}
	verbs := client.Verbs[*keyed]{Acquire: (*keyed).acquire, Release: (*keyed).release, Reconnect: (*keyed).reconnect}
	client.Serve(hello, func(o client.Options) (*keyed, error) {
		n++
		l := &keyed{o, redisclient.New(o.Servers[0], redisclient.Settings{}), how, fmt.Sprint(o.Servers[0], n)}
		o.Answer["keys"], o.Answer["need"] = l.keys()
		return l, nil
	}, verbs)
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
			cell, events := s.playScript(t, script(t, name, test.text), play.Subject{Name: "keyed", Argv: servertest.As("keyed " + test.how)})
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
	_, err := s.World.(*live.World).Greet(t.Context(), play.Subject{Argv: servertest.As("keyed servers")})
	require.EqualError(t, err, "the client cannot be used: C1 names several keys of a lock on several servers; a lock has one key on each of several servers, or several on one")
}
