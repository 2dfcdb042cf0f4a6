package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/terminal"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/trace"
)

func (f *exploreFlags) checkReplay(cmd *cobra.Command) error {
	servers := replayServers()
	switch worlds := []string{lab.Live, lab.Sim}; {
	case !slices.Contains(servers, f.server):
		return unknown("server", f.server, servers, "--server takes "+enumerate(servers, "or"))
	case !slices.Contains(worlds, f.world):
		return unknown("world", f.world, worlds, "--world takes live or sim")
	case f.world == lab.Sim && cmd.Flags().Changed("server"):
		return usagef("--world sim has no server; remove --server")
	case f.count < 1:
		return usagef("--count must be at least 1, not %d", f.count)
	case f.replay && f.json:
		return usagef("--replay tells in text what it played; remove --json")
	}
	return nil
}

// replayServers are those that a counterexample is replayed on.
func replayServers() []string { return append(live.RedisServers(), live.ZooKeeper) }

// serverFor is the server on which a lock's scripts are played: that of the flag or, if none is given and the lock is on a ZooKeeper, a ZooKeeper. The
// error is of a lock that does not run there.
func serverFor(cmd *cobra.Command, lock impls.Spec, flag string) (string, error) {
	on := lock.Needs == impls.OneZooKeeper
	if on && !cmd.Flags().Changed("server") {
		flag = live.ZooKeeper
	}
	if on != (flag == live.ZooKeeper) {
		return flag, usagef("%s does not run on --server %s", lock.Name, flag)
	}
	return flag, nil
}

// replayOne plays the counterexample that was found.
func (f *exploreFlags) replayOne(cmd *cobra.Command, lock impls.Spec, found *trace.Trace) (int, error) {
	if found == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "lab: there is no counterexample, so nothing is replayed")
		return codeExpected, nil
	}
	return f.play(cmd, []reproduce.Counterexample{{Lock: lock, Faults: reproduce.All, Trace: found}})
}

// replayed are the lines of the table of breaking points whose locks run where the flags say.
func (f *exploreFlags) replayed() ([]points.Line, error) {
	lines, err := points.Reviewed()
	return slices.DeleteFunc(lines, func(l points.Line) bool {
		lock, found := impls.Find(l.Lock)
		return found && f.world != lab.Sim && (lock.Needs == impls.OneZooKeeper) != (f.server == live.ZooKeeper)
	}), err
}

// replayAll plays every counterexample that the table of breaking points names for the server. Each is found again first.
func (f *exploreFlags) replayAll(cmd *cobra.Command) (int, error) {
	lines, err := f.replayed()
	if err != nil {
		return codeFailed, err
	}
	meter := terminal.NewMeter(cmd.ErrOrStderr(), terminalOptions(cmd), f.quiet)
	began := time.Now()
	found, err := lab.Counterexamples(cmd.Context(), lines, func(done, lines int) {
		meter.Show(time.Since(began), fmt.Sprintf("found the counterexamples of %d/%d locks, %v", done, lines, time.Since(began).Round(time.Second)))
	})
	meter.Clear()
	if context.Cause(cmd.Context()) != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "lab: not complete: nothing was replayed yet")
		return codeUnknown, nil // the signal's code comes before it
	}
	if err != nil {
		return codeFailed, err
	}
	code := codeExpected
	var all []reproduce.Counterexample
	missed := fitted{width: terminalWidth(cmd.OutOrStdout())}
	for _, line := range found {
		head := fmt.Sprintf("%-24s ", line.Line.Lock)
		if line.Line.Why != "" {
			missed.hang(head, blank, "not replayed: "+line.Line.Why)
		}
		for _, err := range line.Missed {
			missed.hang(head, blank, fmt.Sprintf("not replayed: %v", err))
			code = codeSurprise
		}
		all = append(all, line.Counterexamples...)
	}
	fmt.Fprint(cmd.OutOrStdout(), missed.text.String())
	played, err := f.play(cmd, all)
	return worse(code, played), err
}

// play plays counterexamples and shows how they come out.
func (f *exploreFlags) play(cmd *cobra.Command, all []reproduce.Counterexample) (code int, err error) {
	screen := &replayScreen{
		out: cmd.OutOrStdout(), err: cmd.ErrOrStderr(), where: f.server, width: terminalWidth(cmd.OutOrStdout()), count: f.count, of: f.count * len(all),
		meter: terminal.NewMeter(cmd.ErrOrStderr(), terminalOptions(cmd), f.quiet), began: time.Now(),
	}
	if f.world == lab.Sim {
		screen.where = f.world
	}
	replays, err := lab.Replays(cmd.Context(), lab.ReplayPlan{
		Counterexamples: all, Count: f.count, Options: lab.Options{Setting: lab.Setting{World: f.world, Server: f.server, Alone: true}}, Played: screen.played,
	})
	screen.meter.Clear()
	interrupted := context.Cause(cmd.Context()) != nil
	if err != nil && !interrupted {
		return codeFailed, err
	}
	return screen.close(replays, interrupted), err
}

// failedPlay is the code of a play that did not show what it should.
func failedPlay(cell record.Cell) int {
	switch {
	case cell.Failure != "":
		return codeFailed
	case cell.Verdict.Kind == checker.Undecided:
		return codeUnknown
	}
	return codeSurprise
}
