package sim_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/racing"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/sim"
)

// suite are all scenarios that come with the lab with all locks, and the variants that the matrix has.
func suite(t *testing.T) []cells.Case {
	t.Helper()
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	var cases []cells.Case
	for _, script := range scripts {
		var subjects []cells.Subject
		for _, spec := range impls.All() {
			subjects = append(subjects, cells.SubjectOf(spec, nil))
		}
		for _, name := range matrix.Variants(script.Name) {
			spec, found := impls.Find(name)
			require.True(t, found, name)
			subjects = append(subjects, cells.SubjectOf(spec, nil))
		}
		cases = append(cases, cells.Plan([]*scenarios.Script{script}, subjects, 1, cells.Expect(matrix, impls.All()))...)
	}
	if racing.Enabled {
		return cells.Shard(cases, 1, 8)
	}
	return cases
}

// quiet hears how a run goes on, and says nothing.
type quiet struct{}

func (quiet) CellStarted(cells.Case) error                       { return nil }
func (quiet) StormGoesOn(cells.Case, time.Duration, int64) error { return nil }
func (quiet) CellEnded(checker.Cell) error                       { return nil }

// run runs the suite, and returns its cells and where their histories are.
func run(t *testing.T, order cells.Order) ([]checker.Cell, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	world := sim.Open(sim.Config{Dir: dir, CellTimeout: time.Minute})
	cases := suite(t)
	ended, err := cells.RunAll(t.Context(), cases, order, quiet{}, world.Run)
	require.NoError(t, err)
	require.Len(t, ended, len(cases))
	return ended, dir
}

// TestSuite runs the whole suite in the model. The matrix was reviewed for the live world, and holds here without an exception. A
// second run, in another order, writes the same histories, byte for byte.
func TestSuite(t *testing.T) {
	ended, dir := run(t, cells.Order{Parallel: 2, Seed: 1})
	for _, cell := range ended {
		assert.Equal(t, checker.ByMatrix, cell.Expected.By, cell.Dir)
		assert.Empty(t, cell.Failure, cell.Dir)
		assert.NotEqual(t, checker.Undecided, cell.Verdict.Kind, "%s: %s", cell.Dir, cell.Verdict)
		assert.False(t, cell.Surprise(), "%s: %s\nexpected %s", cell.Dir, cell.Verdict, cell.Expected.Verdict)
	}
	_, again := run(t, cells.Order{Parallel: 1, Seed: 2})
	histories := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		one, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		other, err := os.ReadFile(filepath.Join(again, name))
		if string(one) != string(other) {
			t.Errorf("the two histories of %s differ", name)
		}
		histories++
		return err
	}))
	assert.Len(t, ended, histories)
}
