package endtoend

import (
	"syscall"
	"testing"

	"github.com/locklab/locklab/internal/needs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDeadGuardIsAFailure: without its guard a run is a failure of the lab, whatever else it came to, and says why.
func TestDeadGuardIsAFailure(t *testing.T) {
	needs.Long(t, "waits for a guard that is dead")
	t.Parallel()
	lab := start(t, "run", "pause-past-lease", "--lock", "setpx-del,setpx-lua", "--count", "20", "--json")
	lab.awaitCells(t, 1)
	require.NoError(t, syscall.Kill(lab.process(t, "locklab-guard"), syscall.SIGKILL))
	assert.Equal(t, 3, lab.exitCode(t, patience), lab.said(t))
	assert.Contains(t, read(t, lab.err), "the guard process has ended: signal: killed")
	assert.Empty(t, processes(t, lab.mark))
}
