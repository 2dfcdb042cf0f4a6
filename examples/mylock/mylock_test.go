package mylock

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/lab"
)

func TestMain(m *testing.M) {
	lab.Serve(Spec())
	os.Exit(m.Run())
}

func TestScenarios(t *testing.T) {
	scripts, err := lab.Scenarios("take-turns", "pause-past-lease")
	require.NoError(t, err)
	for _, world := range []string{lab.Sim, lab.Live} {
		run, err := lab.Run(t.Context(), lab.Plan{
			Cases:   lab.Cases(scripts, lab.Subjects(Spec()), 1, lab.Expect(nil)),
			Options: lab.Options{Setting: lab.Setting{World: world}},
		})
		require.NoError(t, err)
		require.Equal(t, checker.Safe, run.Cells[0].Verdict.Kind)
		require.Contains(t, run.Cells[1].Verdict.Names(), checker.WrongfulDelete)
	}
}

func TestStorm(t *testing.T) {
	plan := lab.StormPlan{Subjects: lab.Subjects(Spec())}
	plan.Params.Seed, plan.Params.Clients, plan.Params.For, plan.Params.Faults = 1, 3, 5*time.Second, lab.StormFaults()
	run, err := lab.Storm(t.Context(), plan)
	require.NoError(t, err)
	require.NotNil(t, run.Cells[0].Storm.First, "no promise was broken")
}

// TestExploreUsual: what the card promises nothing of comes first, and does not end the search.
func TestExploreUsual(t *testing.T) {
	explored, err := lab.Explore(t.Context(), lab.ExplorePlan{Lock: Spec()})
	require.NoError(t, err)
	require.Equal(t, lab.Surprise, explored.Outcome())
	require.Contains(t, explored.Found.Anomalies, checker.WrongfulDelete)
}

func TestExplore(t *testing.T) {
	explored, err := lab.Explore(t.Context(), lab.ExplorePlan{Lock: Spec(), Only: []checker.Name{checker.WrongfulDelete}})
	require.NoError(t, err)
	require.Equal(t, lab.Surprise, explored.Outcome(), "it broke what its card promises")
	require.Len(t, explored.Found.Faults, 1)
}
