package lab_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// TestOneRunHasADirectory: of several runs that are to write their results to one directory, one does.
func TestOneRunHasADirectory(t *testing.T) {
	for range needs.Count(t, "rounds", 3, 10) {
		dir := filepath.Join(t.TempDir(), "deep", "results")
		errs := make([]error, 3)
		var runs sync.WaitGroup
		start := make(chan struct{})
		for i := range errs {
			runs.Go(func() {
				plan := inSim(quick(t, 2))
				plan.Results = lab.Results{Dir: dir}
				<-start
				_, errs[i] = lab.Run(t.Context(), plan)
			})
		}
		close(start)
		runs.Wait()
		ran := 0
		for _, err := range errs {
			var refused *lab.DirError
			if err == nil {
				ran++
			} else {
				require.ErrorAs(t, err, &refused)
				assert.ErrorContains(t, err, "it holds the results of another run")
			}
		}
		assert.Equal(t, 1, ran)
		checked, err := lab.Check(t.Context(), dir, false, nil)
		require.NoError(t, err)
		assert.Empty(t, checked.Differs)
		left, err := filepath.Glob(filepath.Join(dir, "run.json?*"))
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// TestNamesOfDirectories: what a run is given by name must not lead out of its directory, or to a file of its own.
func TestNamesOfDirectories(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "run.json", "Report.HTML", "junit.xml", "histories.zip", "servers", "a\x1b[31m", "\xff"} {
		require.Error(t, lab.CheckName(name), "%q", name)
	}
	for _, name := range []string{"a", "a.b", "...", "run", "ein-ähnlicher Name"} {
		require.NoError(t, lab.CheckName(name), "%q", name)
	}
	plan := inSim(quick(t, 1))
	plan.Cases[0].Script.Name = ".."
	_, err := lab.Run(t.Context(), plan)
	require.Error(t, err)
	plan = inSim(quick(t, 1))
	plan.Cases[0].Subject = play.Subject{Name: "../lock"}
	_, err = lab.Run(t.Context(), plan)
	require.Error(t, err)

	plan = inSim(quick(t, 1))
	plan.Results.Dir = filepath.Join(t.TempDir(), "\xff")
	_, err = lab.Run(t.Context(), plan)
	var refused *lab.DirError
	require.True(t, errors.As(err, &refused), "%v", err)
}
