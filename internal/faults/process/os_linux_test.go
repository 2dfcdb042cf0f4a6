package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/locklab/locklab/internal/needs"
)

func TestParseStat(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want stat
		err  bool
	}{
		"plain":        {line: "12 (sh) S 1 12 12 0", want: stat{state: 'S', parent: 1, pgid: 12}},
		"strange name": {line: "12 (a) R 1 (b) T 1 99 12 0", want: stat{state: 'T', parent: 1, pgid: 99}},
		"stack": {
			line: "12 (sh) S 1 12 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 7340",
			want: stat{state: 'S', parent: 1, pgid: 12, stack: "27"},
		},
		"empty":         {err: true},
		"cut":           {line: "12 (sh) S 1", err: true},
		"no name":       {line: "12 sh S 1 12", err: true},
		"no parent":     {line: "12 (sh) S x 12 12", err: true},
		"no group":      {line: "12 (sh) S 1 x 12", err: true},
		"longer states": {line: "12 (sh) SS 1 12 12", err: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(test.line))
			require.Equal(t, test.err, err != nil, "%v", err)
			require.Equal(t, test.want, got)
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (sh) S 1 12 12 0"))
	f.Fuzz(func(_ *testing.T, line []byte) { _, _ = parseStat(line) })
}

// TestDescendants: those in the group, and those that have left it, also after the one that started them has ended.
func TestDescendants(t *testing.T) {
	g := startGuard(t)
	cmd := exec.Command("sh", "-c", `sleep 86400 & setsid sh -c 'sleep 86400 & echo $! $$; wait' & wait`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p, err := g.Start(cmd)
	require.NoError(t, err)
	other := startChild(t, g)
	var grandchild, child int
	_, err = fmt.Fscan(out, &grandchild, &child)
	require.NoError(t, err)

	group, left, err := g.Descendants(p)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{group, left})
	_, left, err = g.Descendants(other.Process)
	require.NoError(t, err)
	require.Zero(t, left, "those of another process")

	require.NoError(t, kill(child)) // first: it ends when the other has
	require.NoError(t, kill(grandchild))
	require.Eventually(t, func() bool {
		_, left, err := g.Descendants(p)
		return err == nil && left == 0
	}, patience, time.Millisecond)
}

// TestOwnChildrenAreNoOrphans: how a program ended that this process has started by itself is left to who waits for it.
func TestOwnChildrenAreNoOrphans(t *testing.T) {
	g := startGuard(t)
	cmd := exec.Command("false")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		s, err := readStat(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return err == nil && s.dead()
	}, patience, time.Millisecond)
	o := &orphanage{guard: g}
	require.NoError(t, o.forgetEnded())
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
}

// TestEndedOrphansAreReaped: those in a group of their own; one that runs is left alone.
func TestEndedOrphansAreReaped(t *testing.T) {
	g := startGuard(t)
	o := &orphanage{guard: g}
	start := func(name string, args ...string) int {
		cmd := exec.Command(name, args...)
		cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
		require.NoError(t, cmd.Start())
		return cmd.Process.Pid
	}
	runs := start("sleep", "60")
	t.Cleanup(func() {
		require.NoError(t, kill(runs))
		_, err := unix.Wait4(runs, nil, 0, nil)
		require.NoError(t, err)
	})
	require.NoError(t, o.forgetEnded())
	for _, program := range []string{"true", "false"} {
		pid := start(program)
		path := fmt.Sprintf("/proc/%d/stat", pid)
		require.Eventually(t, func() bool {
			s, err := readStat(path)
			return err == nil && s.dead()
		}, patience, time.Millisecond)
		require.NoError(t, o.forgetEnded())
		_, err := readStat(path)
		require.Error(t, err, "it is still a zombie")
	}
	s, err := readStat(fmt.Sprintf("/proc/%d/stat", runs))
	require.NoError(t, err)
	require.False(t, s.dead())
}

// cloner has a child that calls no exec, and says so when it is about to have it. With the flags of vfork it sleeps uninterruptibly from then on.
const cloner = `
import ctypes, sys
libc = ctypes.CDLL(None)
address = ctypes.cast(libc.pause, ctypes.c_void_p)
stack = ctypes.create_string_buffer(1 << 16)
top = ctypes.c_void_p(ctypes.addressof(stack) + (1 << 16) & ~15)
print("up", flush=True)
libc.clone(address, top, int(sys.argv[1]) | 17, None)  # SIGCHLD
libc.pause()
`

// TestAParentThatWaitsForItsVforkIsStopped: it is never in state T, and does nothing.
func TestAParentThatWaitsForItsVforkIsStopped(t *testing.T) {
	if haveSameMemory(os.Getpid(), os.Getppid()) {
		t.Skip("this kernel does not say who has the same memory")
	}
	const vfork = unix.CLONE_VFORK | unix.CLONE_VM
	for name, test := range map[string]struct {
		flags  int
		shares bool
		state  byte
	}{
		"vfork": {flags: vfork, shares: true, state: 'D'},
		"fork":  {shares: false, state: 'T'},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGuard(t)
			p := startCloner(t, g, test.flags)
			child := 0
			require.Eventually(t, func() bool {
				require.NoError(t, eachLiving([]int{p.PID()}, func(pid int, s stat) {
					if s.parent == p.PID() {
						child = pid
					}
				}))
				return child != 0
			}, patience, time.Millisecond)
			require.Equal(t, test.shares, haveSameMemory(child, p.PID()))

			require.NoError(t, p.Pause(bounded(t)))
			s, err := readStat(fmt.Sprintf("/proc/%d/stat", p.PID()))
			require.NoError(t, err)
			require.Equal(t, string(test.state), string(s.state))
		})
	}
}

func startCloner(t *testing.T, g *Guard, flags int) *Process {
	t.Helper()
	cmd := exec.Command(needs.Program(t, "python", "python3"), "-c", cloner, strconv.Itoa(flags))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p, err := g.Start(cmd)
	require.NoError(t, err)
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return p
}
