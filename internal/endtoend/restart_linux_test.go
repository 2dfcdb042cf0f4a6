package endtoend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/internal/report/rundir"
)

// theirs is a redis-server that a script of its own starts in the background, and stops.
type theirs struct {
	addr, script string
	redis        redisclient.Client
}

// startTheirs starts one that keeps every write, with a key of others in it.
func startTheirs(t *testing.T) theirs {
	t.Helper()
	needs.Found(t, "redis", redis.Find)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := theirs{addr: listener.Addr().String(), script: filepath.Join(t.TempDir(), "redis.sh")}
	_, port, err := net.SplitHostPort(s.addr)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	require.NoError(t, os.WriteFile(s.script, fmt.Appendf(nil, `#!/bin/sh -e
cd %q
case $1 in
stop)
	kill "$(cat pid)"
	while kill -0 "$(cat pid)"; do sleep 0.01; done 2>&-
	rm -f pid ;;
start)
	redis-server --port %s --bind 127.0.0.1 --appendonly yes --appendfsync always --save '' --daemonize yes --pidfile "$PWD/pid" --logfile "$PWD/log" --dir "$PWD" ;;
*)
	echo "what is $1?" >&2
	exit 1 ;;
esac
`, filepath.Dir(s.script), port), 0o700))
	require.NoError(t, exec.Command(s.script, "start").Run())
	t.Cleanup(func() { _ = exec.Command(s.script, "stop").Run() })
	s.redis = redisclient.New(s.addr, redisclient.Settings{Timeout: patience})
	t.Cleanup(func() { require.NoError(t, s.redis.Close()) })
	s.await(t)
	require.NoError(t, s.redis.Set(t.Context(), "theirs", "x", 0).Err())
	return s
}

// await waits until it answers.
func (s theirs) await(t *testing.T) {
	t.Helper()
	eventually(t, patience, func() error {
		_, err := redis.At(context.Background(), redis.Plain(s.addr))
		return err
	})
}

func (s theirs) runID(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(s.redis.Info(t.Context(), "server").Val()) {
		if id, is := strings.CutPrefix(strings.TrimSpace(line), "run_id:"); is {
			return id
		}
	}
	return ""
}

// TestRestartCommand: scripts that restart, stop and fail over a server come at an address to what they come to elsewhere. The server outlives the lab, and
// has what others have there.
func TestRestartCommand(t *testing.T) {
	needs.Long(t, "restarts a server in 28 cells")
	s := startTheirs(t)
	first := s.runID(t)
	lab := start(t, "run", "take-turns", "redis-restarts-empty", "redis-down", "fail-over-before-replication", "fails-over-and-back", "no-replica-acknowledges", "one-restarts-empty",
		"--lock", "setpx-lua,setnx-del,redisson,redlock", "--server", s.addr, "--restart-command", s.script, "--json", "--out", "out")
	code := lab.exitCode(t, 4*patience)
	run, err := rundir.ReadRun(filepath.Join(lab.dir, "out"))
	require.NoError(t, err, lab.said(t))
	require.Equal(t, 0, code, lab.said(t))
	for _, cell := range run.Cells {
		assert.NotContains(t, cell.Verdict.Reason, "never restarted")
	}
	lab.nothingLeft(t, patience)
	s.await(t)
	assert.NotEqual(t, first, s.runID(t), "it was restarted, and outlives the lab")
	assert.Equal(t, []string{"theirs"}, s.redis.Keys(t.Context(), "*").Val())
}

// A command that fails is a failure of the lab, and what it wrote to standard error is the reason. So is one that does nothing.
func TestRestartCommandsThatFail(t *testing.T) {
	needs.Long(t, "four commands, one of which takes 10 s")
	t.Parallel()
	s := startTheirs(t)
	for name, test := range map[string]struct{ command, want string }{
		"fails":         {`echo the disk is gone >&2; false`, "--restart-command stop: exit status 1: the disk is gone"},
		"is not there":  {`/nowhere/redis.sh`, "--restart-command stop: exit status 127: /bin/sh: 1: /nowhere/redis.sh: not found"},
		"does nothing":  {`true`, "10s after the command to stop it has ended well, it still answers"},
		"does not know": {s.script + " quick", "--restart-command stop: exit status 1: what is quick?"},
	} {
		t.Run(name, func(t *testing.T) {
			lab := start(t, "run", "redis-restarts-empty", "--lock", "setpx-lua", "--server", s.addr, "--restart-command", test.command, "--json", "--out", "out")
			require.Equal(t, 3, lab.exitCode(t, 2*patience), lab.said(t))
			run, err := rundir.ReadRun(filepath.Join(lab.dir, "out"))
			require.NoError(t, err)
			require.Len(t, run.Cells, 1)
			assert.Contains(t, run.Cells[0].Failure, test.want)
			assert.Equal(t, []string{"theirs"}, s.redis.Keys(t.Context(), "*").Val())
		})
	}
}

const goesDown = `# A server is down for long.
lease    60s
clients  C1
C1  acquire => ok
server goes down
    wait 20s
server comes back
`

// TestKilledLabStartsTheServerAgain: a server that is down when the lab is killed is started again by the guard, and a lab that is interrupted starts it by
// itself.
func TestKilledLabStartsTheServerAgain(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			if signal != syscall.SIGKILL {
				needs.Long(t, "the same at an interrupt")
			}
			t.Parallel()
			s := startTheirs(t)
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "down.lab"), []byte(goesDown), 0o600))
			lab := startIn(t, dir, "run", "down.lab", "--lock", "setpx-lua", "--server", s.addr, "--restart-command", s.script)
			eventually(t, patience, func() error {
				conn, err := net.DialTimeout("tcp", s.addr, time.Second)
				if err == nil {
					_ = conn.Close()
					return errors.New("it is not down: " + lab.said(t))
				}
				return nil
			})
			lab.signal(t, signal)
			lab.exitCode(t, patience)
			s.await(t)
			eventually(t, patience, func() error {
				if keys := s.redis.Keys(context.Background(), "*").Val(); len(keys) != 1 {
					return fmt.Errorf("keys are left: %q", keys)
				}
				return nil
			})
			lab.nothingLeft(t, patience)
			s.await(t)
		})
	}
}
