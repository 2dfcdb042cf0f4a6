package sim_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
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

// run runs cases. It returns their cells and histories.
func run(t *testing.T, cases []lab.Case) (*record.Run, *lab.Histories) {
	t.Helper()
	run, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{
		Setting: lab.Setting{World: lab.Sim}, Parallel: 2, Seed: 1, Results: lab.Results{Dir: filepath.Join(t.TempDir(), "run")},
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
	cases := suite(t)
	one, histories := run(t, cases)
	t.Run("histories are frozen", func(t *testing.T) { areFrozen(t, one, histories) })
	world := sim.Open(sim.Config{CellTimeout: time.Minute})
	for _, i := range rand.New(rand.NewPCG(2, 0)).Perm(len(one.Cells)) {
		cell, c := one.Cells[i], cases[i]
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
		again, err := world.Play(t.Context(), c.Subject, c.Script, "")
		require.NoError(t, err)
		if !reflect.DeepEqual(events, readBack(t, again)) {
			t.Errorf("the two histories of %s differ", cell.Dir)
		}
	}
}

// readBack has the events of a cell as they are read from its history.
func readBack(t *testing.T, played play.Played) []history.Event {
	t.Helper()
	if len(played.Events) == 0 {
		return nil
	}
	var b bytes.Buffer
	w, err := history.NewWriter(&b, played.Header)
	require.NoError(t, err)
	for _, e := range played.Events {
		require.NoError(t, w.Write(e))
	}
	file, err := history.Read(t.Context(), &b, "history")
	require.NoError(t, err)
	return file.Events
}
