package mylock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/scenarios"
)

func TestMain(m *testing.M) {
	lab.Serve(Spec())
	os.Exit(m.Run())
}

func TestScenarios(t *testing.T) {
	scripts, err := scenarios.Builtin("take-turns", "pause-past-lease")
	require.NoError(t, err)
	for _, world := range []lab.World{lab.Sim, lab.Live} {
		run, err := lab.RunScenarios(t.Context(), lab.Suite{Locks: []impls.Spec{Spec()}, Scenarios: scripts}, lab.Options{World: world})
		require.NoError(t, err)
		require.Equal(t, checker.Safe, run.Cells[0].Verdict.Kind)
		require.Contains(t, run.Cells[1].Verdict.Names(), checker.WrongfulDelete)
	}
}

// TestStorm: the storm is saved, and what it found becomes a short script.
func TestStorm(t *testing.T) {
	run, err := lab.RunStorms(t.Context(), lab.Storms{Locks: []impls.Spec{Spec()}, Seed: 1, Clients: 3, For: 5 * time.Second},
		lab.Options{Dir: filepath.Join(t.TempDir(), "storm")})
	require.NoError(t, err)
	require.Equal(t, lab.Surprise, run.Outcome(), "it broke what its card promises")
	script, err := run.Shrink(t.Context(), run.Cells[0], Spec())
	require.NoError(t, err)
	require.NotNil(t, script)
	require.LessOrEqual(t, len(script.Steps), 12)
}

// TestExploreUsual: what the card promises nothing of comes first, and does not end the search.
func TestExploreUsual(t *testing.T) {
	explored, err := lab.Explore(t.Context(), Spec(), lab.Bounds{})
	require.NoError(t, err)
	require.Equal(t, lab.Surprise, explored.Outcome)
	require.Contains(t, explored.Counterexample.Anomalies, checker.WrongfulDelete)
}

func TestExplore(t *testing.T) {
	explored, err := lab.Explore(t.Context(), Spec(), lab.Bounds{Anomalies: []checker.Name{checker.WrongfulDelete}})
	require.NoError(t, err)
	require.Equal(t, lab.Surprise, explored.Outcome, "it broke what its card promises")
	require.Len(t, explored.Counterexample.Faults, 1)
}
