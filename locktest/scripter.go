package locktest

import (
	"context"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// scripter is a redis.Scripter whose commands reach a server without a connection. It never sends one twice.
type scripter struct {
	client *redis.Client // makes the commands, and sends none
	ask    func(ctx context.Context, args ...any) (any, error)
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
	args := cmd.Args()
	for i, arg := range args {
		if ip, is := arg.(net.IP); is { // the model's packages know no network
			args = slices.Clone(args)
			args[i] = []byte(ip)
		}
	}
	value, err := s.ask(ctx, args...)
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
