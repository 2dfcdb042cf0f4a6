package impls_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// exchange is a command that a lock is to send, and what it is told.
type exchange struct {
	want  string // the command and its arguments; of a script "EVAL", its keys and arguments
	reply any
	err   error
	takes time.Duration // by the client's clock
	// meanwhile happens before the lock is told; nil: nothing.
	meanwhile func()
}

// answered is the same exchange with another reply.
func (e exchange) answered(reply any) exchange {
	e.reply = reply
	return e
}

// fake is an Env, its Server, and what that gives out: it plays exchanges in virtual time, in one goroutine. When they are used up, the task in the
// background is stopped.
type fake struct {
	t         *testing.T
	exchanges []exchange
	sent      []string
	clock     time.Time
	tokens    int
	said      []string // notices, with the time since the start

	shared  map[string]any
	servers int // several, or 0

	task   func(ctx context.Context)
	ctx    context.Context
	cancel context.CancelFunc
}

var start = time.UnixMilli(1_000_000)

func newFake(t *testing.T, exchanges ...exchange) *fake {
	f := &fake{t: t, exchanges: exchanges, clock: start, shared: map[string]any{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	t.Cleanup(f.cancel)
	return f
}

func (f *fake) Server() impls.Server     { return f }
func (f *fake) Now() time.Time           { return f.clock }
func (f *fake) Monotonic() time.Duration { return time.Duration(f.clock.UnixNano()) }

func (f *fake) Servers() []impls.Server {
	if f.servers == 0 {
		return []impls.Server{f}
	}
	all := make([]impls.Server, f.servers)
	for i := range all {
		all[i] = node{f, fmt.Sprintf("S%d", i+1)}
	}
	return all
}

func (f *fake) Session() impls.Session { return session{f} }

func (f *fake) Sleep(ctx context.Context, d time.Duration) error {
	f.clock = f.clock.Add(max(d, 0))
	return ctx.Err()
}

func (f *fake) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func (f *fake) Token() string {
	f.tokens++
	return fmt.Sprintf("t%d", f.tokens)
}

func (f *fake) Go(fn func(ctx context.Context)) (stop func()) {
	f.task = fn
	return f.cancel
}

func (f *fake) Shared(key string, make func() any) any {
	if f.shared[key] == nil {
		f.shared[key] = make()
	}
	return f.shared[key]
}

func (f *fake) Object() string { return "a" }
func (f *fake) Thread() string { return "1" }

// user is the Env of another client in the process: it uses the lock object, in the thread.
type user struct {
	impls.Env
	object, thread string
}

func (u user) Object() string { return u.object }
func (u user) Thread() string { return u.thread }

// background runs the task until it ends or all exchanges are used up.
func (f *fake) background() { f.task(f.ctx) }

func (f *fake) Lost(why string)         { f.say("lost: " + why) }
func (f *fake) Renewed(d time.Duration) { f.say(fmt.Sprintf("good for %v", d)) }
func (f *fake) say(text string) {
	f.said = append(f.said, fmt.Sprintf("%v %s", f.clock.Sub(start), text))
}

// node is one of several servers: its name goes before what is sent to it.
type node struct {
	*fake
	name string
}

func (n node) Do(ctx context.Context, args ...any) (any, error) {
	return n.fake.Do(ctx, append([]any{n.name}, args...)...)
}

func (n node) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	return n.Do(ctx, evaluation(script, keys, args)...)
}

func (f *fake) Do(_ context.Context, args ...any) (any, error) {
	f.sent = append(f.sent, words(args...))
	if len(f.exchanges) == 0 {
		f.cancel()
		return nil, context.Canceled
	}
	next := f.exchanges[0]
	f.exchanges = f.exchanges[1:]
	if next.want != "" {
		assert.Equal(f.t, next.want, f.sent[len(f.sent)-1])
	}
	f.clock = f.clock.Add(next.takes)
	if next.meanwhile != nil {
		next.meanwhile()
	}
	if len(f.exchanges) == 0 && f.task != nil {
		defer f.cancel()
	}
	return next.reply, next.err
}

func (f *fake) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	return f.Do(ctx, evaluation(script, keys, args)...)
}

// evaluation sends a script as "EVAL" and what it is, by words that only it has.
func evaluation(script *impls.Script, keys []string, args []any) []any {
	name := "?"
	for _, known := range []struct{ words, name string }{
		{"LREM", "leave"}, {"RPUSH", "queue"}, {"wake()", "pass on"}, {"ZRANGE", "in turn"},
		{"HINCRBY\", KEYS[1], ARGV[2], 1", "count in"}, {"HINCRBY", "count out"}, {"HEXISTS", "expire counted"},
		{"INCR", "count"}, {"PEXPIRE", "expire"}, {"DEL", "delete"},
	} {
		if strings.Contains(strings.ReplaceAll(script.Source, `"`, ""), strings.ReplaceAll(known.words, `"`, "")) {
			name = known.name
			break
		}
	}
	return append([]any{"EVAL " + name, strings.Join(keys, " ")}, args...)
}

func (f *fake) Watch(ctx context.Context, keys []string, fn func(impls.Tx) error) error {
	if len(keys) == 0 {
		return fn(f)
	}
	if _, err := f.Do(ctx, "WATCH", strings.Join(keys, " ")); err != nil {
		return err
	}
	return fn(f)
}

// Exec takes an exchange for the whole transaction; the reply nil aborts it.
func (f *fake) Exec(ctx context.Context, commands ...impls.Command) ([]any, bool, error) {
	text := "EXEC"
	for _, command := range commands {
		text += " " + words(command...)
	}
	reply, err := f.Do(ctx, text)
	replies, done := reply.([]any)
	return replies, done, err
}

// Subscribe takes an exchange, and each message received another.
func (f *fake) Subscribe(ctx context.Context, channel string) (impls.Subscription, error) {
	_, err := f.Do(ctx, "SUBSCRIBE", channel)
	return f, err
}

func (f *fake) Receive(ctx context.Context) (string, error) {
	reply, err := f.Do(ctx, "receive")
	return fmt.Sprint(reply), err
}

func (f *fake) Close() { f.sent = append(f.sent, "close") }

func words(args ...any) string {
	text := make([]string, len(args))
	for i, arg := range args {
		text[i] = fmt.Sprint(arg)
	}
	return strings.Join(text, " ")
}

// takesTurn has a lock acquire and, if an outcome of the release is given, release, and compares what it sends.
func takesTurn(t *testing.T, name string, acquire, release history.Outcome, exchanges []exchange) {
	t.Helper()
	env := newFake(t, exchanges...)
	l := lock(t, name, env)
	assert.Equal(t, acquire, impls.Outcome(l.TryAcquire(t.Context())))
	if release != history.OutcomeNone {
		assert.Equal(t, release, impls.Outcome(l.Release(t.Context())))
	}
	assert.Empty(t, env.exchanges, "requests that were not sent")
	assert.Len(t, env.sent, len(exchanges), "requests that were not expected: %q", env.sent)
}
