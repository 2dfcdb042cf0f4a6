package sim_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// suite are all scenarios that come with the lab with all locks, and the variants that the matrix has.
func suite(t *testing.T) []lab.Case {
	t.Helper()
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	var cases []lab.Case
	for _, script := range scripts {
		var subjects []play.Subject
		for _, spec := range slices.Concat(impls.All(), impls.OnZooKeeper()) {
			subjects = append(subjects, play.SubjectOf(spec))
		}
		for _, name := range matrix.Variants(script.Name) {
			spec, found := impls.Find(name)
			require.True(t, found, name)
			subjects = append(subjects, play.SubjectOf(spec))
		}
		cases = append(cases, lab.Cases([]*scenarios.Script{script}, subjects, 1, lab.Expect(matrix))...)
	}
	if parts := needs.Count(t, "parts of the suite", 1, 40); parts == 1 && !*update {
		return lab.Shard{Index: 1, Of: 40}.Cases(cases)
	}
	return cases
}

// run runs the suite. It returns its cells and their histories.
func run(t *testing.T, parallel int, seed int64) (*record.Run, *lab.Histories) {
	t.Helper()
	cases := suite(t)
	run, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{
		Setting: lab.Setting{World: lab.Sim}, Parallel: parallel, Seed: seed, Results: lab.Results{Dir: filepath.Join(t.TempDir(), "run")},
	}})
	require.NoError(t, err)
	require.Len(t, run.Cells, len(cases))
	histories := lab.HistoriesOf(run)
	t.Cleanup(func() { require.NoError(t, histories.Close()) })
	return run, histories
}

// TestSuite runs the whole suite in the model. The matrix was reviewed for the live world, and holds here with two exceptions: the model has no
// ensemble and no cluster. A second run, in another order, writes the same histories, and they are those of testdata/histories.sum.
func TestSuite(t *testing.T) {
	one, histories := run(t, 2, 1)
	t.Run("histories are frozen", func(t *testing.T) { areFrozen(t, one, histories) })
	_, others := run(t, 1, 2)
	for _, cell := range one.Cells {
		by := record.ByMatrix
		if strings.HasPrefix(cell.Scenario, "ensemble-") || strings.HasPrefix(cell.Scenario, "slot-migrates-") {
			by = record.ByNeeds
		}
		assert.Equal(t, by, cell.Expected.By, cell.Dir)
		assert.Empty(t, cell.Failure, cell.Dir)
		assert.NotEqual(t, checker.Undecided, cell.Verdict.Kind, "%s: %s", cell.Dir, cell.Verdict)
		assert.False(t, cell.Surprise(), "%s: %s\nexpected %s", cell.Dir, cell.Verdict, cell.Expected.Verdict)
		events, err := histories.Read(cell)
		require.NoError(t, err)
		again, err := others.Read(cell)
		require.NoError(t, err)
		if !reflect.DeepEqual(events, again) {
			t.Errorf("the two histories of %s differ", cell.Dir)
		}
	}
}
