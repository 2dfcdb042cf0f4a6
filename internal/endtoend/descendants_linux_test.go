package endtoend

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

// daemons is a client whose descendants leave its process group: one keeps the client's output open, one clears its environment, and one
// closes every file besides.
const daemons = `setsid sleep %[1]d &
env -i setsid sleep %[1]d &
env -i setsid sh -c 'exec sleep %[2]d' <&- >&- 2>&- 3>&- 4>&- &
exec "$LOCKLAB_TEST_BINARY" worker`

// sleepers lists the processes that sleep for so many seconds.
func sleepers(t *testing.T, seconds int) (found []string) {
	t.Helper()
	for _, process := range running(t) {
		if text, err := os.ReadFile(process + "/cmdline"); err == nil && bytes.Equal(text, fmt.Appendf(nil, "sleep\x00%d\x00", seconds)) {
			found = append(found, process)
		}
	}
	return found
}

// startDaemons starts a run of such a client.
func startDaemons(t *testing.T, more ...string) (*lab, int) {
	t.Helper()
	seconds := 600_000 + 2*rand.IntN(50_000) // tells them from those of other tests
	args := []string{"run", "take-turns", "--json", "--like", "setpx-lua", "--client", fmt.Sprintf(daemons, seconds, seconds+1)}
	return start(t, append(args, more...)...), seconds
}

// TestDescendantsThatLeaveTheirGroup neither hold the lab up nor outlive the run.
func TestDescendantsThatLeaveTheirGroup(t *testing.T) {
	needs.Long(t, "clients that leave daemons")
	tests := map[string]struct {
		end  func(t *testing.T, lab *lab)
		code int
	}{
		"the run ends": {func(*testing.T, *lab) {}, 0},
		"SIGTERM":      {func(t *testing.T, lab *lab) { lab.signal(t, syscall.SIGTERM) }, 143},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := "1"
			if test.code != 0 {
				count = "1000"
			}
			lab, seconds := startDaemons(t, "--count", count)
			lab.awaitCells(t, 1)
			test.end(t, lab)
			assert.Equal(t, test.code, lab.exitCode(t, patience), lab.said(t))
			lab.nothingLeft(t, time.Second)
			assert.Empty(t, sleepers(t, seconds))
			assert.Empty(t, sleepers(t, seconds+1))
		})
	}
}

// TestDescendantsOfAKilledLab: those that keep a file of the lab's are found without an environment.
func TestDescendantsOfAKilledLab(t *testing.T) {
	needs.Long(t, "a thousand cells, killed")
	t.Parallel()
	lab, seconds := startDaemons(t, "--count", "1000")
	lab.awaitCells(t, 1)
	require.NoError(t, lab.cmd.Process.Signal(syscall.SIGKILL))
	lab.nothingLeft(t, patience)
	eventually(t, patience, func() error {
		if left := sleepers(t, seconds); len(left) > 0 {
			return errors.New("still running: " + left[0])
		}
		return nil
	})
	left := sleepers(t, seconds+1)
	for _, path := range left { // the rest is what docs/safety.md says
		var pid int
		_, err := fmt.Sscanf(path, "/proc/%d", &pid)
		require.NoError(t, err)
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/[0-4]", pid))
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		assert.Empty(t, files, "it can be found by its files")
	}
}
