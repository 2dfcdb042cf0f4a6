package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/scenarios"
)

var (
	mutants    = flag.Int("mutants", 0, "how many damaged histories are read by TestMutants, 0: 5, or 250 in full; of other kinds a part")
	mutantSeed = flag.Uint64("mutant-seed", 1, "the first seed of TestMutants")
)

// Bounds of a mutant, far beyond what one takes on a busy host. The files have at most 100 kB.
const (
	longestMutant = time.Minute
	mostAllocated = 1 << 30 // bytes, garbage included
)

// TestMutants damages files of each kind and reads them by the subcommands that do. None panics, none takes long or much memory, and each
// ends with an exit code that is documented for it.
//
//	go test ./cmd/lab -run TestMutants/histories -mutants 100000 -mutant-seed 5000
//
// .ci/mutants reads a million of them on all cores.
func TestMutants(t *testing.T) {
	for _, kind := range []struct {
		name string
		make func(*testing.T) damage
		part int // of -mutants is one in so many: some readers take long
	}{
		{"histories", damagedHistories, 1},
		{"run-files", damagedRunFiles, 2},
		{"packs", damagedPacks, 3},
		{"scripts", damagedScripts, 5},
		{"parts", damagedParts, 50},
		{"expectations", damagedExpectations, 10},
		{"shrink", damagedForShrink, 50},
	} {
		t.Run(kind.name, func(t *testing.T) {
			if kind.name == "shrink" {
				needs.Long(t, "what lab shrink makes of damaged histories")
			}
			damage, total := kind.make(t), &tally{codes: map[int]int{}, clock: startRunClock(t)}
			all := max(1, cmp.Or(*mutants, needs.Count(t, "damaged histories", 5, 250))/kind.part)
			for n := range all {
				total.read(t, *mutantSeed+uint64(n), damage)
			}
			t.Logf("read %d: exit codes %v; the slowest took %v (seed %d), the greediest %d kB (seed %d)",
				all, total.codes, total.longest.Round(time.Millisecond), total.slowest, total.most>>10, total.greediest)
		})
	}
}

// damage writes a damaged file, and returns the arguments of the lab that reads it, and how long that may take at most: zero, as long as it
// takes.
type damage func(t *testing.T, m mutator) (args []string, limit time.Duration)

// tally is what came of the mutants.
type tally struct {
	codes              map[int]int
	clock              *runClock
	longest            time.Duration
	most               uint64
	slowest, greediest uint64 // seeds
}

func (s *tally) read(t *testing.T, seed uint64, damage damage) {
	args, limit := damage(t, newMutator(seed))
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("seed %d: lab %v: panic: %v\n%s", seed, args, r, debug.Stack())
		}
	}()
	ctx := t.Context()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	var out, stderr bytes.Buffer
	began, before := s.clock.now(), allocated()
	code := carryOut(ctx, args, strings.NewReader(""), &out, &stderr)
	took, bytes := s.clock.now()-began, allocated()-before
	if took > s.longest {
		s.longest, s.slowest = took, seed
	}
	if bytes > s.most {
		s.most, s.greediest = bytes, seed
	}
	require.Less(t, took, longestMutant, "seed %d: lab %v", seed, args)
	require.Less(t, bytes, uint64(mostAllocated), "seed %d: lab %v", seed, args)
	require.Contains(t, []int{cli.CodeExpected, cli.CodeSurprise, cli.CodeUnknown, cli.CodeFailed, cli.CodeNothing, cli.CodeUsage}, code, "seed %d: lab %v", seed, args)
	if code == cli.CodeUsage {
		require.NotEmpty(t, stderr.String(), "seed %d: lab %v", seed, args)
	}
	require.NotContains(t, stderr.String(), "panic", "seed %d: lab %v", seed, args)
	s.codes[code]++
}

// runClock runs while the host runs this process: a long run of mutants beside other work must not mistake a host stall for a hang. It is
// coarse.
type runClock struct{ ticks atomic.Int64 }

const clockTick = 5 * time.Millisecond

func startRunClock(t *testing.T) *runClock {
	c, ticker, done := &runClock{}, time.NewTicker(clockTick), make(chan struct{})
	t.Cleanup(func() { ticker.Stop(); close(done) })
	go func() {
		for {
			select {
			case <-ticker.C: // after a stall once, not once for each period
				c.ticks.Add(1)
			case <-done:
				return
			}
		}
	}()
	return c
}

func (c *runClock) now() time.Duration { return time.Duration(c.ticks.Load()) * clockTick }

// allocated is how much memory this process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// smallRun is a saved run of one cell.
type smallRun struct {
	dir, cell            string
	runFile, history     []byte
	runFileAt, historyAt string
}

// smallRuns writes a run of one cell for each of the saved cells that say much. Of storms it keeps the beginning and the end.
func smallRuns(t *testing.T) []smallRun {
	t.Helper()
	var all []smallRun
	for _, source := range []string{"suite", "storm"} {
		saved, err := lab.ReadRun(filepath.Join("testdata", "runs", source))
		require.NoError(t, err)
		for _, cell := range saved.Cells {
			text, err := os.ReadFile(lab.HistoryPath(saved, cell))
			require.NoError(t, err)
			lines := bytes.SplitAfter(text, []byte("\n"))
			if len(lines) < 40 {
				continue
			}
			if cell.Storm != nil {
				last := len(lines) - 6 // faults, the data at the end, and the end
				lines = slices.Concat(lines[:200], lines[last:])
			}
			one := *saved
			one.Cells, one.Dir = []record.Cell{cell}, t.TempDir()
			r := smallRun{dir: one.Dir, cell: cell.Lock + "/" + cell.Scenario, history: bytes.Join(lines, nil), historyAt: lab.HistoryPath(&one, cell)}
			require.NoError(t, os.MkdirAll(filepath.Dir(r.historyAt), 0o755))
			require.NoError(t, os.WriteFile(r.historyAt, r.history, 0o600))
			require.NoError(t, rundir.WriteRun(r.dir, &one))
			r.runFileAt = filepath.Join(r.dir, rundir.RunFile)
			r.runFile, err = os.ReadFile(r.runFileAt)
			require.NoError(t, err)
			all = append(all, r)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// put writes a damaged file where a whole one is or was.
func put(t *testing.T, path string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, text, 0o600))
}

// reads is one of the subcommands that read a run.
func (r smallRun) reads(m mutator) []string {
	return pick(m, [][]string{{"check", r.dir}, {"check", "-v", r.dir}, {"check", "--json", r.dir}, {"explain", r.dir}, {"explain", r.dir, r.cell}})
}

func damagedHistories(t *testing.T) damage {
	runs := smallRuns(t)
	return func(t *testing.T, m mutator) ([]string, time.Duration) {
		r := pick(m, runs)
		text := m.history(r.history)
		switch m.IntN(6) {
		case 0:
			text = m.bytes(r.history)
		case 1: // as it is: mostly it is refused
		default:
			text = admitted(t, text)
		}
		put(t, r.historyAt, text)
		return r.reads(m), 0
	}
}

// admitted is a history without the lines for which it is refused, so that it comes to those who judge and show it.
func admitted(t *testing.T, text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for {
		_, err := history.Read(t.Context(), bytes.NewReader(bytes.Join(lines, nil)), "history")
		if err == nil {
			return bytes.Join(lines, nil)
		}
		lines = without(lines, err)
	}
}

// without leaves out the line that an error names.
func without(lines [][]byte, err error) [][]byte {
	parts := strings.SplitN(err.Error(), ":", 3)
	n, wrong := strconv.Atoi(parts[1])
	if wrong != nil || n < 1 || n > len(lines) {
		return nil
	}
	return slices.Delete(lines, n-1, n)
}

// accepted is a script without the lines that are refused one by one.
func accepted(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for range lines {
		_, err := scenarios.Parse("script", bytes.Join(lines, nil))
		var wrong scenarios.Errors
		if !errors.As(err, &wrong) || len(lines) < 3 {
			break
		}
		switch what := wrong[0].Error(); {
		case strings.Contains(what, "no lease is given"):
			lines = slices.Insert(lines, 0, []byte("lease 2s\n"))
		case strings.Contains(what, "no clients are given"):
			lines = slices.Insert(lines, 0, []byte("clients C1 C1.b C2 C3\n"))
		default:
			lines = without(lines, wrong[0])
		}
	}
	return bytes.Join(lines, nil)
}

// damagedForShrink are damaged histories of locks that were caught. Shrinking is cut short: it may well take minutes.
func damagedForShrink(t *testing.T) damage {
	runs := slices.DeleteFunc(smallRuns(t), func(r smallRun) bool { return !bytes.Contains(r.runFile, []byte(`"anomalies"`)) })
	return func(t *testing.T, m mutator) ([]string, time.Duration) {
		r := pick(m, runs)
		put(t, r.historyAt, admitted(t, m.history(r.history)))
		return []string{"shrink", r.dir, "--world", "sim"}, 150 * time.Millisecond
	}
}

func damagedRunFiles(t *testing.T) damage {
	runs := smallRuns(t)
	out := filepath.Join(t.TempDir(), "out")
	return func(t *testing.T, m mutator) ([]string, time.Duration) {
		r := pick(m, runs)
		damaged := m.json
		if m.IntN(4) == 0 {
			damaged = m.bytes
		}
		put(t, r.runFileAt, damaged(r.runFile))
		switch n := m.IntN(200); {
		case n < 20:
			require.NoError(t, os.RemoveAll(out))
			return []string{"run", "--world", "sim", "take-turns", "--lock", "setpx-lua", "--out", out, "--baseline", r.dir}, 0
		case n == 20:
			return []string{"shrink", r.dir, "--world", "sim"}, 150 * time.Millisecond
		}
		return r.reads(m), 0
	}
}

func damagedScripts(t *testing.T) damage {
	builtin, err := scenarios.Builtin()
	require.NoError(t, err)
	var texts [][]byte
	var vocabulary []string
	for _, script := range builtin {
		text, ok := scenarios.Source(script.Name)
		require.True(t, ok)
		texts = append(texts, []byte(text))
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				vocabulary = append(vocabulary, strings.Fields(line)...)
			}
		}
	}
	locks := append(naming.LockNames(impls.Every()), slices.Repeat([]string{"setpx-lua", "watchdog", "redisson", "redlock"}, 10)...) // to which most scripts apply
	dir := t.TempDir()
	path, out := filepath.Join(dir, "damaged.lab"), filepath.Join(dir, "out")
	return func(t *testing.T, m mutator) ([]string, time.Duration) {
		text := pick(m, texts)
		switch m.IntN(8) {
		case 0:
			text = m.bytes(text)
		case 1: // as it is: mostly it is refused
			text = m.words(text, vocabulary)
		default:
			text = accepted(m.words(text, vocabulary))
		}
		put(t, path, text)
		require.NoError(t, os.RemoveAll(out))
		return []string{"run", path, "--world", "sim", "--lock", pick(m, locks), "--out", out}, 0
	}
}

// reviewedMatrix is where it lies in the sources.
var reviewedMatrix = filepath.Join("scenarios", "expected.txt")

// damagedExpectations are read before it is found that a part of the cells is empty.
func damagedExpectations(t *testing.T) damage {
	whole, err := os.ReadFile(filepath.Join("..", "..", reviewedMatrix))
	require.NoError(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Dir(reviewedMatrix), 0o755))
	args := []string{"run", "pause-past-lease", "--lock", "setpx-lua", "--update", "--shard", "2/2"}
	put(t, reviewedMatrix, whole)
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.CodeNothing, carryOut(t.Context(), args, strings.NewReader(""), &stdout, &stderr), "undamaged: %s", stderr.String())
	var vocabulary []string
	for _, d := range checker.Definitions() {
		vocabulary = append(vocabulary, string(d.Name), string(d.Name)+",")
	}
	vocabulary = append(slices.Concat(vocabulary, naming.LockNames(impls.Every())), "safe", "n/a:", "unknown", "#", "setpx-del/no-token")
	return func(t *testing.T, m mutator) ([]string, time.Duration) {
		from := m.IntN(len(lines) - 40)
		text := bytes.Join(lines[from:from+40], nil)
		if m.IntN(4) == 0 {
			text = m.bytes(text)
		} else {
			text = m.words(text, vocabulary)
		}
		put(t, reviewedMatrix, text)
		return args, 0
	}
}
