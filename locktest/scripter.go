package locktest

import (
	"context"
	"encoding"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// scripter is a redis.Scripter whose commands reach a server without a connection. It never sends one twice.
type scripter struct {
	client *redis.Client // makes the commands, and sends none
	ask    func(ctx context.Context, words ...string) (any, error)
}

func (s scripter) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return s.run(ctx, s.client.Pipeline().Eval(ctx, script, keys, args...))
}

func (s scripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return s.run(ctx, s.client.Pipeline().EvalSha(ctx, sha, keys, args...))
}

func (s scripter) EvalRO(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return s.run(ctx, s.client.Pipeline().EvalRO(ctx, script, keys, args...))
}

func (s scripter) EvalShaRO(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return s.run(ctx, s.client.Pipeline().EvalShaRO(ctx, sha, keys, args...))
}

func (s scripter) ScriptExists(ctx context.Context, hashes ...string) *redis.BoolSliceCmd {
	cmd := s.client.Pipeline().ScriptExists(ctx, hashes...)
	value, err := s.do(ctx, cmd)
	if cmd.SetErr(err); err != nil {
		return cmd
	}
	var known []bool
	for _, one := range value.([]any) {
		known = append(known, one == int64(1))
	}
	cmd.SetVal(known)
	return cmd
}

func (s scripter) ScriptLoad(ctx context.Context, script string) *redis.StringCmd {
	cmd := s.client.Pipeline().ScriptLoad(ctx, script)
	value, err := s.do(ctx, cmd)
	if cmd.SetErr(err); err == nil {
		cmd.SetVal(value.(string))
	}
	return cmd
}

func (s scripter) run(ctx context.Context, cmd *redis.Cmd) *redis.Cmd {
	value, err := s.do(ctx, cmd)
	cmd.SetErr(err)
	cmd.SetVal(value)
	return cmd
}

// do is the value of a reply. The error is one of the server, redis.Nil, or that no reply has come.
func (s scripter) do(ctx context.Context, cmd redis.Cmder) (any, error) {
	words := make([]string, 0, len(cmd.Args()))
	for _, arg := range cmd.Args() {
		word, err := wordOf(arg)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	value, err := s.ask(ctx, words...)
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		return nil, redis.Nil
	case error:
		return nil, v
	}
	return value, nil
}

// pointed is what a pointer points to that go-redis takes; nil: arg is none.
func pointed(arg any) any {
	switch p := arg.(type) {
	case *string:
		return orZero(p)
	case *bool:
		return orZero(p)
	case *int:
		return orZero(p)
	case *int8:
		return orZero(p)
	case *int16:
		return orZero(p)
	case *int32:
		return orZero(p)
	case *int64:
		return orZero(p)
	case *uint:
		return orZero(p)
	case *uint8:
		return orZero(p)
	case *uint16:
		return orZero(p)
	case *uint32:
		return orZero(p)
	case *uint64:
		return orZero(p)
	case *uintptr:
		return orZero(p)
	case *float32:
		return orZero(p)
	case *float64:
		return orZero(p)
	case *time.Time:
		return orZero(p)
	case *time.Duration:
		return orZero(p)
	}
	return nil
}

func orZero[T any](pointer *T) any {
	var value T
	if pointer != nil {
		value = *pointer
	}
	return value
}

// wordOf is an argument as go-redis sends it.
func wordOf(arg any) (string, error) {
	if value := pointed(arg); value != nil {
		return wordOf(value)
	}
	switch v := arg.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case bool:
		if v {
			return "1", nil
		}
		return "0", nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 64), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	case time.Duration:
		return strconv.FormatInt(v.Nanoseconds(), 10), nil
	case encoding.BinaryMarshaler:
		b, err := v.MarshalBinary()
		return string(b), err
	case net.IP:
		return string(v), nil
	case int8, int16, int32, uint, uint8, uint16, uint32, uint64, uintptr:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("redis: can't marshal %T (implement encoding.BinaryMarshaler)", arg)
}
