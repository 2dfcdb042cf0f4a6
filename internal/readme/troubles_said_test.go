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
	"github.com/locklab/locklab/internal/find"
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
	for _, row := range find.Troubles() {
		key := [2]string{row.Scenario, row.Lock}
		if _, twice := cells[key]; twice {
			continue
		}
		cells[key] = record.Cell{}
		script, ok := scenarios.Find(r.scripts, row.Scenario)
		require.True(t, ok, row.Scenario)
		spec, ok := impls.Find(row.Lock)
		require.True(t, ok, row.Lock)
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
	for _, row := range find.Troubles() {
		verdict := cells[[2]string{row.Scenario, row.Lock}].Verdict
		if play.ServesOthers(verdict.Reason) {
			script, _ := scenarios.Find(r.scripts, row.Scenario)
			assert.Contains(t, []string{live.Ensemble, live.Cluster}, find.Server(script, row.Lock), row.What)
			continue
		}
		var said []string
		for _, name := range row.Names() {
			found := verdict.Anomalies
			n := slices.IndexFunc(found, func(a checker.Anomaly) bool { return a.Name == name })
			require.GreaterOrEqual(t, n, 0, "%q: the run of %s in %s shows no %s", row.What, row.Lock, row.Scenario, name)
			said = append(said, fmt.Sprintf("%s: %s", name, cell(found[n].Why)))
		}
		fmt.Fprintf(&b, "| %s | %s | `lab run %s --lock %s --world sim -v` | %s |\n", row.Article, cell(row.What), row.Scenario, row.Lock, strings.Join(said, " "))
	}
	holdPart(t, "../../docs/tables/troubles.md", fromRuns, b.String())
}
