package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/terminal"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

func (f *exploreFlags) checkReplay(cmd *cobra.Command) error {
	if err := f.where.Check(); err != nil {
		return err
	}
	switch {
	case f.where.World == lab.Sim && cmd.Flags().Changed("server"):
		return cli.Usagef("--world sim has no server; remove --server")
	case f.count < 1:
		return cli.Usagef("--count must be at least 1, not %d", f.count)
	case f.replay && f.json:
		return cli.Usagef("--replay tells in text what it played; remove --json")
	}
	return nil
}

// replayOne plays the counterexample that was found.
func (f *exploreFlags) replayOne(cmd *cobra.Command, lock impls.Spec, found *trace.Trace) (int, error) {
	if found == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "lab: there is no counterexample, so nothing is replayed")
		return cli.CodeExpected, nil
	}
	return f.play(cmd, []reproduce.Counterexample{{Lock: lock, Faults: reproduce.All, Trace: found}})
}

// replayed are the lines of the table of breaking points whose locks run where the flags say.
func (f *exploreFlags) replayed() ([]points.Line, error) {
	lines, err := points.Reviewed()
	return slices.DeleteFunc(lines, func(l points.Line) bool {
		lock, found := impls.Find(l.Lock)
		return found && f.where.World != lab.Sim && (lock.Needs == impls.OneZooKeeper) != (f.where.Server == live.ZooKeeper)
	}), err
}

// replayAll plays every counterexample that the table of breaking points names for the server. Each is found again first.
func (f *exploreFlags) replayAll(cmd *cobra.Command) (int, error) {
	lines, err := f.replayed()
	if err != nil {
		return cli.CodeFailed, err
	}
	meter := cli.Meter(cmd, f.quiet)
	began := time.Now()
	found, err := lab.Counterexamples(cmd.Context(), lines, func(done, lines int) {
		meter.Show(time.Since(began), fmt.Sprintf("found the counterexamples of %d/%d locks, %v", done, lines, time.Since(began).Round(time.Second)))
	})
	meter.Clear()
	if context.Cause(cmd.Context()) != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "lab: not complete: nothing was replayed yet")
		return cli.CodeUnknown, nil // the signal's code comes before it
	}
	if err != nil {
		return cli.CodeFailed, err
	}
	code := cli.CodeExpected
	var all []reproduce.Counterexample
	var missed strings.Builder
	miss := func(lock, why string) {
		missed.WriteString(cli.Hang(fmt.Sprintf("%-24s ", lock), blank, "not replayed: "+why, cli.Width(cmd.OutOrStdout())))
	}
	for _, line := range found {
		if line.Line.Why != "" {
			miss(line.Line.Lock, line.Line.Why)
		}
		for _, err := range line.Missed {
			miss(line.Line.Lock, err.Error())
			code = cli.CodeSurprise
		}
		all = append(all, line.Counterexamples...)
	}
	fmt.Fprint(cmd.OutOrStdout(), missed.String())
	played, err := f.play(cmd, all)
	return int(lab.Worse(lab.Outcome(code), lab.Outcome(played))), err
}

// play plays counterexamples and shows how they come out.
func (f *exploreFlags) play(cmd *cobra.Command, all []reproduce.Counterexample) (code int, err error) {
	screen := &replayScreen{
		out: cmd.OutOrStdout(), err: cmd.ErrOrStderr(), where: f.where.Server, width: cli.Width(cmd.OutOrStdout()), count: f.count, of: f.count * len(all),
		meter: cli.Meter(cmd, f.quiet), began: time.Now(),
	}
	if f.where.World == lab.Sim {
		screen.where = f.where.World
	}
	replays, err := lab.Replays(cmd.Context(), lab.ReplayPlan{
		Counterexamples: all, Count: f.count, Options: lab.Options{Setting: f.where.Setting()}, Played: screen.played,
	})
	screen.meter.Clear()
	interrupted := context.Cause(cmd.Context()) != nil
	if err != nil && !interrupted {
		return cli.CodeFailed, err
	}
	return screen.close(replays, interrupted), err
}

// failedPlay is the code of a play that did not show what it should.
func failedPlay(cell record.Cell) int {
	switch {
	case cell.Failure != "":
		return cli.CodeFailed
	case cell.Verdict.Kind == checker.Undecided:
		return cli.CodeUnknown
	}
	return cli.CodeSurprise
}

// script writes the counterexample as a script for lab run.
func (f *exploreFlags) script(cmd *cobra.Command, lock impls.Spec, found *trace.Trace) error {
	if found == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "lab: there is no counterexample, so %s is not written\n", f.out)
		return nil
	}
	script, err := reproduce.Script(lock, found)
	if err != nil {
		return cli.Usagef("--out: %v", err)
	}
	if err := cli.WriteScript(f.out, scenarios.Format(script)); err != nil {
		return err
	}
	on := live.RedisServer
	if lock.Needs == impls.OneZooKeeper {
		on = live.ZooKeeper
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "lab: %s is written; run it with: lab run %s --lock %s --server %s\n", f.out, f.out, lock.Name, on)
	return nil
}

// replayScreen shows how counterexamples come out: at once a play that did not show what it should, and in the end each counterexample.
type replayScreen struct {
	out, err io.Writer
	where    string
	count    int // plays of each
	of       int // plays of all
	plays    int
	width    int
	meter    *terminal.Meter
	began    time.Time
	code     int
}

// played takes in the end of a play.
func (s *replayScreen) played(p lab.Played) {
	s.plays++
	if !p.Shown {
		s.meter.Clear()
		s.worse(failedPlay(p.Cell))
		fmt.Fprintf(s.err, "lab: %s after %s, play %d of %d: %s\n", p.Lock.Name, p.Faults, p.Replay.Played, s.count, format.Clean(cmp.Or(p.Cell.Failure, p.Why)))
	}
	took := time.Since(s.began)
	s.meter.Show(took, fmt.Sprintf("played %d/%d, %v", s.plays, s.of, took.Round(time.Second)))
}

// entry says in one entry of a table what came of a counterexample.
func (s *replayScreen) entry(r *lab.Replay, format string, args ...any) {
	io.WriteString(s.out, cli.Hang(fmt.Sprintf("%-24s %-14s ", r.Lock.Name, r.Faults), strings.Repeat(" ", 40), fmt.Sprintf(format, args...), s.width))
}

func (s *replayScreen) worse(code int) {
	s.code = int(lab.Worse(lab.Outcome(s.code), lab.Outcome(code)))
}

// close sums up.
func (s *replayScreen) close(replays []*lab.Replay, interrupted bool) (code int) {
	always, played := 0, 0
	for _, r := range replays {
		if r.Err != nil {
			s.entry(r, "not replayed: %v", r.Err)
			if !errors.Is(r.Err, lab.ErrLongWait) {
				s.worse(cli.CodeSurprise)
			}
			continue
		}
		s.entry(r, "%d/%d on %s show %v", r.Shown, r.Played, s.where, r.Trace.Anomalies)
		played++
		if r.Shown == s.count {
			always++
		}
	}
	if played == 0 && len(replays) > 0 {
		s.worse(cli.CodeUnknown)
	}
	fmt.Fprintf(s.out, "%s replayed, %d shown every time\n", format.Plural(played, "counterexample", "counterexamples"), always)
	if interrupted {
		fmt.Fprintf(s.err, "lab: not complete: %d of %d plays have ended\n", s.plays, s.of)
		return cli.CodeUnknown
	}
	return s.code
}
