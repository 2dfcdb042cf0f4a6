package lab_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/scenarios"
)

// TestCheckAKilledRunWithoutACluster: a lab that was killed has written what the table says of a cell, which was on a cluster, and no verdict. Its
// history says that there was none.
func TestCheckAKilledRunWithoutACluster(t *testing.T) {
	scripts, err := scenarios.Builtin("slot-migrates-while-held")
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	spec, _ := impls.Find("setpx-lua")
	cases := lab.Cases(scripts, lab.Subjects(spec), 1, lab.Expect(matrix))
	plan := inSim(cases)
	plan.Results = lab.Results{Dir: filepath.Join(t.TempDir(), "run")}
	run, err := lab.Run(t.Context(), plan)
	require.NoError(t, err)
	require.Equal(t, record.ByNeeds, run.Cells[0].Expected.By)

	run.Finished = false
	run.Cells[0].Verdict, run.Cells[0].Expected = checker.Verdict{}, cases[0].Expected
	require.Equal(t, record.ByMatrix, run.Cells[0].Expected.By)
	require.NoError(t, rundir.WriteRun(run.Dir, run))
	checked, err := lab.Check(t.Context(), run.Dir, false, nil)
	require.NoError(t, err)
	require.Len(t, checked.Run.Cells, 1)
	assert.Equal(t, record.ByNeeds, checked.Run.Cells[0].Expected.By)
	assert.False(t, checked.Run.Cells[0].Surprise(), checked.Run.Cells[0].Verdict)
}
