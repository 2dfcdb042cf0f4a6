package lab_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/scenarios"
)

// TestSuiteOfAll: without scenarios, all are run; a lock of the lab is compared with what was reviewed.
func TestSuiteOfAll(t *testing.T) {
	lock, ok := impls.Find("setnx-del")
	require.True(t, ok)
	run, err := lab.RunScenarios(t.Context(), lab.Suite{Locks: []impls.Spec{lock}}, lab.Options{})
	require.NoError(t, err)
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	require.Len(t, run.Cells, len(scripts))
	assert.Equal(t, lab.AsExpected, run.Outcome())
	assert.True(t, run.Finished)
}

// TestRepeated: each cell is run as often as was asked for, and saved.
func TestRepeated(t *testing.T) {
	scripts, err := scenarios.Builtin("take-turns")
	require.NoError(t, err)
	run, err := lab.RunScenarios(t.Context(), lab.Suite{Locks: []impls.Spec{ownLock()}, Scenarios: scripts, Repeat: 2}, lab.Options{Dir: t.TempDir() + "/run"})
	require.NoError(t, err)
	require.Len(t, run.Cells, 2)
	for i, cell := range run.Cells {
		assert.Equal(t, i+1, cell.Round)
		again, events, err := run.History(t.Context(), cell)
		require.NoError(t, err)
		assert.NotEmpty(t, events)
		assert.Equal(t, checker.Safe, again.Verdict.Kind)
	}
	_, err = run.Cell("mylock", "pause-past-lease")
	assert.EqualError(t, err, "the run has no cell of mylock in pause-past-lease among its 2")
}

// TestInterrupted: what is known so far is returned, and is unknown at best.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run, err := lab.RunScenarios(ctx, lab.Suite{Locks: []impls.Spec{ownLock()}}, lab.Options{})
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, run.Finished)
	assert.Equal(t, lab.Unknown, run.Outcome())
	assert.Equal(t, lab.Unknown, new(lab.Run).Outcome())
}

func TestMistakes(t *testing.T) {
	_, err := lab.RunScenarios(t.Context(), lab.Suite{Locks: []impls.Spec{ownLock()}}, lab.Options{World: "moon"})
	require.EqualError(t, err, `unknown world "moon"; there are live and sim`)
	_, err = lab.RunStorms(t.Context(), lab.Storms{Locks: []impls.Spec{ownLock()}}, lab.Options{World: lab.Sim})
	require.EqualError(t, err, "storms run in the live world, not in the sim world; remove Options.World")
	_, err = lab.ReadRun(t.TempDir())
	require.Error(t, err)
	_, err = lab.Explore(t.Context(), ownLock(), lab.Bounds{Clients: 99})
	require.Error(t, err)
}
