package explore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
)

// literal is a lock that keeps a function literal, by which it asks the time.
type literal struct {
	plain
	clocks []struct{ now func() time.Duration }
}

func (l *literal) TryAcquire(ctx context.Context) (bool, error) {
	if l.clocks[0].now() < 0 {
		return false, nil
	}
	return l.plain.TryAcquire(ctx)
}

// named is the same lock as it should be written.
type named struct{ plain }

func (l *named) now() time.Duration { return l.env.Monotonic() }

func (l *named) TryAcquire(ctx context.Context) (bool, error) {
	if l.now() < 0 {
		return false, nil
	}
	return l.plain.TryAcquire(ctx)
}

// TestWhyNothingIsMerged: what a function has captured cannot be seen, so the result says which field has it, and what to write instead.
func TestWhyNothingIsMerged(t *testing.T) {
	for _, test := range []struct {
		lock func(plain) impls.Lock
		want string
	}{
		{func(p plain) impls.Lock { return &named{p} }, ""},
		{func(p plain) impls.Lock {
			return &literal{p, []struct{ now func() time.Duration }{{p.env.Monotonic}}}
		}, "explore.literal.clocks[0].now is a func() time.Duration: a function that may have captured variables; keep what it captures in fields, and make it a method or a function at the top level"},
	} {
		result, err := Explore(t.Context(), Config{
			Lock: impls.Spec{Card: impls.Card{Name: "literal", Needs: impls.OneServer}, New: func(env impls.Env, opts impls.Options) impls.Lock {
				return test.lock(plain{env: env, lease: opts.Lease})
			}},
			Clients: 1, Rounds: 2, States: 2000,
		})
		require.NoError(t, err)
		require.Equal(t, test.want, result.Unmerged)
	}
}
