package lab_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/scenarios"
)

// someCases are enough of the suite to be packed when they are run together, with surprises, of which each keeps a directory.
func someCases(t *testing.T, locks int) []lab.Case {
	t.Helper()
	scripts, err := scenarios.Builtin("take-turns", "pause-past-lease", "acquire-reply-lost", "clock-ahead")
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	expect := lab.Expect(matrix)
	cases := lab.Cases(scripts, lab.Subjects(impls.All()[:locks]...), 2, expect)
	cases[3].Expected = record.Expectation{Verdict: checker.Verdict{Kind: checker.NotApplicable}, By: record.ByMatrix} // a surprise
	return cases
}

// runSim runs cases in the model.
func runSim(t *testing.T, ctx context.Context, cases []lab.Case, shard lab.Shard, sink report.Sink) *record.Run {
	t.Helper()
	run, err := lab.Run(ctx, lab.Plan{Cases: cases, Options: lab.Options{
		Setting: lab.Setting{World: lab.Sim}, Shard: shard, Seed: 7, Sink: sink, Results: lab.Results{Dir: filepath.Join(t.TempDir(), "part")},
		Command: []string{"run", "--shard", shard.String(), "--world=sim"},
	}})
	if ctx.Err() == nil {
		require.NoError(t, err)
	}
	return run
}

// parts runs all parts of cases, and returns their directories, the last first.
func parts(t *testing.T, cases []lab.Case, of int) (dirs []string) {
	t.Helper()
	for index := of; index >= 1; index-- {
		dirs = append(dirs, runSim(t, t.Context(), cases, lab.Shard{Index: index, Of: of}, nil).Dir)
	}
	return dirs
}

// A merged run is that of the whole: the same cells in the same order, histories that are judged the same, and the same reports.
func TestMergedPartsAreTheWhole(t *testing.T) {
	cases := someCases(t, 13)
	require.Greater(t, len(cases), 100, "else nothing is packed")
	whole := runSim(t, t.Context(), cases, lab.Shard{}, nil)
	counts := []int{3, 1} // of three parts none is packed, and one part is
	for _, of := range counts[:needs.Count(t, "ways to part a run", 1, len(counts))] {
		merged, err := lab.Merge(t.Context(), parts(t, cases, of), lab.Results{Dir: filepath.Join(t.TempDir(), "whole")}, nil)
		require.NoError(t, err)
		assert.True(t, merged.Finished)
		assert.Nil(t, merged.Part)
		assert.Equal(t, []string{"run", "--world=sim"}, merged.Command)
		assert.Equal(t, lab.OutcomeOf(whole), lab.OutcomeOf(merged))
		assert.Equal(t, lab.Surprise, lab.OutcomeOf(merged))
		assert.Equal(t, untimed(whole.Cells), untimed(merged.Cells))
		for _, name := range []string{rundir.RunFile, rundir.JUnitFile, rundir.PageFile, lab.PackFile} {
			assert.FileExists(t, filepath.Join(merged.Dir, name))
		}
		assert.FileExists(t, lab.HistoryPath(merged, merged.Cells[3]), "a surprise is not packed")

		checked, err := lab.Check(t.Context(), merged.Dir, false, nil)
		require.NoError(t, err)
		assert.Empty(t, checked.Differs)
		assert.Len(t, checked.Run.Cells, len(cases))
		cell, file, err := lab.ReadCell(t.Context(), merged, merged.Cells[len(cases)-1])
		require.NoError(t, err)
		assert.NotEmpty(t, file.Events)
		assert.True(t, cell.Verdict.Same(whole.Cells[len(cases)-1].Verdict))

		_, err = lab.Merge(t.Context(), []string{merged.Dir}, lab.Results{}, nil)
		assert.ErrorContains(t, err, "not a part but a whole run")
	}
}

// untimed are cells without how long they took.
func untimed(cells []record.Cell) []record.Cell {
	out := make([]record.Cell, len(cells))
	for i, cell := range cells {
		out[i] = cell
		out[i].Took = 0
	}
	return out
}

// A part that was cut short makes a whole that is not finished, of which what was recorded can be judged.
func TestMergeAnInterruptedPart(t *testing.T) {
	cases := someCases(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	ended := 0
	cut := runSim(t, ctx, cases, lab.Shard{Index: 1, Of: 2}, sinkFunc(func(e report.Event) error {
		if e.Kind == report.CellEnd {
			ended++
			cancel()
		}
		return nil
	}))
	require.False(t, cut.Finished)
	other := runSim(t, t.Context(), cases, lab.Shard{Index: 2, Of: 2}, nil)
	merged, err := lab.Merge(t.Context(), []string{cut.Dir, other.Dir}, lab.Results{Dir: filepath.Join(t.TempDir(), "whole")}, nil)
	require.NoError(t, err)
	assert.False(t, merged.Finished)
	assert.Len(t, merged.Cells, len(cut.Cells)+len(other.Cells))
	checked, err := lab.Check(t.Context(), merged.Dir, false, nil)
	require.NoError(t, err)
	alone, err := lab.Check(t.Context(), cut.Dir, false, nil) // a cell in flight may have left a record
	require.NoError(t, err)
	assert.Len(t, checked.Run.Cells, len(alone.Run.Cells)+len(other.Cells))
	assert.NotEqual(t, lab.AsExpected, lab.OutcomeOf(checked.Run))
}

type sinkFunc func(report.Event) error

func (f sinkFunc) Handle(e report.Event) error { return f(e) }

// What does not make one whole is refused with one error, and nothing is written.
func TestMergeRefuses(t *testing.T) {
	cases := someCases(t, 2)
	second, first := func() (string, string) { dirs := parts(t, cases, 2); return dirs[0], dirs[1] }()
	third := parts(t, cases, 3)[0]
	fewer := parts(t, cases[:len(cases)-1], 2)[0]
	changed := func(change func(*record.Run)) string {
		run, err := lab.ReadRun(second)
		require.NoError(t, err)
		change(run)
		dir := t.TempDir()
		data, err := json.Marshal(run)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, rundir.RunFile), data, 0o600))
		return dir
	}
	gone := changed(func(*record.Run) {})
	for name, test := range map[string]struct {
		dirs []string
		want string
	}{
		"none":            {nil, "nothing to merge"},
		"one missing":     {[]string{second}, "part 1/2 is missing"},
		"one twice":       {[]string{first, second, first}, "overlap: both are part 1/2"},
		"of others":       {[]string{first, third}, "parts 1/2 and 3/3"},
		"other cells":     {[]string{first, fewer}, "other cells, scripts or flags; only --shard may differ"},
		"other seed":      {[]string{first, changed(func(r *record.Run) { r.Seed = 8 })}, `seed "7" and "8"`},
		"other server":    {[]string{first, changed(func(r *record.Run) { r.Server = "Redis 7" })}, `and "Redis 7"`},
		"other lab":       {[]string{first, changed(func(r *record.Run) { r.Lab = "v9" })}, `" and "v9"; run all parts by one build of the lab`},
		"no part":         {[]string{first, changed(func(r *record.Run) { r.Part = nil })}, "not a part but a whole run"},
		"places outside":  {[]string{first, changed(func(r *record.Run) { r.Part.Places[0] = 999 })}, "has been damaged"},
		"places twice":    {[]string{first, changed(func(r *record.Run) { r.Part.Places[0] = r.Part.Places[1] })}, "twice"},
		"too few cells":   {[]string{first, changed(func(r *record.Run) { r.Cells, r.Part.Places = r.Cells[1:], r.Part.Places[1:] })}, "of 16 cells"},
		"no history":      {[]string{first, gone}, "is missing; restore it, or run the part again"},
		"no run":          {[]string{first, t.TempDir()}, "no such file"},
		"index past many": {[]string{changed(func(r *record.Run) { r.Part.Index, r.Part.Of = 1<<40, 1<<41 })}, "part 1/2199023255552, 2/"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "whole")
			_, err := lab.Merge(t.Context(), test.dirs, lab.Results{Dir: dir}, nil)
			assert.ErrorContains(t, err, test.want)
			assert.NoDirExists(t, dir)
		})
	}
}
