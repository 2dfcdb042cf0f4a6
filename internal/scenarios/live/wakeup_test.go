//go:build linux || darwin

package live_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/internal/lab"
)

// A waiter that looks once, and sleeps while the lock becomes free, misses its wake-up; one that looks again does not.
func TestAMissedWakeup(t *testing.T) {
	t.Parallel()
	const story = "lease 800ms\nclients C1 C2\nC1 acquire => ok\nC2 acquire within 1s in background\nC2 waits\nC1 release => ok\nC2 await"
	s := openStage(t, nil)
	for quirk, want := range map[string]string{"deaf acquire": "missed-wakeup", "": "safe"} {
		cell := s.Run(t.Context(), lab.Case{Subject: foreign("setpx-lua", quirk), Script: script(t, "one waiter", story), Round: 1})
		assert.Equal(t, want, cell.Verdict.String(), quirk)
	}
}
