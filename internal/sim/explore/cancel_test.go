package explore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
)

// TestCancel: a search that is cancelled expands no further state, and one that is cancelled already expands none.
func TestCancel(t *testing.T) {
	for _, after := range []int{0, 1, 700} {
		x := newExplorer(Config{
			Lock: lock(t, "getset"), Clients: 3, Rounds: 1, Budget: Budget{faults.Pause: 1}, MostFaults: 1, Only: []checker.Name{checker.FenceRegression},
		}, traits{reads: true, walls: true, nominal: true})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cancelled := -1 // how many states had been expanded by then
		x.visited = func(form) {
			if cancelled < 0 && x.visits >= after {
				cancelled = x.visits
				cancel()
			}
		}
		defer x.automaton.Close()
		require.ErrorIs(t, x.search(ctx), context.Canceled)
		require.Equal(t, cancelled, x.visits, "cancelled after %d states", cancelled)
	}
}
