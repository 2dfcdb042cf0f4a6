//go:build unix

package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test binary is the supervised program as well: its argument says what the child does.
func TestMain(m *testing.M) {
	signals, isChild, err := Child()
	switch {
	case err != nil:
		fmt.Println(err)
		os.Exit(1)
	case isChild:
		os.Exit(act(os.Args[1], signals))
	case len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-"):
		end, err := Run()
		fmt.Printf("code %d, signal %v, crashed %v, quit %v, error %v: %s\n", end.Code, end.Signal, end.Crashed(), end.Quit(), err, end.Reason())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func act(what string, signals <-chan os.Signal) int {
	switch what {
	case "exits with 2":
		return 2
	case "panics":
		panic("in main")
	case "panics in a goroutine":
		go panic(errors.New("aside"))
		select {}
	case "overflows its stack":
		debug.SetMaxStack(1 << 20)
		return recurse(0)
	case "runs out of memory":
		// More than the address space. A resource limit would also hit the race detector, which needs memory to print the trace.
		addresses := uint64(1) << 47
		return len(make([]byte, addresses))
	case "writes a map twice at a time":
		shared := map[int]int{}
		for range 2 {
			go func() {
				for i := 0; ; i++ {
					shared[i%8] = i
				}
			}()
		}
		select {}
	case "reads no memory":
		var nowhere *int
		return *nowhere
	case "says its arenas":
		fmt.Println(os.Getenv("MALLOC_ARENA_MAX"))
		return 0
	case "is killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	fmt.Println(os.Getpid())
	for sig := range signals {
		fmt.Println(sig)
	}
	return 0
}

// recurse does not return, unless somebody counts beyond all memory.
func recurse(n int) int {
	if n < 0 {
		return 0
	}
	return recurse(n+1) + 1
}

// parent is the program, as a shell starts it: as the leader of a process group.
func parent(what string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], what)
	cmd.Env = append(cmd.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func TestEnds(t *testing.T) {
	for what, want := range map[string]string{
		"exits with 2":                 "code 2, signal <nil>, crashed false, quit false, error <nil>: ",
		"panics":                       "code 2, signal <nil>, crashed true, quit false, error <nil>: panic: in main\n",
		"panics in a goroutine":        "code 2, signal <nil>, crashed true, quit false, error <nil>: panic: aside\n",
		"overflows its stack":          "code 2, signal <nil>, crashed true, quit false, error <nil>: a fatal error of the Go runtime\n",
		"runs out of memory":           "code 2, signal <nil>, crashed true, quit false, error <nil>: a fatal error of the Go runtime\n",
		"writes a map twice at a time": "code 2, signal <nil>, crashed true, quit false, error <nil>: a fatal error of the Go runtime\n",
		"reads no memory":              "code 2, signal <nil>, crashed true, quit false, error <nil>: panic: runtime error: invalid memory address",
		"is killed":                    "code -1, signal killed, crashed false, quit false, error <nil>: ",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cmd := parent(what)
			var trace strings.Builder
			cmd.Stderr = &trace
			out, err := cmd.Output()
			require.NoError(t, err, trace.String())
			assert.Contains(t, string(out), want)
			if strings.Contains(want, "crashed true") {
				assert.Contains(t, trace.String(), "goroutine ", "the trace is on standard error, too")
			}
		})
	}
}

// running is a parent whose child waits for signals.
type running struct {
	*exec.Cmd
	lines *bufio.Scanner
	child int
}

func startWaiting(t *testing.T) *running {
	t.Helper()
	r := &running{Cmd: parent("waits")}
	out, err := r.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-r.Process.Pid, syscall.SIGKILL)
		_ = r.Wait()
	})
	r.lines = bufio.NewScanner(out)
	_, err = fmt.Sscan(r.line(t), &r.child)
	require.NoError(t, err)
	return r
}

func (r *running) line(t *testing.T) string {
	t.Helper()
	require.True(t, r.lines.Scan(), r.lines.Err())
	return r.lines.Text()
}

// A signal reaches the child once, whether the parent or the whole group is sent it. A new one is sent when the last has been heard: signals
// that are pending at a time are one.
func TestSignals(t *testing.T) {
	r := startWaiting(t)
	for _, to := range []int{-r.Process.Pid, r.Process.Pid, -r.Process.Pid} {
		sig := syscall.SIGINT
		if to > 0 {
			sig = syscall.SIGTERM
		}
		require.NoError(t, syscall.Kill(to, sig))
		assert.Equal(t, sig.String(), r.line(t))
	}
}

func TestSignalToTheChild(t *testing.T) {
	r := startWaiting(t)
	require.NoError(t, syscall.Kill(r.child, syscall.SIGTERM))
	assert.Equal(t, "terminated", r.line(t))
}

func TestTally(t *testing.T) {
	for name, test := range map[string]struct {
		ways  []int
		given int
	}{
		"Ctrl-C":                  {[]int{direct, passed}, 1},
		"Ctrl-C, parent first":    {[]int{passed, direct}, 1},
		"Ctrl-C twice":            {[]int{direct, direct, passed, passed}, 2},
		"Ctrl-C, later once more": {[]int{direct, passed, passed, direct}, 2},
		"kill":                    {[]int{passed}, 1},
		"kill twice":              {[]int{passed, passed}, 2},
		"kill, then Ctrl-C":       {[]int{passed, direct, passed}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tally := newTally()
			for _, way := range test.ways {
				tally.add(os.Interrupt, way)
			}
			assert.Len(t, tally.out, test.given)
			tally.add(syscall.SIGTERM, direct)
			assert.Len(t, tally.out, test.given+1, "another signal is counted by itself")
		})
	}
}

func TestSIGQUITWritesATrace(t *testing.T) {
	r := startWaiting(t)
	require.NoError(t, r.Process.Signal(syscall.SIGQUIT))
	assert.Contains(t, r.line(t), "crashed false, quit true")
}

// A fatal signal to the parent crashes the child, so that the program's exit code is its own choice and not the runtime's 2.
func TestFatalSignalsAreCrashes(t *testing.T) {
	for _, sig := range fatal() {
		if sig == syscall.SIGQUIT {
			continue
		}
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			r := startWaiting(t)
			require.NoError(t, r.Process.Signal(sig))
			assert.Contains(t, r.line(t), "crashed true, quit false")
		})
	}
}

// The child ends with its parent, even if it is stopped.
func TestChildEndsWithItsParent(t *testing.T) {
	r := startWaiting(t)
	require.NoError(t, r.Process.Kill())
	assert.False(t, r.lines.Scan(), "the child keeps standard output open")
	eventually(t, func() bool { return errors.Is(syscall.Kill(r.child, 0), syscall.ESRCH) })
}

// Ctrl-Z stops both, and fg continues both.
func TestJobControl(t *testing.T) {
	r := startWaiting(t)
	require.NoError(t, syscall.Kill(-r.Process.Pid, syscall.SIGTSTP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(r.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped(), "a shell sees the job stopped")
	require.NoError(t, syscall.Kill(-r.Process.Pid, syscall.SIGCONT))
	require.NoError(t, syscall.Kill(-r.Process.Pid, syscall.SIGINT))
	assert.Equal(t, "interrupt", r.line(t))
}

// A signal that stops the parent alone, which it cannot catch (SIGSTOP) or does not (SIGTSTP), stops the child as well; SIGCONT to the parent
// alone continues both.
func TestChildStopsWithItsParent(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTSTP} {
		t.Run(sig.String(), func(t *testing.T) {
			r := startWaiting(t)
			for range 3 {
				require.NoError(t, syscall.Kill(r.Process.Pid, sig))
				eventually(t, func() bool { return stopped(r.child) })
				require.NoError(t, syscall.Kill(r.Process.Pid, syscall.SIGCONT))
				eventually(t, func() bool { return !stopped(r.child) })
			}
			require.NoError(t, syscall.Kill(r.Process.Pid, syscall.SIGINT))
			assert.Equal(t, "interrupt", r.line(t))
		})
	}
}

// A parent that is continued while its child is about to stop does not leave it stopped.
func TestStopsOfAMoment(t *testing.T) {
	r := startWaiting(t)
	for i := range 20 {
		require.NoError(t, syscall.Kill(r.Process.Pid, syscall.SIGSTOP))
		time.Sleep(time.Duration(i) * stopPeriod / 15) // any moment will do
		require.NoError(t, syscall.Kill(r.Process.Pid, syscall.SIGCONT))
	}
	eventually(t, func() bool { return !stopped(r.child) })
	require.NoError(t, syscall.Kill(r.Process.Pid, syscall.SIGINT))
	assert.Equal(t, "interrupt", r.line(t))
}

// The child tells of its stop before it stops, so its parent may ask it to go on too early. It asks again.
func TestContinueChild(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	stops, toParent, err := os.Pipe()
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { defer close(done); continueChild(stops, cmd.Process) }()
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	eventually(t, func() bool { return stopped(cmd.Process.Pid) })
	_, err = toParent.Write([]byte{stopping})
	require.NoError(t, err)
	eventually(t, func() bool { return !stopped(cmd.Process.Pid) })
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	eventually(t, func() bool { return !stopped(cmd.Process.Pid) })
	_, err = toParent.Write([]byte{continued})
	require.NoError(t, err)
	require.NoError(t, toParent.Close())
	<-done
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, stops.Close())
}

func TestNoChild(t *testing.T) {
	out, err := exec.Command(os.Args[0], asChild, "exits with 2").Output()
	require.Error(t, err)
	assert.Contains(t, string(out), "this program starts itself so, and nobody else does")
}

func eventually(t *testing.T, true func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !true() {
		require.True(t, time.Now().Before(deadline))
		time.Sleep(time.Millisecond)
	}
}

func TestReason(t *testing.T) {
	for trace, want := range map[string]string{
		"panic: one\n\tpanic: two\n\ngoroutine 1": "panic: one",
		"goroutine 1 [running]:\npanic: one\n":    "panic: one",
		"runtime stack:\nruntime.throw(":          "a fatal error of the Go runtime",
	} {
		assert.Equal(t, want, End{Trace: []byte(trace)}.Reason())
	}
}
