package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/lab"
	"github.com/locklab/locklab/report"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/live"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/scenarios/replay"
	"github.com/locklab/locklab/sim/explore"
	"github.com/locklab/locklab/sim/points"
	"github.com/locklab/locklab/sim/trace"
)

// replaysAtATime is how many counterexamples are played side by side, for each core: they mostly wait.
const replaysAtATime = 4

func (f *exploreFlags) checkReplay() error {
	servers := []string{live.Embedded, live.RedisServer}
	switch {
	case !slices.Contains(servers, f.server):
		return unknown("server", f.server, servers, "--server takes embedded or redis-server")
	case f.count < 1:
		return usagef("--count must be at least 1, not %d", f.count)
	case f.replay && f.json:
		return usagef("--replay tells in text what it played; take --json out")
	}
	return nil
}

// replayOne plays the counterexample that was found on a real server.
func (f *exploreFlags) replayOne(cmd *cobra.Command, lock impls.Spec, found *trace.Trace) (int, error) {
	if found == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "lab: there is no counterexample, so nothing is replayed")
		return codeExpected, nil
	}
	return f.play(cmd, []replay.Race{{Lock: lock, Faults: replay.All, Trace: found}})
}

// replayAll plays every counterexample that the table of breaking points names. Each is found anew.
func (f *exploreFlags) replayAll(cmd *cobra.Command) (int, error) {
	lines, err := points.Reviewed()
	if err != nil {
		return codeFailed, err
	}
	hunts := make([]hunt, len(lines))
	places := make(chan struct{}, runtime.NumCPU())
	found := report.NewMeter(cmd.ErrOrStderr(), terminalOptions(cmd), f.quiet)
	began, done := time.Now(), 0
	var wg sync.WaitGroup
	var telling sync.Mutex
	for i, line := range lines {
		wg.Go(func() {
			places <- struct{}{}
			hunts[i].search(cmd.Context(), line)
			<-places
			telling.Lock()
			defer telling.Unlock()
			done++
			found.Show(time.Since(began), fmt.Sprintf("found the counterexamples of %d/%d locks, %v", done, len(lines), time.Since(began).Round(time.Second)))
		})
	}
	wg.Wait()
	found.Clear()
	if context.Cause(cmd.Context()) != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "lab: not complete: nothing was replayed yet")
		return codeUnknown, nil // the signal's code comes before it
	}
	code := codeExpected
	var races []replay.Race
	for i, line := range lines {
		if line.Why != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "%-24s not replayed: %s\n", line.Lock, line.Why)
		}
		for _, err := range hunts[i].missed {
			fmt.Fprintf(cmd.OutOrStdout(), "%-24s not replayed: %v\n", line.Lock, err)
			code = codeSurprise
		}
		races = append(races, hunts[i].races...)
	}
	played, err := f.play(cmd, races)
	return worse(code, played), err
}

// hunt is the search for the counterexamples of one line of the table.
type hunt struct {
	races  []replay.Race
	missed []error
}

func (h *hunt) search(ctx context.Context, line points.Line) {
	lock, known := impls.Find(line.Lock)
	if !known {
		h.missed = append(h.missed, fmt.Errorf("%s is in the table of breaking points, and no lock", line.Lock))
		return
	}
	for _, point := range line.Points() {
		found, err := point.Find(ctx, lock, explore.Config{States: points.LongestStates})
		if err != nil {
			h.missed = append(h.missed, err)
			continue
		}
		h.races = append(h.races, replay.Race{Lock: lock, Faults: point.Faults, Trace: found})
	}
}

// play writes races as scripts and plays them. It says of each whether it showed live what the model had shown.
func (f *exploreFlags) play(cmd *cobra.Command, races []replay.Race) (code int, err error) {
	stage := &stage{
		out: cmd.OutOrStdout(), err: cmd.ErrOrStderr(), server: f.server, count: f.count, byName: map[string]*playing{},
		meter: report.NewMeter(cmd.ErrOrStderr(), terminalOptions(cmd), f.quiet), began: time.Now(),
	}
	var cases []lab.Case
	for _, race := range races {
		script, err := race.Parsed()
		if err != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%-24s %-14s not replayed: %v\n", race.Lock.Name, race.Faults, err)
			code = codeSurprise
			continue
		}
		script.Name = race.Name()
		stage.add(script.Name, race)
		cases = append(cases, lab.Cases([]*scenarios.Script{script}, []play.Subject{play.SubjectOf(race.Lock)}, f.count, lab.Expect(nil))...)
	}
	_, err = lab.Run(cmd.Context(), lab.Plan{Cases: cases, Options: lab.Options{
		Setting: lab.Setting{Server: f.server}, Parallel: replaysAtATime * runtime.NumCPU(), Sink: stage,
	}})
	stage.meter.Clear()
	interrupted := context.Cause(cmd.Context()) != nil
	if err != nil && !interrupted {
		return codeFailed, err
	}
	return worse(code, stage.close(interrupted)), nil
}
