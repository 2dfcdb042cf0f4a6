package explore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/explore"
)

// TestTokensComparedByOrder: clients of a lock that compares tokens by their order do not count as one. What it does is found, and played again.
func TestTokensComparedByOrder(t *testing.T) {
	spec := impls.Spec{
		Card: impls.Card{Name: "bully", Idea: "the smaller token wins", Needs: impls.OneServer},
		New:  func(env impls.Env, opts impls.Options) impls.Lock { return &bully{env: env, opts: opts} },
	}
	for _, most := range []int{0, 2} {
		result, err := explore.Explore(t.Context(), explore.Config{
			Lock: spec, Clients: 3, Rounds: 1, MostFaults: most, Budget: explore.Budget{faults.Pause: most, faults.Crash: most},
			Only: []checker.Name{checker.Overwrite},
		})
		require.NoError(t, err)
		assert.False(t, result.Symmetric)
		assert.Empty(t, result.Disputed)
		require.NotNil(t, result.Found)
		assert.Equal(t, []checker.Name{checker.Overwrite}, result.Found.Verdict.Names()[:1])
	}
}

// A card that says otherwise is refused, and does not end the search's own process.
func TestTokensThatAreSaidToBeEqual(t *testing.T) {
	spec := impls.Spec{
		Card: impls.Card{Name: "bully", Needs: impls.OneServer, EqualTokens: true},
		New:  func(env impls.Env, opts impls.Options) impls.Lock { return &bully{env: env, opts: opts} },
	}
	for _, only := range [][]checker.Name{{checker.Overwrite}, {checker.StuckLock}, nil} {
		_, err := explore.Explore(t.Context(), explore.Config{Lock: spec, Clients: 3, Rounds: 1, Only: only})
		assert.ErrorContains(t, err, "EqualTokens")
	}
}

type bully struct {
	env  impls.Env
	opts impls.Options
}

func (l *bully) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	reply, err := l.env.Server().Do(ctx, "SET", l.opts.Key, mine, "NX", "PX", l.opts.Lease.Milliseconds())
	if err != nil || reply == "OK" {
		return err == nil, err
	}
	theirs, err := l.env.Server().Do(ctx, "GET", l.opts.Key)
	if text, there := theirs.(string); err != nil || !there || mine >= text {
		return false, err
	}
	reply, err = l.env.Server().Do(ctx, "SET", l.opts.Key, mine, "PX", l.opts.Lease.Milliseconds())
	return err == nil && reply == "OK", err
}

func (l *bully) Release(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "DEL", l.opts.Key)
	return err == nil && reply == int64(1), err
}
