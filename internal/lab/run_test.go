package lab_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/rundir"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

func TestMain(m *testing.M) {
	lab.Serve(append(impls.All(), testLocks()...)...)
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil { // else each process under the race detector lingers for a second
		panic(err)
	}
	os.Exit(m.Run())
}

// observer writes down how a run goes on. A run calls it once at a time.
type observer struct {
	started, ended []string
	onStart, onEnd func(name string) error
}

func (o *observer) Handle(e report.Event) error {
	switch e.Kind {
	case report.CellStart:
		o.started = append(o.started, e.Cell.Dir)
		if o.onStart != nil {
			return o.onStart(e.Cell.Dir)
		}
	case report.CellEnd:
		o.ended = append(o.ended, e.Cell.Dir)
		if o.onEnd != nil {
			return o.onEnd(e.Cell.Dir)
		}
	}
	return nil
}

// inSim is a plan for the model.
func inSim(cases []lab.Case) lab.Plan {
	return lab.Plan{Cases: cases, Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Seed: 1}}
}

func subject(t *testing.T, lock string) play.Subject {
	t.Helper()
	spec, ok := impls.Find(lock)
	require.True(t, ok, lock)
	return play.SubjectOf(spec)
}

func script(t *testing.T, name, text string) *scenarios.Script {
	t.Helper()
	parsed, err := scenarios.Parse(name+".lab", []byte("# A test.\n"+text))
	require.NoError(t, err)
	return parsed
}

func builtin(t *testing.T, names ...string) (found []*scenarios.Script) {
	t.Helper()
	all, err := scenarios.Builtin()
	require.NoError(t, err)
	for _, name := range names {
		script, ok := scenarios.Find(all, name)
		require.True(t, ok, name)
		found = append(found, script)
	}
	return found
}

// quick are cells that end before anything is started, because neither lock renews itself.
func quick(t *testing.T, rounds int) []lab.Case {
	t.Helper()
	renewal := script(t, "quick", "lease 60s\nclients C1\nneeds renewal\nC1 acquire => ok")
	return lab.Cases([]*scenarios.Script{renewal}, []play.Subject{subject(t, "setnx-del"), subject(t, "setpx-lua")}, rounds, lab.Expect(nil))
}

func TestCases(t *testing.T) {
	cases := quick(t, 5)
	require.Equal(t, []string{"quick/setnx-del.1", "quick/setnx-del.2", "quick/setnx-del.3", "quick/setnx-del.4", "quick/setnx-del.5",
		"quick/setpx-lua.1", "quick/setpx-lua.2", "quick/setpx-lua.3", "quick/setpx-lua.4", "quick/setpx-lua.5"}, dirs(cases))
}

// dirs are where the cases' results lie: a name for each.
func dirs(cases []lab.Case) (dirs []string) {
	for _, c := range cases {
		dirs = append(dirs, c.Planned().Dir)
	}
	return dirs
}

func TestOrderFollowsTheSeed(t *testing.T) {
	resends := lab.Case{Subject: subject(t, "setpx-lua"), Round: 1,
		Script: script(t, "resends", "lease 60s\nclients C1\nneeds resend\nC1 acquire => ok")}
	cases := append(quick(t, 10), resends)
	order := func(seed int64, parallel int) []string {
		o := &observer{}
		plan := inSim(cases)
		plan.Seed, plan.Parallel, plan.Sink = seed, parallel, o
		run, err := lab.Run(t.Context(), plan)
		require.NoError(t, err)
		require.True(t, run.Finished)
		require.Len(t, run.Cells, len(cases))
		for i, cell := range run.Cells {
			assert.Equal(t, cases[i].Planned().Dir, cell.Dir, "the cells are returned in the order of the cases")
			assert.Equal(t, checker.NotApplicable, cell.Verdict.Kind)
		}
		assert.ElementsMatch(t, o.started, o.ended)
		return o.started
	}
	first := order(1, 1)
	assert.Equal(t, "resends/setpx-lua.1", first[0], "what waits longest begins first")
	assert.Equal(t, first, order(1, 1))
	assert.Equal(t, first, order(1, 4), "cells are started in the same order however many run")
	assert.NotEqual(t, first, order(2, 1))
}

func TestSinkStopsTheRun(t *testing.T) {
	enough := errors.New("enough")
	tests := map[string]struct {
		observer       *observer
		started, ended int
	}{
		"at the end of a cell": {&observer{onEnd: func(string) error { return enough }}, 1, 1},
		"at its start":         {&observer{onStart: func(string) error { return enough }}, 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := inSim(quick(t, 10))
			plan.Parallel, plan.Sink = 1, test.observer
			_, err := lab.Run(t.Context(), plan)
			require.ErrorIs(t, err, enough)
			assert.Len(t, test.observer.started, test.started)
			assert.Len(t, test.observer.ended, test.ended)
		})
	}
}

func TestFailFast(t *testing.T) {
	o := &observer{}
	plan := inSim(lab.Cases(builtin(t, "take-turns"), []play.Subject{subject(t, "setpx-lua")}, 20, func(*scenarios.Script, play.Subject) record.Expectation {
		return record.Expectation{By: record.ByMatrix, Verdict: checker.Verdict{Kind: checker.Broken}}
	}))
	plan.Parallel, plan.FailFast, plan.Sink = 1, true, o
	run, err := lab.Run(t.Context(), plan)
	require.NoError(t, err)
	assert.False(t, run.Finished)
	assert.Len(t, run.Cells, 1)
	assert.Equal(t, lab.Surprise, lab.OutcomeOf(run))
}

// TestCancelledRun ends a run while one cell is in the middle of a wait of a minute and others have not begun.
func TestCancelledRun(t *testing.T) {
	for _, kind := range []string{live.Embedded, live.RedisServer} {
		t.Run(kind, func(t *testing.T) {
			if kind == live.RedisServer {
				needs.Found(t, "redis", redis.Find)
			}
			long := script(t, "long", "lease 60s\nclients C1\nC1 acquire => ok\nwait until freed => no\nC1 release")
			cases := append(quick(t, 1), lab.Cases([]*scenarios.Script{long}, []play.Subject{subject(t, "setpx-lua")}, 20, lab.Expect(nil))...)

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := &observer{}
			o.onEnd = func(string) error { // both quick cells have ended, so two of the long ones are under way or about to be
				if len(o.ended) == 2 {
					cancel()
				}
				return nil
			}
			began := time.Now()
			// The seed is one by which the quick cells do not come last.
			run, err := lab.Run(ctx, lab.Plan{Cases: cases, Options: lab.Options{
				Setting: lab.Setting{Server: kind}, Parallel: len(cases), Seed: 1, Sink: o,
			}})
			require.ErrorIs(t, err, context.Canceled)
			assert.Less(t, time.Since(began), 30*time.Second)
			assert.False(t, run.Finished)
			require.GreaterOrEqual(t, len(run.Cells), 2)
			for _, cell := range run.Cells {
				assert.Equal(t, !strings.HasPrefix(cell.Dir, "quick/"), cell.Interrupted, cell.Dir)
				if cell.Interrupted {
					assert.Equal(t, checker.Verdict{Kind: checker.Undecided, Reason: "interrupted"}, cell.Verdict)
				}
			}
			assert.Subset(t, o.started, o.ended)
			assert.Len(t, slices.Compact(slices.Sorted(slices.Values(o.started))), len(o.started), "no cell is started twice")
		})
	}
}

func TestExpect(t *testing.T) {
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	expect := lab.Expect(matrix)
	known, mine := builtin(t, "take-turns")[0], script(t, "mine", "lease 60s\nclients C1\nC1 acquire => ok")
	safe := checker.Verdict{Kind: checker.Safe}
	assert.Equal(t, record.ByMatrix, expect(known, subject(t, "setnx-del")).By)
	assert.Equal(t, record.ByCard, lab.Expect(nil)(known, subject(t, "setnx-del")).By, "nothing was reviewed")
	namesake := script(t, known.Name, "lease 60s\nclients C1\nC1 acquire => ok")
	assert.Equal(t, record.ByCard, expect(namesake, subject(t, "setnx-del")).By, "the matrix is about the scripts of the lab")
	assert.Equal(t, record.Expectation{By: record.ByCard, Verdict: safe}, expect(mine, subject(t, "setpx-lua")))
	assert.Equal(t, record.Expectation{By: record.ByCard}, expect(mine, subject(t, "getset")), "anything may come of a lock with a known bug")
	assert.Equal(t, record.Expectation{By: record.ByDefault, Verdict: safe}, expect(mine, play.Subject{Name: "stranger"}))
}

// TestResultsAreKept: what a run leaves can be read again, whether its cells are few, and lie in files, or many, and are packed.
func TestResultsAreKept(t *testing.T) {
	for name, rounds := range map[string]int{"few": 1, "many": 60} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "runs", lab.NewID())
			surprise := lab.Cases(builtin(t, "take-turns"), []play.Subject{subject(t, "setpx-lua")}, 1, func(*scenarios.Script, play.Subject) record.Expectation {
				return record.Expectation{By: record.ByMatrix, Verdict: checker.Verdict{Kind: checker.Broken}}
			})
			plan := inSim(append(surprise, lab.Cases(builtin(t, "holder-crashes"),
				[]play.Subject{subject(t, "setpx-lua"), subject(t, "fenced")}, rounds, lab.Expect(nil))...))
			plan.Results = lab.Results{Dir: dir, Latest: true}
			run, err := lab.Run(t.Context(), plan)
			require.NoError(t, err)

			saved, err := lab.ReadRun(filepath.Join(dir, "..", "latest"))
			require.NoError(t, err)
			assert.True(t, saved.Finished)
			assert.Len(t, saved.Cells, len(plan.Cases))
			histories := lab.HistoriesOf(saved)
			for _, cell := range saved.Cells {
				events, err := histories.Read(cell)
				require.NoError(t, err, cell.Dir)
				assert.Equal(t, history.KindEnd, events[len(events)-1].Kind)
			}
			require.NoError(t, histories.Close())
			_, err = os.Stat(lab.HistoryPath(saved, saved.Cells[0]))
			require.NoError(t, err, "a surprise is a file of its own")
			_, err = os.Stat(filepath.Join(dir, lab.PackFile))
			assert.Equal(t, rounds == 1, errors.Is(err, fs.ErrNotExist), "%v", err)

			checked, err := lab.Check(t.Context(), dir, false, nil)
			require.NoError(t, err)
			assert.Empty(t, checked.Differs)
			assert.Equal(t, run.Cells, checked.Run.Cells)
			again := inSim(plan.Cases)
			again.Results.Dir = dir
			_, err = lab.Run(t.Context(), again)
			var dirErr *lab.DirError
			require.ErrorAs(t, err, &dirErr, "it holds a run already")
		})
	}
}

// TestRunsArePruned: the oldest runs go, and nothing that is no finished run of ours.
func TestRunsArePruned(t *testing.T) {
	runs := t.TempDir()
	for name, run := range map[string]*record.Run{
		"20200101-000000-0001": {Finished: true},
		"20200101-000000-0002": {Finished: false, Started: time.Now()}, // under way
		"20200101-000000-0003": {Finished: false},
		"20200101-000000-0004": nil, // no run
		"20200101-000000-0005": {Finished: true},
		"mine":                 {Finished: true},
	} {
		dir := filepath.Join(runs, name)
		require.NoError(t, os.Mkdir(dir, 0o755))
		if run != nil {
			require.NoError(t, rundir.WriteRun(dir, run))
		}
	}
	plan := inSim(quick(t, 1))
	plan.Results = lab.Results{Dir: filepath.Join(runs, lab.NewID()), Most: 2}
	_, err := lab.Run(t.Context(), plan)
	require.NoError(t, err)
	entries, err := os.ReadDir(runs)
	require.NoError(t, err)
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	assert.Equal(t, []string{"20200101-000000-0002", "20200101-000000-0004", "20200101-000000-0005", filepath.Base(plan.Results.Dir), "mine"}, left)
}

// TestABeginningThatFailsLeavesNothing: neither the results nor directories made for them.
func TestABeginningThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	plan := inSim(quick(t, 1))
	plan.World = "mars"
	plan.Results.Dir = filepath.Join(dir, "a", "b")
	_, err := lab.Run(t.Context(), plan)
	require.ErrorContains(t, err, `unknown world "mars"`)
	assert.NoDirExists(t, filepath.Join(dir, "a"))
}
