//go:build linux || darwin

package endtoend

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/servertest"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/rundir"
)

// TestInterruptedStorm interrupts storms of a broken lock, which is to be caught, and of a sound one, when holders have outlived their leases: an
// anomaly that a fault excuses shows neither that the one was not caught, nor that the other holds.
func TestInterruptedStorm(t *testing.T) {
	needs.Long(t, "interrupts a storm")
	for name, signal := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := start(t, "storm", "--lock", "setpx-getdel,setpx-lua", "--faults", "pause", "--for", "40s", "--seed", "1")
			for _, lock := range []string{"setpx-getdel.1", "setpx-lua.1"} {
				lab.awaitHistory(t, filepath.Join("storm", lock), `"name":"pause","target":"C\d","phase":"recover"`, 4)
			}
			lab.signal(t, signal)
			code := map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGKILL: -1}[signal]
			assert.Equal(t, code, lab.exitCode(t, patience), lab.said(t))
			lab.nothingLeft(t, 2*time.Second)
			dir, ok := lab.results(t)
			require.True(t, ok)
			code, out := lab.check(t, dir)
			assert.Equal(t, 2, code)
			run, err := rundir.ReadRun(dir)
			require.NoError(t, err)
			assert.False(t, run.Finished)
			assert.Len(t, verdicts(t, out), 2)
			assert.Equal(t, 2, strings.Count(string(out), `"interrupted":true`))
			assert.NotContains(t, string(out), "SURPRISE")
			if signal != syscall.SIGKILL {
				interruptedReports(t, lab, run)
			}
		})
	}
}

// interruptedReports asserts that the results of an interrupted storm say so, and accuse nobody.
func interruptedReports(t *testing.T, lab *lab, run *record.Run) {
	t.Helper()
	for _, cell := range run.Cells {
		assert.True(t, cell.Interrupted)
		assert.False(t, cell.Surprise())
		if cell.Storm.First == nil {
			assert.Equal(t, checker.Undecided, cell.Verdict.Kind)
			assert.Regexp(t, `^interrupted after \S+ of 40s$`, cell.Verdict.Reason)
		}
	}
	assert.Contains(t, read(t, lab.out), "CUT SHORT after 0 of 2 cells.")
	assert.Contains(t, read(t, lab.out), "interrupted after ")
	assert.NotContains(t, read(t, lab.out), "SURPRISE")
	assert.Contains(t, read(t, filepath.Join(run.Dir, "report.html")), "interrupted after ")
	var junit struct {
		Failures int `xml:"failures,attr"`
	}
	text := read(t, filepath.Join(run.Dir, "junit.xml"))
	require.NoError(t, xml.Unmarshal([]byte(text), &junit))
	assert.Zero(t, junit.Failures)
	assert.Contains(t, text, "interrupted after ")
}

// TestKilledRunElsewhere kills the lab in settings in which the reviewed table does not say what is n/a. What the cells that had ended came to
// must be found again without what the lab knew.
func TestKilledRunElsewhere(t *testing.T) {
	t.Parallel()
	needs.Found(t, "redis", redis.Find)
	guard := servertest.StartGuard(t)
	theirs, err := redis.Start(t.Context(), guard, redis.Options{})
	require.NoError(t, err)
	tests := map[string][]string{
		"an address": {"--server", theirs.Addr()},
		"cluster":    {"--server", "cluster"},
		"a client":   {"--server", theirs.Addr(), "--client", `exec "$LOCKLAB_TEST_BINARY" worker`, "--like", "setpx-lua"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			if name != "an address" {
				needs.Long(t, "one more setting")
			}
			lab := start(t, append([]string{"run", "--all", "--json"}, args...)...)
			lab.awaitCells(t, 20)
			require.NoError(t, lab.cmd.Process.Kill())
			lab.exitCode(t, patience)
			lab.nothingLeft(t, patience)
			dir, ok := lab.results(t)
			require.True(t, ok)
			code, out := lab.check(t, dir)
			assert.Equal(t, 2, code)
			assert.NotContains(t, string(out), "SURPRISE")
			again := verdicts(t, out)
			whole := read(t, lab.out)
			for cell, verdict := range verdicts(t, []byte(whole[:strings.LastIndex(whole, "\n")+1])) {
				assert.Equal(t, verdict, again[cell], cell)
			}
		})
	}
}

// awaitHistory waits until the history of a cell has what a pattern matches so many times.
func (l *lab) awaitHistory(t *testing.T, cell, pattern string, times int) {
	t.Helper()
	eventually(t, patience, func() error {
		found, err := filepath.Glob(filepath.Join(l.dir, "runs", "[0-9]*", cell, "history.jsonl"))
		if err != nil || len(found) == 0 {
			return os.ErrNotExist
		}
		if seen := len(regexp.MustCompile(pattern).FindAllString(read(t, found[0]), -1)); seen < times {
			return fmt.Errorf("%s has %s %d times", found[0], pattern, seen)
		}
		return nil
	})
}
