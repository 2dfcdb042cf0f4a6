package lab_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// On the page of two runs each cell that differs has both of its histories, old beside new.
func TestTwoRunsAreAPage(t *testing.T) {
	scripts, err := scenarios.Builtin("take-turns", "pause-past-lease")
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	lock, _ := impls.Find("setpx-del")
	runs := [2]*record.Run{}
	for i := range runs {
		runs[i], err = lab.Run(t.Context(), lab.Plan{
			Cases:   lab.Cases(scripts[i:], []play.Subject{play.SubjectOf(lock)}, 1, lab.Expect(matrix)),
			Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Results: lab.Results{Dir: filepath.Join(t.TempDir(), "run")}},
		})
		require.NoError(t, err)
	}
	runs[0].Cells[1].Verdict = checker.Verdict{Kind: checker.Safe}
	path := filepath.Join(t.TempDir(), "diff.html")
	cells := []lab.CellName{{Lock: "setpx-del", Scenario: "pause-past-lease"}, {Lock: "setpx-del", Scenario: "take-turns"}}
	require.NoError(t, lab.WriteDiff(path, cells, runs[0], runs[1], page.Diff{Lead: "1 changed, 0 appeared, 1 disappeared; 0 the same"}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, want := range []string{"1 changed, 0 appeared, 1 disappeared", "safe → double-holder", "C1 was paused while its lease ended", "cells-1"} {
		assert.Contains(t, string(text), want)
	}
	assert.Error(t, lab.WriteDiff(t.TempDir(), cells, runs[0], runs[1], page.Diff{}), "a directory")
}
