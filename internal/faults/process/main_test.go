//go:build linux || darwin

package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// role makes the test binary another program: see the functions that TestMain calls.
const role = "LOCKLAB_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "guard":
		exitWith(GuardMain(os.Stdin, os.Stdout, undos()))
	case "child":
		exitWith(childMain())
	case "lab":
		exitWith(labMain())
	case "hasty lab":
		exitWith(hastyLabMain())
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}
	goleak.VerifyTestMain(m)
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childMain is a client with a grandchild that is deaf to the signals that can be ignored. It says both numbers, then counts.
func childMain() error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	shell := exec.Command("/bin/sh", "-c", "trap '' INT TERM HUP; sleep 86400 & echo up; wait")
	out, err := shell.StdoutPipe()
	if err != nil {
		return err
	}
	if err := shell.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return err
	}
	fmt.Println("pids", os.Getpid(), shell.Process.Pid)
	for i := 0; ; i++ {
		if _, err := fmt.Println("tick", i); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// labMain is a lab that starts children and makes directories until it is killed, and says whatever it has.
func labMain() error {
	guard, err := StartGuard(as("guard"))
	if err != nil {
		return err
	}
	fmt.Println("guard", guard.cmd.Process.Pid)
	for {
		dir, err := guard.TempDir("locklab-test-")
		if err != nil {
			return err
		}
		fmt.Println("dir", dir)
		if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
			return err
		}
		cmd := command("child")
		cmd.Stdout = os.Stdout
		p, err := guard.Start(cmd)
		if err != nil {
			return err
		}
		fmt.Println("group", p.PID())
	}
}

// hastyLabMain is a lab that has started a child and is killed before it could register it. The child has lost its parent-death
// signal, as a grandchild has none.
func hastyLabMain() error {
	guard, err := StartGuard(as("guard"))
	if err != nil {
		return err
	}
	fmt.Println("guard", guard.cmd.Process.Pid)
	cmd := command("child")
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(cmd.Environ(), guard.mark)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Wait()
}

// as is the command line that runs the test binary in a role. With the race detector, a process would sleep for a second before
// it exits.
func as(what string) []string {
	return []string{"/usr/bin/env", role + "=" + what, "GORACE=atexit_sleep_ms=0", os.Args[0]}
}

func command(what string) *exec.Cmd {
	argv := as(what)
	return exec.Command(argv[0], argv[1:]...)
}

func startGuard(t *testing.T) *Guard {
	t.Helper()
	g, err := StartGuard(as("guard"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

// child is a running childMain.
type child struct {
	*Process
	out        *bufio.Reader
	pipe       io.Closer
	grandchild int
}

func startChild(t *testing.T, g *Guard) *child {
	t.Helper()
	cmd := command("child")
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p, err := g.Start(cmd)
	require.NoError(t, err)
	c := &child{Process: p, out: bufio.NewReader(pipe), pipe: pipe}
	t.Cleanup(func() { _ = pipe.Close() })
	fields := strings.Fields(c.line(t))
	require.Len(t, fields, 3)
	require.Equal(t, strconv.Itoa(p.PID()), fields[1], "env must have become the child")
	c.grandchild, err = strconv.Atoi(fields[2])
	require.NoError(t, err)
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(t, err)
	return line
}

// living lists the processes of this machine that are no zombies.
func living(t *testing.T) map[int]bool {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,stat=").Output()
	require.NoError(t, err)
	alive := map[int]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		require.Len(t, fields, 2)
		if !strings.HasPrefix(fields[1], "Z") {
			alive[atoi(t, fields[0])] = true
		}
	}
	return alive
}

func gone(t *testing.T, pids ...int) {
	t.Helper()
	alive := living(t)
	for _, pid := range pids {
		require.Falsef(t, alive[pid], "process %d is alive", pid)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}
