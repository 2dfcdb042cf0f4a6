//go:build linux || darwin

package live_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
)

// A cell in which a client's process did not run for more than a quarter of the lease is played again slower, and is never judged: its
// background renewals came too late through no fault of the lock.
func TestACellWithALateClientIsPlayedAgain(t *testing.T) {
	t.Parallel()
	s := openStage(t, nil)
	cell, _ := s.playScript(t, script(t, "late", `
		lease 600ms
		clients C1 C2
		C1 acquire => ok
		wait for 0.4 leases
		C1 release
		C2 acquire => ok`), foreign("setpx-lua", "late release"))
	require.Equal(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.String())
	assert.Contains(t, cell.Verdict.Reason, "the host stalled for 800ms")
	require.Len(t, cell.Stalls, 2)
	assert.Contains(t, cell.Stalls[0], "the host stalled for 200ms")
}
