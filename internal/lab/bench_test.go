package lab_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/bench/measure"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/figures"
)

// brief is a measurement of one lock.
func brief(t *testing.T, dir string) lab.BenchPlan {
	spec, found := impls.Find("setpx-lua")
	require.True(t, found)
	return lab.BenchPlan{
		Locks: &measure.LocksPlan{Locks: []impls.Spec{spec}, For: time.Millisecond, Rounds: 1, Clients: 2}, Server: measure.Embedded,
		Results: lab.Results{Dir: dir, Most: 2}, Command: []string{"bench", "locks"},
	}
}

// TestBench: a measurement is returned and kept, one in a directory, and old ones go.
func TestBench(t *testing.T) {
	beside := t.TempDir()
	for _, old := range []string{"bench-20200101-000000-0001", "bench-20200102-000000-0001", "20200101-000000-0001", "mine"} {
		require.NoError(t, os.Mkdir(filepath.Join(beside, old), 0o755))
		require.NoError(t, figures.Create(filepath.Join(beside, old), &bench.Record{Version: bench.Version}))
	}
	dir := filepath.Join(beside, lab.NewBenchID())
	record, err := lab.Bench(t.Context(), brief(t, dir))
	require.NoError(t, err)
	assert.True(t, record.Finished)
	assert.Equal(t, filepath.Base(dir), record.ID)
	assert.Contains(t, record.Server, "miniredis")
	assert.Equal(t, lab.AsExpected, lab.OutcomeOfBench(record))
	kept, err := figures.Read(dir)
	require.NoError(t, err)
	assert.Equal(t, record.Locks, kept.Locks)
	assert.FileExists(t, filepath.Join(dir, figures.Page))
	assert.NoDirExists(t, filepath.Join(beside, "bench-20200101-000000-0001"))
	assert.DirExists(t, filepath.Join(beside, "bench-20200102-000000-0001"))
	assert.DirExists(t, filepath.Join(beside, "20200101-000000-0001"))

	_, err = lab.Bench(t.Context(), brief(t, dir))
	var refused *lab.DirError
	require.ErrorAs(t, err, &refused)
}

// TestBenchWithoutFigures leaves nothing.
func TestBenchWithoutFigures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "results")
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	record, err := lab.Bench(ctx, brief(t, dir))
	require.Error(t, err)
	assert.True(t, record.Empty())
	assert.Equal(t, lab.Nothing, lab.OutcomeOfBench(record))
	assert.NoDirExists(t, filepath.Dir(dir))

	_, err = lab.Bench(t.Context(), lab.BenchPlan{Server: measure.Embedded})
	require.ErrorContains(t, err, "nothing to measure")
	plan := brief(t, "")
	plan.Server = "127.0.0.1:6379"
	_, err = lab.Bench(t.Context(), plan)
	require.ErrorContains(t, err, "unknown server")
}

func TestOutcomeOfBench(t *testing.T) {
	lost := &bench.Record{Updates: &bench.Updates{Rows: []bench.UpdatesRow{{Guarded: []bench.UpdatesCount{{Acked: 2, Lost: 1}}}}}}
	assert.Equal(t, lab.Surprise, lab.OutcomeOfBench(lost))
}
