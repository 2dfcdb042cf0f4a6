package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/racing"
	"github.com/locklab/locklab/internal/sim/service"
)

// TestModelAgainstRedisUnderLocks lets two clients use each lock at random. Whatever the lock sends, its scripts and transactions too,
// goes to the model and to a real server, and must be answered alike.
func TestModelAgainstRedisUnderLocks(t *testing.T) {
	theirs := realRedis(t)
	locks := impls.All()
	each := len(locks) / needs.Count(t, "locks", 4, len(locks))
	if racing.Enabled {
		locks = locks[:6]
	}
	for i, spec := range locks {
		if spec.Servers > 1 || i%each != 0 {
			continue // it sends to each of its servers what others send to one
		}
		t.Run(spec.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := &mirror{t: t, mine: &model{}, theirs: theirs}
				m.mine.reset()
				m.theirs.reset()
				var locks []impls.Lock
				for client := 1; client <= 2; client++ {
					locks = append(locks, spec.New(&mirrorEnv{mirror: m, client: client, shared: map[string]any{}}, impls.Options{Key: "lock", Lease: 10 * grain}))
				}
				for range rapid.IntRange(1, 12).Draw(t, "length") {
					m.play(locks[rapid.IntRange(0, 1).Draw(t, "client")])
				}
			})
		})
	}
}

// mirror sends commands to both subjects.
type mirror struct {
	t      *rapid.T
	mine   *model
	theirs subject
	told   []string
	tokens int
}

func (m *mirror) play(lock impls.Lock) {
	ctx := context.Background()
	switch what := rapid.SampledFrom([]string{"acquire", "acquire", "release", "renew", "check", "time"}).Draw(m.t, "what"); what {
	case "acquire":
		_, _ = lock.TryAcquire(ctx)
	case "release":
		_, _ = lock.Release(ctx)
	case "renew":
		if renewer, ok := lock.(impls.Renewer); ok {
			_, _ = renewer.Renew(ctx)
		}
	case "check":
		if checker, ok := lock.(impls.Checker); ok {
			_, _ = checker.Held(ctx)
		}
	case "time":
		m.advance(leap)
	}
}

func (m *mirror) advance(d time.Duration) {
	m.told = append(m.told, step{advance: d}.String())
	m.mine.advance(d)
	m.theirs.advance(d)
}

// do sends a command to both and returns the model's reply as it is.
func (m *mirror) do(connection int, args []any) service.Reply {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = fmt.Sprint(arg)
	}
	m.told = append(m.told, step{connection: connection, args: words}.String())
	want := m.theirs.do(connection, words)
	reply := m.mine.server.Do(connection, words...)
	if got := canonical(words, plain(reply).String()); got != want {
		m.t.Fatalf("the replies differ after\n  %s\nRedis answers %s\nthe model    %s", strings.Join(m.told, "\n  "), want, got)
	}
	return reply
}

// mirrorEnv is the Env and the Server of one client of a mirror. What the client would do in the background is left out.
type mirrorEnv struct {
	*mirror
	client int
	shared map[string]any
}

var errSilent = errors.New("nothing is ever published here")

func (e *mirrorEnv) Server() impls.Server   { return e }
func (e *mirrorEnv) Session() impls.Session { return nil }
func (e *mirrorEnv) Servers() []impls.Server {
	return []impls.Server{e}
}
func (e *mirrorEnv) Now() time.Time           { return time.Unix(1_700_000_000, 0).Add(e.mine.server.Now()) }
func (e *mirrorEnv) Monotonic() time.Duration { return e.mine.server.Now() }
func (e *mirrorEnv) Token() string            { e.tokens++; return "token" + strconv.Itoa(e.tokens) }
func (e *mirrorEnv) Object() string           { return "a" }
func (e *mirrorEnv) Thread() string           { return "1" }
func (e *mirrorEnv) Lost(string)              {}
func (e *mirrorEnv) Renewed(time.Duration) {
}

func (e *mirrorEnv) Sleep(ctx context.Context, _ time.Duration) error {
	e.advance(leap)
	return ctx.Err()
}

func (e *mirrorEnv) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func (e *mirrorEnv) Go(func(context.Context)) (stop func()) { return func() {} }

func (e *mirrorEnv) Shared(key string, make func() any) any {
	if e.shared[key] == nil {
		e.shared[key] = make()
	}
	return e.shared[key]
}

func (e *mirrorEnv) Do(_ context.Context, args ...any) (any, error) {
	return understood(e.do(e.client, args), false)
}

func (e *mirrorEnv) Eval(_ context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	tail := []any{len(keys)}
	for _, key := range keys {
		tail = append(tail, key)
	}
	tail = append(tail, args...)
	reply := e.do(e.client, append([]any{"EVALSHA", script.SHA()}, tail...))
	if strings.HasPrefix(reply.Text, "NOSCRIPT") {
		reply = e.do(e.client, append([]any{"EVAL", script.Source}, tail...))
	}
	return understood(reply, true)
}

func (e *mirrorEnv) Watch(_ context.Context, keys []string, fn func(impls.Tx) error) error {
	args := []any{"WATCH"}
	for _, key := range keys {
		args = append(args, key)
	}
	if _, err := understood(e.do(e.client, args), false); err != nil {
		return err
	}
	tx := &mirrorTx{env: e}
	err := fn(tx)
	if !tx.done {
		e.do(e.client, []any{"UNWATCH"})
	}
	return err
}

func (e *mirrorEnv) Subscribe(context.Context, string) (impls.Subscription, error) {
	return nil, errSilent
}

// mirrorTx is a transaction into which, now and then, another client interferes.
type mirrorTx struct {
	env  *mirrorEnv
	done bool
}

func (tx *mirrorTx) Do(ctx context.Context, args ...any) (any, error) { return tx.env.Do(ctx, args...) }

func (tx *mirrorTx) Exec(_ context.Context, commands ...impls.Command) ([]any, bool, error) {
	e := tx.env
	tx.done = true
	if rapid.Bool().Draw(e.t, "interferes") {
		e.do(3, []any{"PEXPIRE", "lock", 100000})
	}
	e.do(e.client, []any{"MULTI"})
	for _, command := range commands {
		e.do(e.client, command)
	}
	reply, err := understood(e.do(e.client, []any{"EXEC"}), false)
	if reply == nil || err != nil {
		return nil, false, err
	}
	return reply.([]any), true, nil
}

// understood puts a reply into the terms of impls.Server.
func understood(r service.Reply, toScript bool) (any, error) {
	switch r.Kind {
	case service.Status, service.Bulk:
		return r.Text, nil
	case service.Integer:
		return r.Int, nil
	case service.Error:
		return nil, impls.ErrorReply(r.Text, toScript)
	case service.Array:
		list := make([]any, len(r.List))
		for i := range r.List {
			value, err := understood(r.List[i], toScript)
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	}
	return nil, nil
}
