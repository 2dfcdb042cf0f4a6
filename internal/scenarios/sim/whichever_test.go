package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

func TestOnWhicheverServer(t *testing.T) {
	for name, test := range map[string]struct{ lock, text, want string }{
		"several have the lock": {"redlock", "lease 60s\nclients C1\nservers 3\nC1 acquire => ok\non whichever server restarts empty",
			"n/a: the lock is on S1, S2, S3, and the script is for one that chooses one of several servers"},
		"none has the lock": {"setpx-lua", "lease 60s\nclients C1\nC1 acquire => ok\nC1 release => ok\non whichever server restarts empty",
			`unknown: line 6: "on whichever server restarts empty", while no server has the lock`},
		"the one that saved restarts": {"setpx-lua", "lease 60s\nclients C1 C2\nC1 acquire => ok\non whichever server saves\nC1 release => ok\n" +
			"C2 acquire hold before first SET => held-up\non whichever server restarts as saved\nC2 continue => unknown\nC2 acquire => no", "safe"},
	} {
		t.Run(name, func(t *testing.T) {
			cell, _ := playText(t, test.lock, test.text, "")
			assert.Equal(t, test.want, cell.Verdict.String())
		})
	}
}

// The record of a repeated step has its line, and which round it is.
func TestRoundsAreRecorded(t *testing.T) {
	_, events := playText(t, "setpx-lua", "lease 60s\nclients C1\nrepeat 2\nC1 acquire => ok\nC1 release => ok\nend\nC1 acquire", "")
	type step struct {
		line int
		text string
	}
	var steps []step
	for _, e := range events {
		if e.Kind == history.KindStep {
			steps = append(steps, step{e.Detail.Line, e.Detail.Text})
		}
	}
	assert.Equal(t, []step{
		{5, "C1 acquire => ok  (round 1 of 2)"}, {6, "C1 release => ok  (round 1 of 2)"},
		{5, "C1 acquire => ok  (round 2 of 2)"}, {6, "C1 release => ok  (round 2 of 2)"}, {8, "C1 acquire"},
	}, steps)
}
