package readme

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// TestWhatTheRunsSay plays each row in the model, which has no cluster and no ensemble. The page has the command, and what the run says of the
// row's anomalies.
func TestWhatTheRunsSay(t *testing.T) {
	r := readReviewed(t)
	var cases []lab.Case
	cells := map[[2]string]record.Cell{}
	for _, row := range troubles() {
		key := [2]string{row.scenario, row.lock}
		if _, twice := cells[key]; twice {
			continue
		}
		cells[key] = record.Cell{}
		script, ok := scenarios.Find(r.scripts, row.scenario)
		require.True(t, ok, row.scenario)
		spec, ok := impls.Find(row.lock)
		require.True(t, ok, row.lock)
		cases = append(cases, lab.Cases([]*scenarios.Script{script}, []play.Subject{play.SubjectOf(spec)}, 1, lab.Expect(r.matrix))...)
	}
	run, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{
		Setting: lab.Setting{World: lab.Sim}, Parallel: 2, Seed: 1, Results: lab.Results{Dir: filepath.Join(t.TempDir(), "run")},
	}})
	require.NoError(t, err)
	for _, c := range run.Cells {
		cells[[2]string{c.Scenario, c.Lock}] = c
	}
	var b strings.Builder
	b.WriteString("| from | trouble | the run | says |\n| --- | --- | --- | --- |\n")
	for _, row := range troubles() {
		verdict := cells[[2]string{row.scenario, row.lock}].Verdict
		if play.ServesOthers(verdict.Reason) {
			assert.Contains(t, []string{" --server " + live.Ensemble, " --server " + live.Cluster}, row.where(r), row.what)
			continue
		}
		var said []string
		for _, name := range row.names() {
			found := verdict.Anomalies
			n := slices.IndexFunc(found, func(a checker.Anomaly) bool { return a.Name == name })
			require.GreaterOrEqual(t, n, 0, "%q: the run of %s in %s shows no %s", row.what, row.lock, row.scenario, name)
			said = append(said, fmt.Sprintf("%s: %s", name, cell(found[n].Why)))
		}
		fmt.Fprintf(&b, "| %s | %s | `lab run %s --lock %s --world sim -v` | %s |\n", row.article, cell(row.what), row.scenario, row.lock, strings.Join(said, " "))
	}
	holdPart(t, "../../docs/troubles.md", fromRuns, b.String())
}
