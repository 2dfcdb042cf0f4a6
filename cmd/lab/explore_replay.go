package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/live"
	"github.com/locklab/locklab/scenarios/replay"
	"github.com/locklab/locklab/sim/explore"
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
func (f *exploreFlags) replayOne(cmd *cobra.Command, lock impls.Spec, trace *explore.Trace) (int, error) {
	if trace == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "lab: there is no counterexample, so nothing is replayed")
		return codeExpected, nil
	}
	return f.play(cmd, []replay.Race{{Lock: lock, Faults: replay.All, Trace: trace}})
}

// replayAll plays what each kind of fault alone, and any two together, lead to first, for every lock.
func (f *exploreFlags) replayAll(cmd *cobra.Command) (int, error) {
	locks := impls.All()
	found := make([][]replay.Race, len(locks))
	errs := make([]error, len(locks))
	places := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for i, lock := range locks {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			found[i], errs[i] = replay.Races(cmd.Context(), lock, explore.Config{States: explore.ReviewedStates})
		})
	}
	wg.Wait()
	if context.Cause(cmd.Context()) != nil {
		return codeUnknown, nil // the signal's code comes before it
	}
	var races []replay.Race
	for i, lock := range locks {
		if errs[i] != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%-28s not replayed: %v\n", lock.Name, errs[i])
		}
		races = append(races, found[i]...)
	}
	return f.play(cmd, races)
}

// play writes races as scripts and plays them. It says of each whether it showed live what the model had shown.
func (f *exploreFlags) play(cmd *cobra.Command, races []replay.Race) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return codeFailed, err
	}
	dir, err := os.MkdirTemp("", "locklab-replay-")
	if err != nil {
		return codeFailed, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	world, err := live.Open(cmd.Context(), live.Config{Dir: dir, Guard: []string{self, "guard"}, Server: f.server, CellTimeout: time.Minute})
	if err != nil {
		return codeFailed, err
	}
	defer func() { err = errors.Join(err, world.Close()) }()

	nothing, err := scenarios.ParseExpected("", nil) // what is expected, the scripts say
	if err != nil {
		return codeFailed, err
	}
	byName := map[string]replay.Race{}
	var cases []cells.Case
	for _, race := range races {
		script, err := race.Parsed()
		if err != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%-28s %-14s not replayed: %v\n", race.Lock.Name, race.Faults, err)
			continue
		}
		script.Name = race.Name()
		byName[script.Name] = race
		subject := cells.SubjectOf(race.Lock, []string{self, "worker"})
		cases = append(cases, cells.Plan([]*scenarios.Script{script}, []cells.Subject{subject}, f.count, cells.Expect(nothing, impls.All()))...)
	}
	ended, err := cells.RunAll(cmd.Context(), cases, cells.Order{Parallel: replaysAtATime * runtime.NumCPU()}, silent{}, world.Run)
	if err != nil {
		return codeFailed, err
	}
	return f.tellReplays(cmd, ended, byName), nil
}

// tellReplays writes one line for each race, with how often it showed what it should.
func (f *exploreFlags) tellReplays(cmd *cobra.Command, ended []checker.Cell, races map[string]replay.Race) int {
	code, all := codeExpected, 0
	for start := 0; start < len(ended); {
		name, shown, of, why := ended[start].Scenario, 0, 0, ""
		for ; start < len(ended) && ended[start].Scenario == name; start++ {
			of++
			reason, ok := races[name].Shown(ended[start])
			if ok {
				shown++
			} else {
				why = ": " + reason
			}
		}
		race := races[name]
		fmt.Fprintf(cmd.OutOrStdout(), "%-28s %-14s %d/%d on %s show %v%s\n",
			race.Lock.Name, race.Faults, shown, of, f.server, race.Trace.Anomalies, why)
		if shown < of {
			code = codeSurprise
		}
		all++
	}
	what := "counterexamples"
	if all == 1 {
		what = "counterexample"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d %s replayed\n", all, what)
	return code
}
