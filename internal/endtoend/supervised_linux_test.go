package endtoend

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

// TestKilledByItsSystem kills the process that does the lab's work, as a system does that has no memory left. The lab says so, ends with 3,
// and leaves nothing.
func TestKilledByItsSystem(t *testing.T) {
	t.Parallel()
	lab := start(t, "run", "take-turns", "--json")
	lab.awaitCells(t, 1)
	require.NoError(t, syscall.Kill(lab.working(t), syscall.SIGKILL))
	assert.Equal(t, 3, lab.exitCode(t, patience), lab.said(t))
	assert.Contains(t, read(t, lab.err), "lab: the lab was killed (SIGKILL)")
	lab.nothingLeft(t, time.Second)
	dir, ok := lab.results(t)
	require.True(t, ok)
	lab.check(t, dir)
}

// working is the process that does the lab's work, beside the one that a shell knows.
func (l *lab) working(t *testing.T) (pid int) {
	t.Helper()
	return l.process(t, "locklab-supervised")
}

// TestOneCtrlC: a Ctrl-C reaches two processes, and is one request to end. What was known is saved.
func TestOneCtrlC(t *testing.T) {
	for name, to := range map[string]func(*lab) int{
		"terminal": func(l *lab) int { return -l.cmd.Process.Pid },
		"kill":     func(l *lab) int { return l.cmd.Process.Pid },
	} {
		t.Run(name, func(t *testing.T) {
			if name != "terminal" {
				needs.Long(t, "a signal to one process only")
			}
			t.Parallel()
			lab := start(t, "run", "take-turns", "--json")
			lab.awaitCells(t, enough)
			require.NoError(t, syscall.Kill(to(lab), syscall.SIGINT))
			assert.Equal(t, 130, lab.exitCode(t, patience), lab.said(t))
			assert.Contains(t, read(t, lab.out), `"event":"run-end"`)
			lab.nothingLeft(t, time.Second)
		})
	}
}

// TestJobControl stops the lab and continues it, as Ctrl-Z and fg do.
func TestJobControl(t *testing.T) {
	needs.Long(t, "stops a run, and continues it")
	t.Parallel()
	lab := start(t, "run", "take-turns", "--lock", "setpx-lua", "--count", "20", "--json")
	lab.awaitCells(t, 1)
	lab.signal(t, syscall.SIGTSTP)
	working := lab.working(t)
	for _, pid := range []int{lab.cmd.Process.Pid, working} {
		eventually(t, patience, func() error {
			if stat := read(t, fmt.Sprintf("/proc/%d/stat", pid)); !strings.Contains(stat, ") T ") {
				return fmt.Errorf("is not stopped: %s", stat)
			}
			return nil
		})
	}
	lab.signal(t, syscall.SIGCONT)
	assert.Contains(t, []int{0, 2}, lab.exitCode(t, patience), lab.said(t))
	assert.Contains(t, read(t, lab.out), `"event":"run-end"`)
}

// TestClosedPipe: what a shell sees of "lab list locks | head".
func TestClosedPipe(t *testing.T) {
	reads, writes, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reads.Close())
	l := &lab{dir: t.TempDir(), tmp: t.TempDir()}
	cmd := l.command(os.Getenv(binary), []string{"list", "locks"})
	cmd.Stdout = writes
	var said strings.Builder
	cmd.Stderr = &said
	_ = cmd.Run() // its exit code says it
	require.NoError(t, writes.Close())
	assert.Equal(t, 128+int(syscall.SIGPIPE), cmd.ProcessState.ExitCode())
	assert.Empty(t, said.String())
}
