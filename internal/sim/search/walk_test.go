package search_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/sim/search"
)

// walk begins a walk with a lock, and one fault of each kind.
func walk(t *testing.T, config search.Config) *search.Walk {
	t.Helper()
	w, err := search.NewWalk(config)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

// Whatever the search finds can be walked to, step by step: the choices make the same trace, with the same verdict.
func TestWalkToWhatTheSearchFinds(t *testing.T) {
	t.Parallel()
	locks := impls.Explored()
	for _, lock := range locks[:needs.Count(t, "locks", 5, len(locks))] {
		config := search.Config{Lock: lock, Clients: 2, Budget: search.Any(lock, 1), MostFaults: 1, States: 100_000}.Usual()
		result, err := search.Search(t.Context(), config)
		require.NoError(t, err, lock.Name)
		if result.Found == nil {
			continue
		}
		w := walk(t, config)
		choices, err := w.Follow(result.Found)
		require.NoError(t, err, lock.Name)
		place, err := w.Go(choices)
		require.NoError(t, err, lock.Name)
		assert.Equal(t, result.Found.Verdict.Names(), place.Trace.Verdict.Names(), lock.Name)
		assert.Equal(t, result.Found.Steps, place.Trace.Steps, lock.Name)
	}
}

// A step back is the same walk with a choice less, and a choice that there is not is an error. Each client says at which line of the lock it waits.
func TestWalkFromChoiceToChoice(t *testing.T) {
	t.Parallel()
	lock, _ := impls.Find("setpx-del")
	w := walk(t, search.Config{Lock: lock, Clients: 2, Budget: search.Budget{faults.Pause: 1}}.Usual())
	first, err := w.Go(nil)
	require.NoError(t, err)
	require.Len(t, first.Choices, 2, "each client can call acquire")
	called, err := w.Go([]string{"call.0.0"})
	require.NoError(t, err)
	assert.Regexp(t, `^setpx\w*\.go:\d+$`, called.Sites[0][0])
	back, err := w.Go(nil)
	require.NoError(t, err)
	assert.Equal(t, first, back)
	_, err = w.Go([]string{"serve.0.0"})
	require.ErrorIs(t, err, search.ErrNoChoice)
}
