package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/trace"
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
