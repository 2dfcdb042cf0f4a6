//go:build linux || darwin

package live_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
)

// TestScriptsThatDoNotApply asserts which locks and clients a script is not for, and that this is known before anything is started
// wherever the lock is one of the lab's own.
func TestScriptsThatDoNotApply(t *testing.T) {
	s := openStage(t, nil)
	const acquire = "lease 60s\nclients C1\nC1 acquire => ok\n"
	tests := map[string]struct {
		subject play.Subject
		text    string
		reason  string
		by      string
		started bool
	}{
		"needs a lease":        {subject(t, "setnx-del"), "needs lease\n" + acquire, "the lock has no lease", record.ByNeeds, false},
		"needs renewal":        {subject(t, "setpx-lua"), "needs renewal\n" + acquire, "the lock does not renew itself", record.ByNeeds, false},
		"needs resend":         {subject(t, "setpx-lua"), "needs resend\n" + acquire, "the client library resends nothing", record.ByNeeds, false},
		"needs no resend":      {subject(t, "setpx-lua-resend"), "needs no-resend\n" + acquire, "the client library resends commands", record.ByNeeds, false},
		"needs check":          {subject(t, "setnx-del"), "needs check\n" + acquire, "the lock has no check operation", record.ByNeeds, false},
		"needs renew":          {subject(t, "watchdog"), "needs renew\n" + acquire, "the lock has no renew operation", record.ByNeeds, false},
		"has a verb unknown":   {subject(t, "setpx-lua"), acquire + "C1 renew", "the lock has no renew operation", record.ByNeeds, false},
		"hides that it cannot": {foreign("setpx-lua", "refuse skew"), acquire + "C1 clock ahead 1s", `the client does not know "skew"`, "", true},
		"tells that it cannot": {foreign("setpx-lua", "refuse check"), acquire + "C1 check", `the client does not know "check"`, "", true},
		"misses its trap": {subject(t, "setpx-lua"), "lease 60s\nclients C1\nC1 acquire hold before second SET\nC1 continue",
			"C1's acquire returned ok without a SET number 2", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell, events := s.playScript(t, script(t, name, test.text), test.subject)
			assert.Equal(t, "n/a: "+test.reason, cell.Verdict.String())
			assert.Equal(t, test.by, cell.Expected.By)
			end := "end: n/a"
			if test.by == record.ByNeeds {
				end = "end: lacks"
			}
			tells(t, events, end)
			assert.Equal(t, test.started, slices.ContainsFunc(events, func(e history.Event) bool { return e.Client == "C1" }), "C1 acted")
		})
	}
}

// TestScriptsThatProveNothing asserts that what did not happen as the script demands is never judged.
func TestScriptsThatProveNothing(t *testing.T) {
	s := openStage(t, nil)
	tests := map[string]struct {
		subject play.Subject
		text    string
		reason  string
		end     string
	}{
		"another result": {subject(t, "setpx-lua"), "lease 60s\nclients C1\nC1 acquire => no",
			`line 4: "C1 acquire => no" came to ok`, "premise"},
		"an early error": {subject(t, "setpx-lua"), "lease 60s\nclients C1\nC1 refuse\nC1 acquire hold before first SET\nC1 continue\nC1 heal",
			"C1's acquire returned unknown without a SET", "premise"},
		"never acquired": {subject(t, "setpx-lua"), "lease 60s\nclients C1\nC1 refuse\nC1 acquire => unknown\nC1 heal",
			"no acquire succeeded", "complete"},
		"a fault that hits nothing": {subject(t, "setpx-lua"), "lease 60s\nclients C1\nC1 acquire => ok\nC1 release => ok\nC1 pause\nC1 resume",
			"no fault fell on a hold or on an operation under way", "complete"},
		"a stall": {subject(t, "setpx-lua"), "lease 1s\nclients C1\nC1 acquire => ok\nC1 delay 200ms",
			`the host stalled: line 5 took [\d.]+m?s, more than a quarter of the lease`, "stalled"},
		"a client that dies": {foreign("setpx-lua", "die acquire"), "lease 60s\nclients C1\nC1 acquire",
			`^C1: client exited before replying: exit status \d+; stderr: the odd client dies at acquire$`, "unknown"},
		"a client that does not exist": {play.Subject{Name: "mine", Argv: []string{"/nonexistent"}}, "lease 60s\nclients C1\nC1 acquire",
			"client C1 could not be started: .*no such file or directory", "unknown"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell := s.Run(t.Context(), lab.Case{Subject: test.subject, Script: script(t, name, test.text), Round: 1})
			assert.Equal(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.String())
			assert.Regexp(t, test.reason, cell.Verdict.Reason)
			assert.Empty(t, cell.Failure)
			tells(t, s.history(t, cell), "end: "+test.end)
		})
	}
}

// TestStalledCellIsBegunAnew asserts that a cell that a slow machine has spoilt is played again, slower, that this is said, and that
// what was recorded is kept. The client stands for the machine: it takes more than a quarter of the first lease for one step, and says that it did
// not run meanwhile.
func TestStalledCellIsBegunAnew(t *testing.T) {
	s := openStage(t, nil)
	slow := foreign("setpx-lua", "stalled release")
	cell, events := s.playScript(t, script(t, "slow", "lease 1s\nclients C1 C2\nC1 acquire => ok\nC1 release => ok\nC2 acquire within 500ms => ok"), slow)
	assert.Equal(t, "safe", cell.Verdict.String())
	require.NotEmpty(t, cell.Stalls)
	assert.Regexp(t, `^the host stalled: line 5 took \d+ms, more than a quarter of the lease; of that the host was late by \d+ms$`, cell.Stalls[0])
	tells(t, events, "C1 release: ok", "C2 acquire: ok", "end: complete")
	times := 1 << len(cell.Stalls)
	assert.Equal(t, time.Duration(times)*time.Second, events[0].Detail.Lease)

	spoilt, err := history.ReadFile(t.Context(), filepath.Join(s.dir, cell.Dir, "stalled-1.jsonl"))
	require.NoError(t, err)
	tells(t, spoilt.Events, "C1 release: ok", "end: stalled")
	assert.Equal(t, time.Second, spoilt.Events[0].Detail.Lease)
}

// TestOnlyHoldersWorkAndRelease asserts that what makes sense only for a holder is left out for a client that was refused, and is
// done once it holds.
func TestOnlyHoldersWorkAndRelease(t *testing.T) {
	s := openStage(t, nil)
	cell, events := s.playScript(t, script(t, "skips", `
		lease 60s
		clients C1 C2
		C1 acquire => ok
		C2 acquire
		C2 work hold before first write
		C2 continue
		C2 release
		C1 release => ok
		C2 acquire => ok
		C2 work => ok
		C2 release => ok`), subject(t, "setpx-lua"))
	assert.Equal(t, "safe", cell.Verdict.String())
	tells(t, events, "C2 acquire: no",
		"skipped: C2 work hold before first write", "skipped: C2 continue", "skipped: C2 release",
		"C1 release: ok",
		"C2 acquire: ok", "C2 work: ok", "C2 release: ok", "counter 1", "end: complete")
}

// TestStepsNotCarriedOut: a step that the script asks for, and that its client skips, leaves the cell unknown, in every world. What was found
// before counts.
func TestStepsNotCarriedOut(t *testing.T) {
	const refused = "lease 60s\nclients C1 C2\nC1 acquire => ok\nC2 acquire => no\n"
	const either = "lease 60s\nclients C1 C2\nC1 acquire => ok\nC2 acquire\n"
	tests := map[string]struct{ lock, text, verdict string }{
		"work":              {"setpx-lua", refused + "C2 work => ok\nC2 release => ok", `unknown: line 6 was skipped (C2 does not hold the lock): "C2 work => ok"`},
		"work of a loser":   {"setpx-lua", refused + "C2 work", `unknown: line 6 was skipped (C2 does not hold the lock): "C2 work"`},
		"work if granted":   {"setpx-lua", either + "C2 work\nC2 check\nC2 release", "safe"},
		"check":             {"setpx-lua", either + "C2 check => no", `unknown: line 6 was skipped (C2 does not hold the lock): "C2 check => no"`},
		"release":           {"setpx-lua", either + "C2 release => no", `unknown: line 6 was skipped (C2 does not hold the lock): "C2 release => no"`},
		"a release anyway":  {"setpx-lua", either + "C2 release anyway => no", "safe"},
		"a loser's release": {"setpx-lua", refused + "C2 release\nC1 work => ok", "safe"},
		"an answer":         {"setpx-lua", either + "C2 work in background\nC2 await => ok", `unknown: line 7 was skipped (C2 does not hold the lock): "C2 await => ok"`},
		"continue":          {"setpx-lua", either + "C2 work hold before first write\nC2 continue => ok", `unknown: line 7 was skipped (C2 does not hold the lock): "C2 continue => ok"`},
		"give up":           {"setpx-lua", either + "C2 work hold before first write\nC2 give up => unknown", `unknown: line 7 was skipped (C2 does not hold the lock): "C2 give up => unknown"`},
		"waits until lost":  {"watchdog", either + "C2 waits until lost => no", `unknown: line 6 was skipped (C2 does not hold the lock): "C2 waits until lost => no"`},
		"work after release": {"setpx-lua", "lease 60s\nclients C1\nC1 acquire => ok\nC1 release\nC1 work",
			`unknown: line 6 was skipped (C1 does not hold the lock): "C1 work"`},
		"released twice": {"setpx-lua", "lease 60s\nclients C1\nC1 acquire => ok\nC1 release\nC1 release => no", "safe"},
		"work after a check": {"setpx-lua", "lease 60s\nclients C1\nC1 acquire => ok\nserver restarts empty\nC1 check => no\nC1 work => ok",
			`unknown: line 7 was skipped (C1 was told that it has lost the lock): "C1 work => ok"`},
		"if it is still held": {"setpx-lua", "lease 60s\nclients C1\nC1 acquire => ok\nserver restarts empty\nC1 check => no\nC1 work", "safe"},
		"the end of a wait":   {"setpx-lua", either + "C2 acquire within 1s in background\nC2 await => no\nC2 release => no", "safe"},
		"try again":           {"setpx-lua", "lease 60s\nclients C1\nC1 acquire => ok\nC1 release\nC1 release if unknown", "safe"},
		"try again, stated": {"setpx-lua", "lease 60s\nclients C1\nC1 acquire => ok\nC1 release\nC1 release if unknown => no",
			`unknown: line 6 was skipped (C1 knows the outcome of its last release): "C1 release if unknown => no"`},
		"after an anomaly": {"setpx-del", refused + "C2 release\nC2 acquire => ok\nC1 acquire => no\nC1 work => ok", "double-holder, wrongful-delete"},
	}
	s := openStage(t, nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell, _ := s.playScript(t, script(t, name, test.text), subject(t, test.lock))
			assert.Equal(t, test.verdict, cell.Verdict.String())
			model := lab.Runner{World: sim.Open(sim.Config{CellTimeout: time.Minute})}
			cell = model.Run(t.Context(), lab.Case{Subject: subject(t, test.lock), Script: script(t, name, test.text), Round: 1})
			assert.Equal(t, test.verdict, cell.Verdict.String(), "in the model")
		})
	}
}

// TestSilentClient asserts that a client that never answers costs a bounded time, and is no riddle.
func TestSilentClient(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	s := openStage(t, func(cfg *live.Config) { cfg.CellTimeout = timeout })
	began := time.Now()
	cell, _ := s.playScript(t, script(t, "silence", "lease 60s\nclients C1\nC1 acquire => ok"), foreign("setpx-lua", "ignore acquire"))
	assert.Equal(t, "unknown: C1 did not answer acquire: the cell took longer than 2s", cell.Verdict.String())
	assert.Less(t, time.Since(began), timeout+30*time.Second)
	require.Empty(t, cell.Failure)
}
