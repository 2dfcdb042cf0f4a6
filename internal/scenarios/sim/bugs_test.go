package sim_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// TestEachBugIsShown: for each bug of each lock the matrix has a cell whose verdict is another one without that bug. Cells with one bug only
// are preferred; some bugs do harm only together with others. No cell with an anomaly names a bug that it does without.
func TestEachBugIsShown(t *testing.T) {
	needs.Long(t, "plays every lock with and without its bugs")
	harmless := map[string]string{ // to give up early is no anomaly
		"watchdog-published/spent-retries": "spent-retries: n/a: C2's acquire returned no without a SET number 2, without: safe",
	}
	run := playedWithAndWithout(t)
	for _, spec := range impls.Every() {
		for _, bug := range spec.Bugs {
			name := spec.Name + "/" + bug.Name
			if cell, none := harmless[name]; none {
				assert.Equal(t, []string{cell}, run.cells[name])
				continue
			}
			assert.True(t, run.shown[name], "%s: %v", name, run.cells[name])
		}
	}
	assert.Empty(t, run.idle)
}

// shownBugs are the bugs that a cell shows, all cells that might, and those with an anomaly that is there without the bug, too.
type shownBugs struct {
	shown map[string]bool
	cells map[string][]string
	idle  []string
}

// playedWithAndWithout plays each cell of the matrix with some bugs in the model, and again without each of these.
func playedWithAndWithout(t *testing.T) shownBugs {
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	var cases []lab.Case
	for _, script := range scripts {
		var subjects []play.Subject
		for _, name := range matrix.Variants(script.Name) {
			for _, bugs := range append(without(name), chosen(name)) {
				if spec := with(t, name, bugs); !slices.ContainsFunc(subjects, func(s play.Subject) bool { return s.Name == spec.Name }) {
					subjects = append(subjects, play.SubjectOf(spec))
				}
			}
		}
		cases = append(cases, lab.Cases([]*scenarios.Script{script}, subjects, 1, lab.Expect(matrix))...)
	}
	run, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{
		Setting: lab.Setting{World: lab.Sim}, Parallel: 2, Seed: 1, Results: lab.Results{Dir: filepath.Join(t.TempDir(), "run")},
	}})
	require.NoError(t, err)
	verdicts := map[[2]string]checker.Verdict{}
	for _, cell := range run.Cells {
		verdicts[[2]string{cell.Scenario, cell.Lock}] = cell.Verdict
	}
	result := shownBugs{shown: map[string]bool{}, cells: map[string][]string{}}
	for _, script := range scripts {
		for _, name := range matrix.Variants(script.Name) {
			base, _, _ := strings.Cut(name, "/")
			for i, bugs := range without(name) {
				bug, on := base+"/"+chosen(name)[i], verdicts[[2]string{script.Name, with(t, name, chosen(name)).Name}]
				off := verdicts[[2]string{script.Name, with(t, name, bugs).Name}]
				cell, same := script.Name+": "+on.String()+", without: "+off.String(), slices.Equal(on.Names(), off.Names())
				result.cells[bug] = append(result.cells[bug], cell)
				decided := on.Kind == checker.Broken && (off.Kind == checker.Broken || off.Kind == checker.Safe)
				result.shown[bug] = result.shown[bug] || decided && !same
				if on.Kind == checker.Broken && same {
					result.idle = append(result.idle, bug+" in "+cell)
				}
			}
		}
	}
	return result
}

// chosen are the bugs in the name of a variant.
func chosen(name string) []string {
	_, bugs, _ := strings.Cut(name, "/")
	return strings.Split(bugs, "+")
}

// without has the bugs of a variant without the first, without the second, and so on.
func without(name string) (rest [][]string) {
	for i := range chosen(name) {
		rest = append(rest, slices.Delete(chosen(name), i, i+1))
	}
	return rest
}

// with is a variant's lock with the given bugs only, or with none.
func with(t *testing.T, name string, bugs []string) impls.Spec {
	base, _, _ := strings.Cut(name, "/")
	spec, found := impls.Find(base)
	require.True(t, found, name)
	open := spec.New
	spec.Name = base + "/" + strings.Join(bugs, "+")
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
		opts.Bugs = append([]string{}, bugs...)
		return open(env, opts)
	}
	return spec
}
