//go:build linux || darwin

package endtoend

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/report/rundir"
)

// enough cells are known for a test that interrupts a run.
const enough = 3

// TestInterruptedLab ends a run in the middle, as people and schedulers do.
func TestInterruptedLab(t *testing.T) {
	tests := map[string]struct {
		signals []syscall.Signal
		args    []string
		code    int
	}{
		"Ctrl-C":                  {[]syscall.Signal{syscall.SIGINT}, []string{"--all", "--server", "embedded"}, 130},
		"Ctrl-C, redis-server":    {[]syscall.Signal{syscall.SIGINT}, []string{"--all", "--server", "redis-server"}, 130},
		"timeout(1)":              {[]syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, []string{"--all", "--server", "embedded"}, 143},
		"SIGTERM, foreign client": {[]syscall.Signal{syscall.SIGTERM}, []string{"--client", deafChild, "--like", "setpx-lua", "--count", "5"}, 143},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "redis-server") {
				needs.Found(t, "redis", redis.Find)
			}
			if name != "Ctrl-C" {
				needs.Long(t, "one more way to end it")
			}
			t.Parallel()
			lab := start(t, append([]string{"run", "--json"}, test.args...)...)
			lab.awaitCells(t, enough)
			for _, signal := range test.signals {
				lab.signal(t, signal)
			}
			assert.Equal(t, test.code, lab.exitCode(t, 5*time.Second), lab.said(t))
			lab.nothingLeft(t, time.Second)
			partialResults(t, lab)
		})
	}
}

// partialResults asserts that what was known when the run was interrupted is shown, saved, and judged alike once more.
func partialResults(t *testing.T, lab *lab) {
	t.Helper()
	dir, ok := lab.results(t)
	require.True(t, ok)
	run, err := rundir.ReadRun(dir)
	require.NoError(t, err)
	assert.False(t, run.Finished)
	assert.FileExists(t, filepath.Join(dir, "junit.xml"))
	assert.FileExists(t, filepath.Join(dir, "report.html"))

	shown := read(t, lab.out)
	assert.Contains(t, shown, `"event":"run-end"`)
	ended := verdicts(t, []byte(shown))
	assert.GreaterOrEqual(t, len(ended), enough)
	_, judged := lab.check(t, dir)
	again, saved := verdicts(t, judged), saved(t, dir)
	for cell, verdict := range ended {
		assert.Equal(t, verdict, saved[cell], cell)
		assert.Equal(t, verdict, again[cell], cell)
	}
	for _, cell := range run.Cells {
		if ended[cell.Dir] != "" {
			assert.Empty(t, cell.Failure)
			assert.False(t, cell.Surprise(), "%s/%s: %s", cell.Lock, cell.Scenario, cell.Verdict)
		}
	}
}

// TestInterruptedTextIsBrief looks at what people see, and at the link to the newest run.
func TestInterruptedTextIsBrief(t *testing.T) {
	needs.Long(t, "interrupts a run that prints a text")
	t.Parallel()
	lab := start(t, "run", "take-turns", "pause-past-lease", "--count", "5")
	eventually(t, patience, func() error {
		_, err := os.Stat(filepath.Join(lab.dir, "runs", "latest", "take-turns"))
		return err
	})
	lab.signal(t, syscall.SIGINT)
	require.Equal(t, 130, lab.exitCode(t, 5*time.Second), lab.said(t))
	assert.Regexp(t, `^((unknown  .*\n(         .*\n)*)+\n)?(Unknown\n(  \?\? .*\n(     .*\n)+)+\n)?CUT SHORT after \d+ of 340 cells\.\n\d+ cells?: .*\n(by lab .*\n)?\nNext\n(  .*\n)+$`, read(t, lab.out))
	assert.Contains(t, read(t, lab.err), "lab: interrupted")
	run, err := rundir.ReadRun(filepath.Join(lab.dir, "runs", "latest"))
	require.NoError(t, err)
	assert.False(t, run.Finished)
	lab.nothingLeft(t, time.Second)
}

// TestImpatientInterrupt asks twice: the lab then ends at once, and its guard cleans up.
func TestImpatientInterrupt(t *testing.T) {
	needs.Long(t, "a second signal")
	t.Parallel()
	lab := start(t, "run", "take-turns", "--json")
	lab.awaitCells(t, 1)
	lab.signal(t, syscall.SIGINT)
	lab.signal(t, syscall.SIGTERM)
	assert.Contains(t, []int{130, 143}, lab.exitCode(t, 5*time.Second))
	lab.nothingLeft(t, time.Second)
	dir, ok := lab.results(t)
	require.True(t, ok)
	lab.check(t, dir)
}
