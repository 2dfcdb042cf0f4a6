package readme

import (
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
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// onlyNilLost never reaches the GETSET that both-read-nil holds.
const onlyNilLost = "getset-nil-lost/nil-lost+nil-expired without nil-expired"

// TestTroublesAreThoseOfTheirBugs: a row that names bugs of a lock is about each of them. Without any one of these, the scenario is played
// to its end and shows none of the row's anomalies.
func TestTroublesAreThoseOfTheirBugs(t *testing.T) {
	r := readReviewed(t)
	var cases []lab.Case
	rows := map[[2]string]find.Trouble{}
	for _, row := range find.Troubles() {
		base, bugs, named := strings.Cut(row.Lock, "/")
		if !named {
			continue
		}
		script, ok := scenarios.Find(r.scripts, row.Scenario)
		require.True(t, ok, row.Scenario)
		for _, bug := range strings.Split(bugs, "+") {
			spec := withoutBug(t, base, bugs, bug)
			key := [2]string{row.Scenario, spec.Name}
			if _, twice := rows[key]; !twice {
				cases = append(cases, lab.Cases([]*scenarios.Script{script}, []play.Subject{play.SubjectOf(spec)}, 1, lab.Expect(r.matrix))...)
			}
			rows[key] = row
		}
	}
	run, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{
		Setting: lab.Setting{World: lab.Sim}, Parallel: 2, Seed: 1, Results: lab.Results{Dir: filepath.Join(t.TempDir(), "run")},
	}})
	require.NoError(t, err)
	require.Len(t, run.Cells, len(rows))
	for _, cell := range run.Cells {
		row, verdict := rows[[2]string{cell.Scenario, cell.Lock}], cell.Verdict
		if cell.Scenario == "both-read-nil" && cell.Lock == onlyNilLost {
			assert.Equal(t, checker.NotApplicable, verdict.Kind, "without the bug no GETSET follows nil from GET")
			continue
		}
		assert.Contains(t, []checker.Kind{checker.Safe, checker.Broken}, verdict.Kind, "%s: %s in %s", row.What, cell.Lock, cell.Scenario)
		for _, name := range row.Names() {
			assert.NotContains(t, verdict.Names(), name, "%s: %s in %s", row.What, cell.Lock, cell.Scenario)
		}
	}
}

// withoutBug is a lock with the bugs, which are separated by +, but one.
func withoutBug(t *testing.T, lock, bugs, without string) impls.Spec {
	t.Helper()
	spec, found := impls.Find(lock)
	require.True(t, found, lock)
	rest := slices.DeleteFunc(strings.Split(bugs, "+"), func(bug string) bool { return bug == without })
	open := spec.New
	spec.Name += "/" + bugs + " without " + without
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
		opts.Bugs = rest
		return open(env, opts)
	}
	return spec
}

// TestWhatNoRunShows: the page says of some bugs that no run shows them. Where a scenario has their name, its verdict must agree.
func TestWhatNoRunShows(t *testing.T) {
	const scenario, lock = "spent-retries", "watchdog-published/spent-retries"
	_, text, _ := strings.Cut(pageText(t, "../../docs/troubles.md"), "## What no run shows")
	assert.Contains(t, text, "With `"+lock+"` the scenario of that name is n/a.")
	r := readReviewed(t)
	assert.Equal(t, checker.NotApplicable, r.verdict(scenario, lock).Kind)
	for _, row := range find.Troubles() {
		_, bugs, _ := strings.Cut(row.Lock, "/")
		assert.NotContains(t, strings.Split(bugs, "+"), scenario, "%s: there is a run that shows it; say so", row.What)
	}
}
