package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
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
	return cases
}

// TestSuiteComesOutAsReviewed runs the whole suite in the model. The matrix was reviewed for the live world; it holds here, too.
func TestSuiteComesOutAsReviewed(t *testing.T) {
	world := sim.Open(sim.Config{CellTimeout: time.Minute})
	for _, cs := range suite(t) {
		cell := world.Run(t.Context(), cs)
		require.Empty(t, cell.Failure, cell.Dir)
		assert.NotEqual(t, checker.Undecided, cell.Verdict.Kind, "%s: %s", cell.Dir, cell.Verdict)
		assert.False(t, cell.Surprise(), "%s: %s\nexpected %s", cell.Dir, cell.Verdict, cell.Expected.Verdict)
	}
}
