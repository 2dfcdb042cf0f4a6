//go:build linux || darwin

package process

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/racing"
)

func TestGuardReadsLines(t *testing.T) {
	for name, test := range map[string]struct {
		in     string
		groups []int
		dirs   []string
		tasks  []task
		err    string
	}{
		"empty":            {},
		"groups":           {in: "group 7\ngroup 8\ngroup 7\n", groups: []int{8, 7}},
		"forgotten":        {in: "group 7\ngroup 8\nforget group 7\n", groups: []int{8}},
		"dirs":             {in: "dir /a/b c\ndir /d\nforget dir /d\n", dirs: []string{"/a/b c"}},
		"nonsense between": {in: "group 7\nhello\ngroup 8\n", groups: []int{7, 8}, err: `"hello": unknown`},
		"everybody":        {in: "group 1\n", err: "no process group"},
		"own group":        {in: "group 0\n", err: "no process group"},
		"negative":         {in: "group -5\n", err: "no process group"},
		"root":             {in: "dir /\n", err: "below the root"},
		"relative":         {in: "dir a\n", err: "below the root"},
		"up":               {in: "dir /a/..\n", err: "below the root"},
		"undo":             {in: "undo file a b\nundo trouble x\nundo file c\n", tasks: []task{{"file", []string{"a b", "c"}}, {"trouble", []string{"x"}}}},
		"undo what":        {in: "undo file\n", err: "nothing that can be undone"},
		"undo the unknown": {in: "undo world x\n", err: "nothing that can be undone"},
		"forget to undo":   {in: "undo file a\nundo trouble x\nforget undo file\nforget undo file\n", tasks: []task{{"trouble", []string{"x"}}}},
		"forget one of it": {in: "undo file a\nforget undo file a\n", tasks: []task{{"file", []string{"a"}}}, err: "nothing that can be undone"},
		"cut line":         {in: "group 7\ngroup", groups: []int{7}, err: "no process group"},
		"endless":          {in: "group 7\n" + strings.Repeat("x", guardLine+1), groups: []int{7}, err: "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			w := wards{undos: undos()}
			err := w.read(strings.NewReader(test.in))
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.err)
			}
			require.ElementsMatch(t, test.groups, w.groups)
			require.ElementsMatch(t, test.dirs, w.dirs)
			require.Equal(t, test.tasks, w.tasks)
		})
	}
}

func FuzzGuardLines(f *testing.F) {
	f.Add("group 7\nforget group 7\ndir /a\nforget dir /a\n")
	f.Add("dir /\ngroup 1\ngroup -1\n")
	f.Add("undo file a\nundo\nundo  \n")
	f.Fuzz(func(t *testing.T, in string) {
		w := wards{undos: undos()}
		_ = w.read(strings.NewReader(in))
		for _, pgid := range w.groups {
			require.Greater(t, pgid, 1)
		}
		for _, dir := range w.dirs {
			require.True(t, len(dir) > 1 && dir[0] == '/' && !strings.Contains(dir, "/../"), dir)
		}
		for _, task := range w.tasks {
			require.NotNil(t, w.undos[task.kind])
			require.NotEmpty(t, task.what)
		}
	})
}

// within is how long after a SIGKILL of the lab something of it may be left. With the race detector, processes are many times slower.
func within() time.Duration {
	if racing.Enabled {
		return 10 * time.Second
	}
	return time.Second
}

func TestSIGKILLOfTheLabLeavesNothing(t *testing.T) {
	for round := range 20 {
		t.Run(strconv.Itoa(round), func(t *testing.T) { killLab(t, "lab", rand.IntN(40)) })
	}
}

func TestSIGKILLBetweenStartAndRegistrationLeavesNothing(t *testing.T) {
	killLab(t, "hasty lab", 2) // the guard's line and the child's
}

// killLab kills a lab after it has said so many lines, whatever it is about to do then.
func killLab(t *testing.T, role string, after int) {
	lab := command(role)
	lab.Stderr = os.Stderr
	// Not the command's own pipe: its children hold the other end too, and Wait would close this one.
	out, theirs, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	lab.Stdout = theirs
	require.NoError(t, lab.Start())
	require.NoError(t, theirs.Close())

	lines := bufio.NewScanner(out)
	var said []string
	for range after {
		require.True(t, lines.Scan())
		said = append(said, lines.Text())
	}
	require.NoError(t, lab.Process.Kill())
	killed := time.Now()
	// The pipe ends when all who write to it are gone: the lab and its children.
	require.NoError(t, out.SetReadDeadline(killed.Add(time.Minute)))
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	require.NoError(t, lines.Err())
	_ = lab.Wait()

	left := leftOf(t, said)
	for len(left) > 0 && time.Since(killed) < within() {
		left = leftOf(t, said)
	}
	require.Empty(t, left)
	t.Logf("of %d lines nothing is left after %v", len(said), time.Since(killed))
}

// leftOf lists what is left of what a lab said that it had.
func leftOf(t *testing.T, said []string) []string {
	t.Helper()
	alive := living(t)
	var left []string
	for _, line := range said {
		fields := strings.Fields(line)
		switch fields[0] {
		case "guard", "group", "pids":
			for _, pid := range fields[1:] {
				if alive[atoi(t, pid)] {
					left = append(left, line)
				}
			}
		case "dir":
			if _, err := os.Stat(fields[1]); !errors.Is(err, os.ErrNotExist) {
				left = append(left, line)
			}
		}
	}
	return left
}

func TestGuardOutlivesSignalsFromATerminal(t *testing.T) {
	g := startGuard(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		require.NoError(t, g.cmd.Process.Signal(sig))
	}
	p, err := g.Start(exec.Command("/bin/sh", "-c", "exit 0"))
	require.NoError(t, err)
	<-p.Done()
	require.NoError(t, p.Err())
	group, err := exec.Command("ps", "-o", "pgid=", "-p", itoa(g.cmd.Process.Pid)).Output()
	require.NoError(t, err)
	require.Equal(t, itoa(g.cmd.Process.Pid), strings.TrimSpace(string(group)), "Ctrl-C goes to the terminal's group")
}
