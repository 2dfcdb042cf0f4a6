package explore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A lock that goes by the first member of a set, or by the first field of a hash, holds only because the model lists them in one order.
func TestListsInNoOrder(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][2][]any{
		"members": {{"SADD", "clients"}, {"SMEMBERS", "clients"}},
		"fields":  {{"HSET", "clients"}, {"HGETALL", "clients"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			add, list := words[0], words[1]
			s := strange{only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
				for _, member := range []string{"a", "b"} {
					more := []any{member}
					if add[0] == "HSET" {
						more = append(more, 1)
					}
					if _, err := l.env.Server().Do(ctx, append(add[:2:2], more...)...); err != nil {
						return false, err
					}
				}
				all, err := l.env.Server().Do(ctx, list...)
				if err != nil {
					return false, err
				}
				if first := all.([]any)[0]; first != "a" {
					return l.take(ctx, l.env.Token())
				}
				return l.plain.TryAcquire(ctx)
			}, nil)}
			result := s.explore(t)
			require.Nil(t, result.Found)
			assert.Contains(t, result.Doubt, "lists in another order")
		})
	}
}
