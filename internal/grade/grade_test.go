package grade_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/grade"
	"github.com/locklab/locklab/internal/kits"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// TestLocksOfTheArticles: the lab's own locks, which make the same steps, survive the chapters that the exercises say, and no others. What becomes
// of clients is in TestExercises.
func TestLocksOfTheArticles(t *testing.T) {
	for _, test := range []struct {
		exercise, lock string
		fails          []int
	}{
		{"crash", "setnx-del", []int{3}},
		{"crash", "setpx-del", nil},
		{"late-expiry", "setnx-expire-norepair", []int{4}},
		{"late-expiry", "setnx-expire", []int{4}},
		{"late-expiry", "setpx-del", nil},
		{"plain-del", "setpx-del", []int{5}},
		{"plain-del", "setpx-getdel", nil},
		{"check-then-delete", "setpx-getdel", []int{6}},
		{"check-then-delete", "setpx-lua", nil},
		{"watchdog", "watchdog-published", []int{9}},
		{"watchdog", "redisson-watchdog", []int{9}},
		{"watchdog", "setpx-lua", []int{9}},
		{"watchdog", "watchdog", nil},
		{"fence", "setpx-lua", []int{10}},
		{"fence", "watchdog", []int{10}},
		{"fence", "fenced", nil},
	} {
		exercise, ok := grade.Find(test.exercise)
		require.True(t, ok, test.exercise)
		var fails []int
		for _, result := range exercise.Judge(played(t, exercise, test.lock)) {
			if result.Outcome != grade.Survived {
				fails = append(fails, result.Chapter.Number)
				assert.NotEmpty(t, result.Why)
			}
		}
		assert.Equal(t, test.fails, fails, "%s in %s", test.lock, test.exercise)
	}
}

// played are the cells of a built-in lock in the scenarios of an exercise.
func played(t *testing.T, exercise grade.Exercise, lock string) []record.Cell {
	t.Helper()
	spec, ok := impls.Find(lock)
	require.True(t, ok, lock)
	scripts, err := exercise.Scripts()
	require.NoError(t, err)
	run, err := lab.Run(t.Context(), lab.Plan{Cases: lab.Cases(scripts, []play.Subject{play.SubjectOf(spec)}, 1, anything), Options: lab.Options{Setting: lab.Setting{World: lab.Sim}}})
	require.NoError(t, err)
	return run.Cells
}

// anything is expected of a cell.
func anything(*scenarios.Script, play.Subject) record.Expectation { return record.Expectation{} }

// TestWhatIsNotShownIsNotSurvived: only what was seen to go well counts.
func TestWhatIsNotShownIsNotSurvived(t *testing.T) {
	exercise, _ := grade.Find("crash")
	judge := func(change func(*record.Cell)) grade.Result {
		cells := []record.Cell{
			{Scenario: "take-turns", Verdict: checker.Verdict{Kind: checker.Safe}},
			{Scenario: "holder-crashes", Verdict: checker.Verdict{Kind: checker.Safe}},
		}
		change(&cells[1])
		results := exercise.Judge(cells)
		require.Len(t, results, 2)
		assert.Equal(t, grade.Survived, results[0].Outcome)
		assert.Equal(t, results[1].Outcome, grade.Worst(results))
		return results[1]
	}
	assert.Equal(t, grade.Survived, judge(func(*record.Cell) {}).Outcome)
	assert.Equal(t, grade.Undecided, judge(func(c *record.Cell) { c.Scenario = "another" }).Outcome)
	for verdict, want := range map[*checker.Verdict]grade.Outcome{
		{Kind: checker.Undecided, Reason: "C1 was refused"}:                                        grade.Failed,
		{Kind: checker.NotApplicable, Reason: "the lock has no lease"}:                             grade.Failed,
		{Kind: checker.NotApplicable, Reason: "C1's acquire returned ok without a write number 2"}: grade.Failed, // nothing of this chapter needs two
		{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.DoubleHolder}}}:         grade.Failed,
	} {
		result := judge(func(c *record.Cell) { c.Verdict, c.Finding = *verdict, "two clients" })
		assert.Equal(t, want, result.Outcome, verdict)
		assert.NotEmpty(t, result.Why)
		assert.Equal(t, result.Trial.Hint, result.Hint())
	}
	unfenced := judge(func(c *record.Cell) {
		c.Verdict = checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.FenceRegression}}}
	})
	assert.NotEqual(t, unfenced.Trial.Hint, unfenced.Hint())
	stalled := judge(func(c *record.Cell) {
		c.Verdict, c.Stalls = checker.Verdict{Kind: checker.Undecided, Reason: "stalled"}, []string{"stalled"}
	})
	assert.Equal(t, grade.Undecided, stalled.Outcome)
}

// TestExercisesAreWhole: each has its task and its broken lock in each language, a name of its own, and a hint for each trial that names no command.
func TestExercisesAreWhole(t *testing.T) {
	for _, exercise := range grade.Exercises() {
		task, err := exercise.Task()
		require.NoError(t, err)
		assert.Contains(t, string(task), "lab grade "+exercise.Name+" --new ")
		assert.Contains(t, string(task), "**Mend it**")
		for _, language := range grade.Languages() {
			files, err := exercise.Files(language)
			require.NoError(t, err)
			kit, ok := kits.Find(language)
			require.True(t, ok)
			assert.Contains(t, files, kit.Lock)
			assert.Contains(t, files, "README.md")
		}
		chapters := exercise.Chapters()
		assert.NotEmpty(t, chapters)
		for _, chapter := range chapters {
			for _, trial := range chapter.Trials {
				assert.NotEmpty(t, trial.Hint, trial.Scenario)
				for _, spoiler := range []string{"SET ", "NX", "PX", "EVAL", "Lua", "INCR", "WATCH", "script"} {
					assert.False(t, strings.Contains(trial.Hint, spoiler), "%s: %s", trial.Scenario, spoiler)
				}
			}
		}
	}
	_, ok := grade.Find("nothing")
	assert.False(t, ok)
	last, ok := grade.Exercises()[4].Next()
	assert.True(t, ok)
	_, ok = last.Next()
	assert.False(t, ok)
}
