//go:build linux || darwin

package endtoend

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience bounds waits that are expected to be short; a loaded machine must not end them by accident.
const patience = time.Minute

// lab is the command under way, in directories of its own.
type lab struct {
	cmd      *exec.Cmd
	dir      string // where it works
	tmp      string // where it has its temporary files
	mark     string // in the environment of all its processes
	out, err string // the files that it writes to
	ended    chan struct{}
}

// start starts the lab in an empty directory.
func start(t *testing.T, args ...string) *lab {
	t.Helper()
	return startIn(t, t.TempDir(), args...)
}

// startIn starts the lab in a directory, as a shell does: as the leader of a process group.
func startIn(t *testing.T, dir string, args ...string) *lab {
	t.Helper()
	return startCommand(t, dir, os.Getenv(binary), args...)
}

// startCommand is startIn for a command that becomes the lab.
func startCommand(t *testing.T, dir, name string, args ...string) *lab {
	t.Helper()
	l := &lab{dir: dir, tmp: t.TempDir(), mark: "LOCKLAB_TEST_RUN=" + rand.Text(), ended: make(chan struct{})}
	require.NoError(t, os.Chmod(filepath.Dir(l.tmp), 0o711)) // PostgreSQL does not run as root: another user has directories below
	l.out, l.err = filepath.Join(l.dir, "stdout"), filepath.Join(l.dir, "stderr")
	l.cmd = l.command(name, args)
	// Files, not pipes: a descendant that was left behind would keep a pipe open, and with it this test.
	stdout, err := os.Create(l.out)
	require.NoError(t, err)
	defer stdout.Close()
	stderr, err := os.Create(l.err)
	require.NoError(t, err)
	defer stderr.Close()
	l.cmd.Stdout, l.cmd.Stderr = stdout, stderr
	require.NoError(t, l.cmd.Start())
	go func() {
		defer close(l.ended)
		_ = l.cmd.Wait() // what it came to is in ProcessState
	}()
	t.Cleanup(func() {
		_ = l.cmd.Process.Kill()
		<-l.ended
	})
	return l
}

func (l *lab) command(name string, args []string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = l.dir
	for _, setting := range os.Environ() {
		switch name, _, _ := strings.Cut(setting, "="); name {
		case "LOCKLAB_SERVER", "LOCKLAB_TOXIPROXY", "LOCKLAB_LISTEN", "LOCKLAB_ADVERTISE":
		default:
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+l.tmp, l.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// exitCode waits for the end of the lab.
func (l *lab) exitCode(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-l.ended:
		return l.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		require.FailNowf(t, "the lab is still running", "after %v; it says\n%s", within, l.said(t))
		return 0
	}
}

// said is all that it wrote, for the messages of failed tests.
func (l *lab) said(t *testing.T) string {
	t.Helper()
	return read(t, l.out) + read(t, l.err)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// signal does what a terminal does at Ctrl-C: the whole process group of the lab gets it.
func (l *lab) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(-l.cmd.Process.Pid, signal))
}

// awaitCells waits until n cells have ended of a run that writes JSON.
func (l *lab) awaitCells(t *testing.T, n int) {
	t.Helper()
	eventually(t, patience, func() error {
		if strings.Count(read(t, l.out), `"event":"cell-end"`) < n {
			return errors.New("too few cells have ended: " + l.said(t))
		}
		return nil
	})
}

// nothingLeft waits, for so long at most, until no process and no temporary file of the lab is left. It returns how long that took.
func (l *lab) nothingLeft(t *testing.T, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	eventually(t, within, func() error {
		if left := processes(t, l.mark); len(left) > 0 {
			return errors.New("still running: " + strings.Join(left, "; "))
		}
		left, err := os.ReadDir(l.tmp)
		if err == nil && len(left) > 0 {
			err = errors.New("in the temporary directory: " + left[0].Name())
		}
		return err
	})
	return time.Since(began)
}

// eventually asks again and again until there is nothing to complain about.
func eventually(t *testing.T, within time.Duration, complaint func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		late := time.Now().After(deadline)
		err := complaint()
		if err == nil {
			return
		}
		if late {
			require.FailNowf(t, "it does not come true", "within %v: %v", within, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// results is the directory of the only run of this lab, and whether that run got so far as to have one that can be read.
func (l *lab) results(t *testing.T) (dir string, ok bool) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(l.dir, "runs", "[0-9]*", "run.json"))
	require.NoError(t, err)
	if len(found) == 0 {
		return "", false
	}
	require.Len(t, found, 1)
	return filepath.Dir(found[0]), true
}

// check is "lab check --json".
func (l *lab) check(t *testing.T, dir string) (code int, stdout []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := l.command(os.Getenv(binary), []string{"check", "--json", dir})
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	code = cmd.ProcessState.ExitCode()
	assert.NotContains(t, []int{-1, 3, 64}, code, said.String())
	return code, out
}

// verdicts are the verdicts in the output of "run --json" or "check --json", byte for byte, by the directory of the cell.
func verdicts(t *testing.T, events []byte) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for line := range strings.Lines(string(events)) {
		var event struct {
			Event string `json:"event"`
			Cell  struct {
				Dir     string          `json:"dir"`
				Verdict json.RawMessage `json:"verdict"`
			} `json:"cell"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &event), line)
		if event.Event == "cell-end" {
			seen[event.Cell.Dir] = string(event.Cell.Verdict)
		}
	}
	return seen
}

// deafChild is a client with a child of its own, which holds the client's pipes and is deaf to all signals that can be ignored.
const deafChild = `(trap '' HUP INT TERM; exec sleep 300) & exec "$LOCKLAB_TEST_BINARY" worker`
