//go:build linux || darwin

package live_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

// stormCase is a storm over a lock that comes with the lab.
func stormCase(t *testing.T, lock string, params storm.Params) lab.Case {
	t.Helper()
	if params.Lease == 0 {
		params.Lease = 500 * time.Millisecond
	}
	return lab.StormCase(subject(t, lock), storm.New(params), history.Counter, 1)
}

func countEvents(events []history.Event, match func(history.Event) bool) (n int) {
	for _, e := range events {
		if match(e) {
			n++
		}
	}
	return n
}

// TestStorm: every kind of fault strikes, clients that crash come back, then all faults end and every client acquires once more. A
// sound lock keeps its promises.
func TestStorm(t *testing.T) {
	needs.Long(t, "plays storms of every lock")
	t.Parallel()
	s := openStage(t, nil)
	cs := stormCase(t, "setpx-lua", storm.Params{Seed: 4, Clients: 4, Handles: 1, For: 5 * time.Second, Faults: storm.Kinds()})
	cell := s.Run(t.Context(), cs)
	require.Empty(t, cell.Failure)
	require.False(t, cell.Surprise(), "%v", cell.Verdict)
	require.NotEqual(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.Reason)
	events := s.history(t, cell)

	plan, err := os.ReadFile(filepath.Join(s.dir, cell.Dir, live.PlanFile))
	require.NoError(t, err)
	assert.Equal(t, cs.Storm.String(), string(plan))
	assert.Equal(t, len(cs.Storm.Strikes), cell.Storm.Planned)
	assert.Positive(t, cell.Storm.Faults)
	assert.Greater(t, cell.Storm.Operations, 10)

	struck := map[string]bool{}
	open := map[string]int{}
	for _, e := range events {
		if e.Kind != history.KindFault || e.Detail.Fault.Name == string(faults.Stall) {
			continue
		}
		f := e.Detail.Fault
		struck[f.Name] = true
		switch key := f.Name + " of " + f.Target; f.Phase {
		case history.PhaseEffective:
			open[key]++
		case history.PhaseRecover:
			open[key]--
		}
	}
	for _, name := range []string{"pause", "crash", "partition"} {
		assert.True(t, struck[name], "%s did not strike: %s", name, plan)
	}
	for i := range 4 {
		for _, name := range cs.Storm.Names(i) {
			opened := countEvents(events, func(e history.Event) bool { return e.Kind == history.KindOpen && e.Client == name })
			assert.Equal(t, 1, opened, name)
			for _, handle := range cs.Storm.HandlesIn(name) {
				used := countEvents(events, func(e history.Event) bool { return e.Kind == history.KindReturn && e.Client == handle })
				assert.True(t, used > 0 || name != cs.Storm.Names(i)[0], "%s was not used", handle)
			}
			assert.Zero(t, open["pause of "+name]+open["partition of "+name]+open["refuse of "+name], "what struck %s is over", name)
		}
	}
	quiet := slices.IndexFunc(events, func(e history.Event) bool {
		return e.Kind == history.KindStep && e.Detail.Text == "the storm is over, and all faults have ended"
	})
	require.Positive(t, quiet)
	got := countEvents(events[quiet:], func(e history.Event) bool {
		return e.Kind == history.KindReturn && e.Op == history.OpAcquire && e.Outcome == history.OK
	})
	assert.Equal(t, 4+2, got, "in the quiet phase everybody gets the lock, those too that share a process")
}

// TestAStormCatchesALock that is none: it takes no fault to see that.
func TestAStormCatchesALock(t *testing.T) {
	s := openStage(t, nil)
	cell := s.Run(t.Context(), stormCase(t, "local", storm.Params{Seed: 1, Clients: 3, For: time.Second}))
	require.Empty(t, cell.Failure)
	require.NotNil(t, cell.Storm.First, "%v", cell.Verdict)
	assert.Equal(t, checker.DoubleHolder, cell.Storm.First.Name)
	assert.False(t, cell.Surprise())
}

// TestAStuckLockIsCaught: whoever crashes with a lock that has no lease keeps it for ever.
func TestAStuckLockIsCaught(t *testing.T) {
	needs.Long(t, "a storm")
	s := openStage(t, nil)
	cell := s.Run(t.Context(), stormCase(t, "setnx-del", storm.Params{
		Seed: 1, Clients: 2, For: 4 * time.Second, Faults: []faults.Kind{faults.Crash},
	}))
	require.Empty(t, cell.Failure)
	require.NotNil(t, cell.Storm.First, "%v", cell.Verdict)
	assert.Equal(t, checker.StuckLock, cell.Storm.First.Name)
}

// TestAHeldRequestMeetsTheFault: the reply to a request that a strike has held is lost, because the link loses replies when it goes on. So are those of
// the other servers: what is sent to them is held as well.
func TestAHeldRequestMeetsTheFault(t *testing.T) {
	for _, lock := range []string{"setpx-lua", "redlock"} {
		t.Run(lock, func(t *testing.T) {
			if lock != "redlock" {
				needs.Long(t, "a lock on one server")
			}
			t.Parallel()
			s := openStage(t, nil)
			cs := stormCase(t, lock, storm.Params{Seed: 1, Clients: 1, For: 3 * time.Second, Lease: time.Second})
			cs.Storm.Strikes = []storm.Strike{{
				At: 100 * time.Millisecond, For: 300 * time.Millisecond, Client: "C1", Kind: faults.ReplyLost,
				Breakpoints: []faults.Breakpoint{{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchWrite}}},
			}}
			cell := s.Run(t.Context(), cs)
			require.Empty(t, cell.Failure)
			var order, arrived []string // arrived: what had happened when the first server had the request
			var op int64
			answered := history.OK
			for _, e := range s.history(t, cell) {
				switch f := e.Fault(); {
				case f != nil && (f.Name == string(faults.HoldRequest) || f.Name == string(faults.ReplyLost)) && f.Phase != history.PhaseInject:
					order = append(order, f.Name+" "+string(f.Phase))
				case e.Kind == history.KindCommand && len(order) > 0 && op == 0:
					op, arrived = e.ID, slices.Clone(order)
				case e.Kind == history.KindReturn && op != 0 && e.ID == op:
					answered = e.Outcome
				}
			}
			want := []string{"hold effective", "reply-lost effective", "hold recover", "reply-lost recover"}
			assert.Equal(t, want, slices.Compact(order), "the second and the last on each link")
			assert.Contains(t, arrived, "hold recover", "no server had the request before all links lost replies")
			if lock == "setpx-lua" { // redlock waits for each server for 50 ms only, and may have given up those
				assert.Equal(t, history.Unknown, answered)
			}
		})
	}
}

// TestAHoldersReleaseIsCaught: a strike at a moment that waits for a release catches that of the lock object that has the lock.
func TestAHoldersReleaseIsCaught(t *testing.T) {
	t.Parallel()
	for _, moment := range []storm.Moment{storm.Holder, storm.Taker} {
		t.Run(string(moment), func(t *testing.T) {
			if moment != storm.Taker {
				needs.Long(t, "one more moment")
			}
			t.Parallel()
			s := openStage(t, nil)
			cs := stormCase(t, "setpx-lua", storm.Params{Seed: 1, Clients: 1, Handles: 2, For: 3 * time.Second, Lease: time.Second})
			cs.Storm.Strikes = []storm.Strike{{
				At: 100 * time.Millisecond, For: 300 * time.Millisecond, Client: string(moment), Kind: faults.ReplyLost,
				Breakpoints: []faults.Breakpoint{{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchRemoval}}},
			}}
			cell := s.Run(t.Context(), cs)
			require.Empty(t, cell.Failure)
			var granted, held string // the lock objects that had the lock last, and whose request is held
			caught := history.Event{}
			for _, e := range s.history(t, cell) {
				f := e.Fault()
				switch {
				case held == "" && e.Kind == history.KindReturn && e.Op == history.OpAcquire && e.Outcome == history.OK:
					granted = e.Client
				case f != nil && f.Name == string(faults.HoldRequest) && f.Phase == history.PhaseEffective:
					held = f.Target
					assert.Equal(t, granted, held)
				case caught.ID == 0 && e.Kind == history.KindCommand && held != "" && e.Client == held:
					caught = e
				case caught.ID != 0 && e.Kind == history.KindReturn && e.ID == caught.ID:
					assert.Equal(t, history.Unknown, e.Outcome, "its reply was lost")
					caught.Outcome = e.Outcome
				}
			}
			assert.Equal(t, history.OpRelease, caught.Op)
			assert.Equal(t, history.Unknown, caught.Outcome)
		})
	}
}

// TestAStormLeavesNoProcess: those that came in the place of crashed ones end with the world, too.
func TestAStormLeavesNoProcess(t *testing.T) {
	needs.Long(t, "a storm")
	dir := t.TempDir()
	t.Setenv(pids, dir)
	s := openStage(t, nil)
	cs := stormCase(t, "setpx-lua", storm.Params{Seed: 1, Clients: 2, For: 4 * time.Second, Faults: []faults.Kind{faults.Crash}})
	require.Empty(t, s.Run(t.Context(), cs).Failure)
	require.NoError(t, s.close())
	started, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Greater(t, len(started), 2, "a client has crashed")
	for _, entry := range started {
		pid, err := strconv.Atoi(entry.Name())
		require.NoError(t, err)
		assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d is still there", pid)
	}
}

// TestAStormIsCutShort: what it showed counts; that it showed nothing does not. Nothing is left behind.
func TestAStormIsCutShort(t *testing.T) {
	t.Parallel()
	s := openStage(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	cell := s.Run(ctx, stormCase(t, "setpx-lua", storm.Params{Seed: 1, Clients: 2, For: time.Minute, Faults: storm.Defaults()}))
	require.Empty(t, cell.Failure)
	assert.Less(t, cell.Took, 30*time.Second)
	if cell.Verdict.Kind != checker.Broken {
		assert.Regexp(t, `^interrupted after \S+ of 1m0s$`, cell.Verdict.Reason)
	}
	assert.True(t, cell.Interrupted)
	assert.Nil(t, cell.Storm.First)
}

// TestAStormIsHeardOf while it goes on.
func TestAStormIsHeardOf(t *testing.T) {
	t.Parallel()
	s := openStage(t, nil)
	var heard []time.Duration
	cs := stormCase(t, "setpx-lua", storm.Params{Seed: 1, Clients: 2, For: 2500 * time.Millisecond})
	cs.GoesOn = func(lasted time.Duration, _ int64) { heard = append(heard, lasted) }
	require.Empty(t, s.Run(t.Context(), cs).Failure)
	assert.Equal(t, []time.Duration{time.Second, 2 * time.Second}, heard)
}

// TestAClientThatEndsByItself ends a storm: no verdict about the lock may come of it.
func TestAClientThatEndsByItself(t *testing.T) {
	s := openStage(t, nil)
	cs := stormCase(t, "setpx-lua", storm.Params{Seed: 1, Clients: 2, For: time.Minute})
	cs.Subject = foreign("setpx-lua", "die release")
	cs.Subject.Traits = play.Traits{Known: true}
	cell := s.Run(t.Context(), cs)
	require.Equal(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.String())
	assert.Contains(t, cell.Verdict.Reason, "client exited before replying: exit status 1")
}

// TestAFullHistoryEndsAStorm: what it had recorded by then is read back, and the verdict says who filled it.
func TestAFullHistoryEndsAStorm(t *testing.T) {
	const bound = 64 << 10
	s := openStage(t, func(c *live.Config) { c.MaxHistory = bound })
	cell := s.Run(t.Context(), stormCase(t, "setpx-lua", storm.Params{Seed: 1, Clients: 2, For: time.Minute, Work: time.Millisecond}))
	require.Empty(t, cell.Failure)
	require.Equal(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.String())
	assert.Regexp(t, `^the history is full \(0 MiB\): client C\d sent \d+ commands and notices$`, cell.Verdict.Reason)
	info, err := os.Stat(filepath.Join(s.dir, cell.Dir, play.HistoryFile))
	require.NoError(t, err)
	assert.Greater(t, info.Size(), int64(bound))
	assert.Less(t, info.Size(), int64(2*bound), "no command is recorded any more")
	assert.NotEmpty(t, s.history(t, cell))
}

// TestAStormEndsWhereNoReleaseIsAnswered: in the quiet phase no fault hinders a release, so it is not retried for long. The storm reports its
// progress meanwhile.
func TestAStormEndsWhereNoReleaseIsAnswered(t *testing.T) {
	needs.Long(t, "a storm")
	s := openStage(t, nil)
	plan := storm.New(storm.Params{Seed: 1, Clients: 2, Handles: 1, For: 2 * time.Second, Lease: 300 * time.Millisecond})
	cs := lab.StormCase(foreign("setpx-lua", "hang release"), plan, history.Counter, 1)
	var reported []time.Duration
	cs.GoesOn = func(lasted time.Duration, _ int64) { reported = append(reported, lasted) }
	cell := s.Run(t.Context(), cs)
	require.Empty(t, cell.Failure)
	events := s.history(t, cell)
	quiet := slices.IndexFunc(events, func(e history.Event) bool {
		return e.Kind == history.KindStep && e.Detail.Text == "the storm is over, and all faults have ended"
	})
	require.Positive(t, quiet)
	releases := map[string]int{}
	for _, e := range events[quiet:] {
		if e.Kind == history.KindReturn && e.Op == history.OpRelease {
			releases[e.Client]++
		}
	}
	assert.NotEmpty(t, releases)
	for client, tries := range releases {
		assert.Equal(t, 4, tries, "%s: each waits for 5/4 of a lease", client)
	}
	require.Greater(t, len(reported), 2, "also in the quiet phase")
	for i, lasted := range reported {
		assert.Equal(t, time.Duration(i+1)*time.Second, lasted)
	}
}
