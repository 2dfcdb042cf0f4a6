package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/locktest"
)

// TestDoFailsLikeAConnection: what a lock comes to know of a message that is lost is the same in-process.
func TestDoFailsLikeAConnection(t *testing.T) {
	errorsOf := func(by func(locktest.Env) redis.Scripter) map[string]bool {
		var mu sync.Mutex
		seen := map[string]bool{}
		subject := scriptLock(true, by)
		original := subject.New
		subject.New = func(env locktest.Env) (locktest.Lock, error) {
			lock, err := original(env)
			return noting{lock, func(err error) {
				mu.Lock()
				seen[fmt.Sprintf("%T %v", err, err)] = true
				mu.Unlock()
			}}, err
		}
		locktest.Explore(t, subject, locktest.Search{Seed: 1, Schedules: needs.Count(t, "schedules", 100, 500), For: time.Minute})
		return seen
	}
	wire := errorsOf(overTheWire)
	require.Len(t, wire, 2, "a connection that breaks, and a time-out")
	assert.Equal(t, wire, errorsOf(inProcess))
}

// noting is a lock that notes the errors of its acquires.
type noting struct {
	locktest.Lock
	note func(error)
}

func (n noting) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := n.Lock.TryAcquire(ctx)
	if err != nil {
		n.note(err)
	}
	return ok, err
}

func overTheWire(env locktest.Env) redis.Scripter { return connect(env) }

// inProcess is a client of go-redis whose commands are not sent on a connection.
func inProcess(env locktest.Env) redis.Scripter {
	client := connect(env)
	client.AddHook(doHook{env.Do})
	return client
}

type doHook struct {
	do func(context.Context, ...any) (any, error)
}

func (doHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (doHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h doHook) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		value, err := h.do(ctx, cmd.Args()...)
		if err == nil && value == nil {
			err = redis.Nil
		}
		cmd.(*redis.Cmd).SetVal(value)
		cmd.SetErr(err)
		return err
	}
}

type name string

func (n name) MarshalBinary() ([]byte, error) { return []byte("binary " + n), nil }

// TestDoAnswersLikeAConnection: a script comes to the same value, or error, in-process and over go-redis's own connection.
func TestDoAnswersLikeAConnection(t *testing.T) {
	type script struct {
		source string
		args   []any
	}
	scripts := []script{
		{source: `return 7`},
		{source: `return "text"`},
		{source: `return redis.status_reply("OK")`},
		{source: `return redis.error_reply("MINE it is")`},
		{source: `return false`},
		{source: `return true`},
		{source: `return {1, "two", {3, false}}`},
		{source: `return {}`},
		{source: `redis.call("SET", KEYS[1], "text") return redis.call("LPUSH", KEYS[1], "element")`},
		{source: `return`},
		{source: `no Lua`},
		{`return ARGV`, []any{"text", 1, int64(-2), uint8(3), 1.5, float32(0.25), 1e21, true, false, []byte("bytes"), nil, time.Second, name("n")}},
		{`return ARGV`, []any{time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}},
		{`return ARGV`, []any{[]string{"a", "b"}}},
		{`return ARGV`, []any{[]any{"a", 2}}},
		{`return ARGV`, []any{struct{}{}}},
		{`return ARGV`, []any{struct{}{}, 1}},
		{`return redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])`, []any{"value", 1000}},
		{`return {KEYS[1], redis.call("GET", KEYS[1]), redis.call("EXISTS", KEYS[1])}`, nil},
	}
	one, word, when, bytes := 1, "word", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), []byte("bytes")
	scripts = append(scripts,
		script{`return ARGV`, []any{&one, &word, &when, (*int)(nil), (*string)(nil), (*time.Time)(nil), (*time.Duration)(nil), uintptr(7)}},
		script{`return ARGV`, []any{&bytes, 1}}, script{`return ARGV`, []any{&struct{}{}, 1}},
	)
	compared := 0
	subject := locktest.Subject{Name: "orders", Promises: locktest.Lease, New: func(env locktest.Env) (locktest.Lock, error) {
		ctx, keys := context.Background(), []string{env.Name}
		compare := func(what string, do func(redis.Scripter) (any, error)) {
			theirs, theirErr := do(overTheWire(env))
			mine, myErr := do(inProcess(env))
			assert.Equal(t, theirs, mine, what)
			assert.Equal(t, errors.Is(theirErr, redis.Nil), errors.Is(myErr, redis.Nil), what)
			if theirErr != nil && assert.Error(t, myErr, what) {
				assert.Equal(t, theirErr.Error(), myErr.Error(), what)
				var known redis.Error
				assert.Equal(t, errors.As(theirErr, &known), errors.As(myErr, &known), what)
			} else {
				assert.Equal(t, theirErr, myErr, what)
			}
			compared++
		}
		for _, s := range scripts {
			script := redis.NewScript(s.source)
			compare("EVAL "+s.source, func(by redis.Scripter) (any, error) { return by.Eval(ctx, s.source, keys, s.args...).Result() })
			compare("EVALSHA "+s.source, func(by redis.Scripter) (any, error) { return by.EvalSha(ctx, script.Hash(), keys, s.args...).Result() })
			compare("run "+s.source, func(by redis.Scripter) (any, error) { return script.Run(ctx, by, keys, s.args...).Result() })
		}
		over, cancel := context.WithCancel(ctx)
		cancel()
		compare("a context that is over", func(by redis.Scripter) (any, error) {
			return by.Eval(over, `return redis.call("SET", KEYS[1], "late")`, keys).Result()
		})
		compare("what it has sent", func(by redis.Scripter) (any, error) {
			return by.Eval(ctx, `return redis.call("GET", KEYS[1])`, keys).Result()
		})
		return tokenLock(true).New(env)
	}}
	locktest.Explore(t, subject, locktest.Search{Schedules: 1, AtOnce: 1})
	require.Equal(t, 2*(3*len(scripts)+2), compared, "for two clients")
}

// scriptLock is tokenLock by scripts alone.
func scriptLock(careful bool, by func(locktest.Env) redis.Scripter) locktest.Subject {
	acquire := redis.NewScript(`if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end return 0`)
	release := compareAndDelete
	if !careful {
		release = redis.NewScript(`return redis.call("DEL", KEYS[1])`)
	}
	return locktest.Subject{Name: "orders", Promises: locktest.Lease, New: func(env locktest.Env) (locktest.Lock, error) {
		client, token, tries := by(env), "", 0
		return env.Lock(locktest.Funcs{
			TryLock: func(ctx context.Context) error {
				tries++
				mine := env.Client + string(rune('a'+tries%26))
				err := orRefused(acquire.Run(ctx, client, []string{env.Name}, mine, env.Lease.Milliseconds()).Int64())
				if !errors.Is(err, redis.Nil) {
					token = mine
				}
				return err
			},
			Unlock: func(ctx context.Context) error {
				return orRefused(release.Run(ctx, client, []string{env.Name}, token).Int64())
			},
			Refused: []error{redis.Nil},
		})
	}}
}

// TestDoInScenarios: what happens to messages happens to those that are no bytes, too.
func TestDoInScenarios(t *testing.T) {
	t.Run("every scenario", func(t *testing.T) { locktest.Run(t, scriptLock(true, inProcess)) })

	found := locktest.Explore(t, scriptLock(false, inProcess), locktest.Search{Seed: 1, For: time.Minute, Expect: []checker.Name{"wrongful-delete"}})
	require.NotEmpty(t, found.Findings)
	found = locktest.Explore(t, scriptLock(true, inProcess), locktest.Search{Seed: 1, Schedules: 300, For: 5 * time.Minute})
	assert.Equal(t, 300, found.Schedules)
	assert.Less(t, found.Unknown, 10)
}
