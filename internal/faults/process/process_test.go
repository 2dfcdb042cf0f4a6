//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestPauseStopsEveryMemberAndResumeLetsThemGoOn(t *testing.T) {
	g := startGuard(t)
	c := startChild(t, g)
	ctx := bounded(t)
	require.Equal(t, "running", c.State())

	require.NoError(t, c.Pause(ctx))
	require.Equal(t, "stopped", c.State())
	for _, pid := range []int{c.PID(), c.grandchild} {
		out, err := exec.Command("ps", "-o", "stat=", "-p", itoa(pid)).Output()
		require.NoError(t, err)
		require.Truef(t, strings.HasPrefix(string(out), "T"), "process %d is in state %s", pid, out)
	}
	// What it said before it was stopped ends somewhere; the rest comes after it was resumed.
	said := make(chan struct{})
	go func() {
		defer close(said)
		for range 100_000 {
			if _, err := c.out.ReadString('\n'); err != nil {
				return
			}
		}
	}()
	select {
	case <-said:
		t.Fatal("a stopped process goes on talking")
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, c.Resume(ctx))
	require.Equal(t, "running", c.State())
	require.NoError(t, c.Kill(ctx))
	<-said
}

func TestCombinedOutput(t *testing.T) {
	g := startGuard(t)
	out, err := g.CombinedOutput(exec.Command("sh", "-c", "echo one; echo two >&2; exit 3"))
	require.Equal(t, "one\ntwo\n", string(out))
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode())

	out, err = g.CombinedOutput(exec.Command("echo", "well"))
	require.NoError(t, err)
	require.Equal(t, "well\n", string(out))
	_, err = g.CombinedOutput(exec.Command("/no/such/program"))
	require.ErrorContains(t, err, "/no/such/program")
}

func TestKillReachesStoppedGroups(t *testing.T) {
	g := startGuard(t)
	ctx := bounded(t)
	for _, paused := range []bool{false, true} {
		c := startChild(t, g)
		if paused {
			require.NoError(t, c.Pause(ctx))
		}
		require.NoError(t, c.Err(), "it still runs")
		require.NoError(t, c.Kill(ctx))
		gone(t, c.PID(), c.grandchild)
		require.Equal(t, "signal: killed", c.State())
		var exit *exec.ExitError
		require.ErrorAs(t, c.Err(), &exit)
		require.NoError(t, c.Kill(ctx), "killing what has ended is no error")
		require.ErrorContains(t, c.Pause(ctx), "has ended")
		require.ErrorContains(t, c.Resume(ctx), "has ended")
	}
}

func TestEndOfTheLeaderEndsItsGroup(t *testing.T) {
	g := startGuard(t)
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 & echo $!; exit 7")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p, err := g.Start(cmd)
	require.NoError(t, err)
	<-p.Done()
	text, err := io.ReadAll(out)
	require.NoError(t, err, "what it said last can be read after its end")
	require.NoError(t, out.Close())
	gone(t, atoi(t, strings.TrimSpace(string(text))))
	require.Equal(t, "exit status 7", p.State())
	require.EqualError(t, p.Err(), "exit status 7")
}

func TestOrderlyEnd(t *testing.T) {
	g := startGuard(t)
	p, err := g.Start(exec.Command("/bin/sh", "-c", "exit 0"))
	require.NoError(t, err)
	<-p.Done()
	require.NoError(t, p.Err())
	require.Equal(t, "exit status 0", p.State())
}

func TestPauseThatDoesNotTakeEffectIsAnError(t *testing.T) {
	g := startGuard(t)
	c := startChild(t, g)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("too late"))
	err := c.order(ctx, sigContinue, func(m member) bool { return m.stopped })
	require.ErrorContains(t, err, "not seen to take effect: too late")
}

func TestCloseEndsEverything(t *testing.T) {
	g, err := StartGuard(as("guard"))
	require.NoError(t, err)
	c, stopped := startChild(t, g), startChild(t, g)
	require.NoError(t, stopped.Pause(bounded(t)))
	dir, err := g.TempDir("locklab-test-")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(dir+"/file", nil, 0o600))
	early, err := g.TempDir("locklab-test-")
	require.NoError(t, err)
	require.NoError(t, g.RemoveDir(early))
	require.NoDirExists(t, early)

	require.NoError(t, g.Close())
	require.NoError(t, g.Close())
	gone(t, c.PID(), c.grandchild, stopped.PID(), stopped.grandchild, g.cmd.Process.Pid)
	require.NoDirExists(t, dir)
	_, err = g.Start(exec.Command("/bin/sh"))
	require.ErrorIs(t, err, errClosed)
	_, err = g.TempDir("locklab-test-")
	require.ErrorIs(t, err, errClosed)
}

func TestStartErrors(t *testing.T) {
	g := startGuard(t)
	_, err := g.Start(exec.Command("/no/such/program"))
	require.ErrorContains(t, err, "/no/such/program")
	_, err = g.Start(exec.CommandContext(t.Context(), "/bin/sh"))
	require.ErrorContains(t, err, "context of its own")
}

func TestStartGuardErrors(t *testing.T) {
	for name, test := range map[string]struct {
		argv []string
		want string
	}{
		"nothing":     {nil, "no command"},
		"no program":  {[]string{"/no/such/program"}, "/no/such/program"},
		"no guard":    {[]string{"/bin/sh", "-c", "echo usage; echo no guard here >&2; exit 64"}, "no guard here"},
		"ends unsaid": {[]string{"/bin/sh", "-c", "exit 64"}, "exit status 64"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := StartGuard(test.argv)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestGuardThatEndsEarlyIsReported: it guards nothing any more, however peacefully it ended.
func TestGuardThatEndsEarlyIsReported(t *testing.T) {
	g, err := StartGuard([]string{"/bin/echo", readyLine})
	require.NoError(t, err)
	<-g.gone
	require.ErrorContains(t, g.Close(), "the guard process has ended: exit status 0")
}

func TestDeadGuard(t *testing.T) {
	g, err := StartGuard(as("guard"))
	require.NoError(t, err)
	c := startChild(t, g)
	require.NoError(t, g.cmd.Process.Kill())
	<-g.gone
	_, err = g.Start(exec.Command("/bin/sh"))
	require.ErrorContains(t, err, "the guard process has ended: signal: killed")
	_, err = g.TempDir("locklab-test-")
	require.ErrorContains(t, err, "the guard process has ended")
	require.ErrorContains(t, g.Close(), "the guard process has ended")
	gone(t, c.PID(), c.grandchild)
}
