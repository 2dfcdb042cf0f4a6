package story_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/story"
	"github.com/locklab/locklab/scenarios"
)

// played are the cells of scenarios with some locks, in virtual time, each with its story.
func played(t *testing.T, locks []impls.Spec, names ...string) map[string]*story.Story {
	t.Helper()
	scripts, err := scenarios.Builtin(names...)
	require.NoError(t, err)
	plan := lab.Plan{Cases: lab.Cases(scripts, lab.Subjects(locks...), 1, lab.Expect(nil))}
	plan.World, plan.Results.Dir = lab.Sim, filepath.Join(t.TempDir(), "run")
	run, err := lab.Run(t.Context(), plan)
	require.NoError(t, err)
	told := map[string]*story.Story{}
	for _, cell := range run.Cells {
		if cell.Verdict.Kind == checker.NotApplicable {
			continue
		}
		cell, file, err := lab.ReadCell(t.Context(), run, cell)
		require.NoError(t, err)
		told[cell.Lock+"/"+cell.Scenario] = story.Of(cell.Verdict, file.Events)
	}
	return told
}

// TestFindings: cause, consequence and loss, in one sentence that a reader who has not seen the script understands.
func TestFindings(t *testing.T) {
	named := []string{"setpx-lua", "setpx-del", "getset-published", "local", "setnx-del", "none", "getset-nil-lost", "redisson-redlock", "redlock", "redisson-watchdog"}
	all := impls.All()
	if few := needs.Count(t, "locks", len(named), len(all)); few < len(all) {
		all = slices.DeleteFunc(all, func(spec impls.Spec) bool { return !slices.Contains(named, spec.Name) })
	}
	told := played(t, all, "take-turns", "pause-past-lease", "stopped-between-check-and-delete", "redis-restarts-empty", "cut-off-past-lease", "holder-crashes",
		"acquire-reply-lost", "late-acquire", "flash-sale-two-instances", "surviving-watchdog", "clock-behind", "one-clock-jumps", "last-item-two-requests",
		"clock-set-back-in-acquire", "fail-over-before-replication")
	for cell, finding := range map[string]string{
		"setpx-lua/take-turns":                              "safe",
		"setpx-lua/pause-past-lease":                        "C1 was paused while its lease ended, so C2 got the lock beside it, and C1's late write was accepted; 13 updates were acknowledged, and the counter ended at 1.",
		"setpx-del/pause-past-lease":                        "C1 was paused while its lease ended, so C2 got the lock beside it, and C1's late write was accepted; C1's DEL removed C2's lock, so C3 got it beside C2; 14 updates were acknowledged, and the counter ended at 2.",
		"getset-published/stopped-between-check-and-delete": "C1's DEL removed C2's lock, so C3 got it beside C2.",
		"setpx-lua/redis-restarts-empty":                    "The server restarted without its data, and C2's SET got the lock that C1 still had: both held it; 2 updates were acknowledged, and the counter ended at 1.",
		"local/clock-behind":                                "Nothing kept C2 from the lock while C1 held it, and C1's late write was accepted; 3 updates were acknowledged, and the counter ended at 2.",
		"setpx-lua/cut-off-past-lease":                      "C1 was cut off while its lease ended, so C2 got the lock beside it.",
		"setnx-del/holder-crashes":                          "C2 was refused although no client held the lock: C1 had died without releasing it.",
		"setpx-lua/acquire-reply-lost":                      "C1's SET got the lock, but C1's acquire ended without it.",
		"setnx-del/late-acquire":                            "C1's SETNX got the lock, but C1's acquire ended without it, so C3 was refused although no client held it.",
		"setpx-lua/flash-sale-two-instances":                "The stock was 1, and 2 were sold: oversold by 1.",
		"none/last-item-two-requests":                       "Nothing kept C2 from the lock while C1 held it, and C1's late write was accepted; 2 sales were acknowledged, and the stock went from 1 to 0.",
		"getset-nil-lost/clock-behind":                      "C2's GETSET overwrote C1's lock, so C2 got it beside C1; 3 updates were acknowledged, and the counter ended at 2.",
		"redlock/redis-restarts-empty":                      "S1, S2, S3, S4 and S5 restarted without their data, and C2's SET got the lock that C1 still had: both held it; 2 updates were acknowledged, and the counter ended at 1.",
		"redisson-redlock/fail-over-before-replication":     "S1, S2 and S3 restarted with what they had saved, and C2's script got the lock that C1 still had: both held it; 2 updates were acknowledged, and the counter ended at 1.",
		"redisson-watchdog/clock-set-back-in-acquire":       "C1 was paused while its lease ended, but its acquire returned ok beside C2, and C1's late write was accepted; 2 updates were acknowledged, and the counter ended at 1.",
		"redisson-redlock/one-clock-jumps":                  "S3 had its clock moved, and C2's script got the lock that C1 still had: both held it; 2 updates were acknowledged, and the counter ended at 1.",
	} {
		if assert.NotNil(t, told[cell], cell) {
			assert.Equal(t, finding, told[cell].Finding, cell)
		}
	}
	var follows []string
	for _, s := range told["setnx-del/redis-restarts-empty"].Symptoms {
		text := string(s.Anomaly.Name)
		if s.Follows >= 0 {
			text += fmt.Sprint(" from ", s.Follows)
		}
		follows = append(follows, text)
	}
	require.Equal(t, []string{
		"early-grant", "double-holder from 0", "stale-write from 1", "lost-update from 2", "wrongful-delete from 1", "double-holder from 4", "lost-update from 2",
	}, follows, "the third client got the lock by the delete, not by the restart")
	for cell, s := range told {
		sound(t, cell, s)
	}
}

// sound: each broken cell has a cause, from which all else follows, and one sentence of a few lines.
func sound(t *testing.T, cell string, s *story.Story) {
	t.Helper()
	require.NotEmpty(t, s.Finding, cell)
	assert.LessOrEqual(t, len(s.Finding), 4*80, "%s: %s", cell, s.Finding)
	assert.NotContains(t, s.Finding, "  ", cell)
	if len(s.Symptoms) == 0 {
		return
	}
	require.True(t, slices.ContainsFunc(s.Symptoms, func(s story.Symptom) bool { return s.Follows < 0 }), cell)
	for i := range s.Symptoms {
		steps := 0
		for n := i; n >= 0; n = s.Symptoms[n].Follows {
			steps++
			require.LessOrEqual(t, steps, len(s.Symptoms), "%s: symptoms follow from each other", cell)
		}
	}
}

// TestOneTime: in a counterexample, cause and consequence may have the same time; the events tell which came first.
func TestOneTime(t *testing.T) {
	verdict := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{
		{Name: checker.DoubleHolder, Clients: []string{"C2", "C1"}, Events: []int{3, 9}},
		{Name: checker.EarlyGrant, Clients: []string{"C2", "C1"}, Events: []int{3, 8}},
	}}
	told := story.Of(verdict, make([]history.Event, 10))
	assert.Equal(t, 1, told.Symptoms[0].Follows)
	assert.Negative(t, told.Symptoms[1].Follows)
	assert.Equal(t, "C2's command got the lock that C1 still had: both held it.", told.Finding)
}
