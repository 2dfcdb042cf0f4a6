package sim

import (
	"context"
	"slices"
	"strconv"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// asking has a server carry out commands in a row, and returns its replies. By it, code that is written for impls.Server uses one.
type asking func(ctx context.Context, commands ...[]string) ([]service.Reply, error)

// last is the last reply, in the terms of impls.Server.
func (ask asking) last(ctx context.Context, script bool, commands ...[]string) (any, error) {
	replies, err := ask(ctx, commands...)
	if err != nil {
		return nil, err
	}
	return process.Value(replies[len(replies)-1], script)
}

func (ask asking) Do(ctx context.Context, args ...any) (any, error) {
	return ask.last(ctx, false, words(args))
}

func (ask asking) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	return ask.last(ctx, true, slices.Concat([]string{"EVAL", script.Source, strconv.Itoa(len(keys))}, keys, words(args)))
}

// watch is impls.Server's Watch, on a connection that nobody else uses.
func (ask asking) watch(ctx context.Context, keys []string, fn func(impls.Tx) error) error {
	if len(keys) > 0 {
		if _, err := ask.last(ctx, false, append([]string{"WATCH"}, keys...)); err != nil {
			return err
		}
	}
	return fn(ask)
}

// Exec has commands carried out as one.
func (ask asking) Exec(ctx context.Context, commands ...impls.Command) (replies []any, done bool, err error) {
	row := [][]string{{"MULTI"}}
	for _, command := range commands {
		row = append(row, words(command))
	}
	value, err := ask.last(ctx, true, append(row, []string{"EXEC"})...)
	list, done := value.([]any)
	return list, done, err
}
