// Package lab runs locks through scenarios, storms and the explorer, and reads what earlier runs have saved.
//
//	run, err := lab.RunScenarios(ctx, lab.Suite{Locks: []impls.Spec{mylock.Spec()}}, lab.Options{})
//	fmt.Println(run.Outcome())
//
// A lock is an impls.Spec: one that comes with the lab (impls.Find), or your own. A scenario is a scenarios.Script. Verdicts are those of package
// checker. A library that is not written for impls.Env is tested by package locktest.
//
// The package owns plain types for plans and results. It must not decide anything: internal/lab does the work.
package lab

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	internal "github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/scenarios"
)

// World is where scenarios are played.
type World string

// The worlds.
const (
	Sim  World = "sim"  // models of servers and clients, in virtual time
	Live World = "live" // processes, connections and servers; the program calls Serve first
)

// Options say where cells run and what is kept of them. The zero Options keep nothing.
type Options struct {
	World World // empty: Sim for scenarios; storms are Live
	// Server is what clients lock on in the live world: embedded, redis-server, replicated, cluster, zookeeper, zookeeper-ensemble, or the
	// address of a running Redis; empty: embedded.
	Server string
	// Dir is a new directory for run.json, report.html, junit.xml and the histories; empty: nothing is written.
	Dir      string
	Parallel int           // cells at a time; zero: as many as suit the world
	Timeout  time.Duration // after which a cell is given up as unknown; zero: a minute, or what a storm may need
	// Cell receives each cell when it has ended, with its history, one call at a time.
	Cell func(Cell, []history.Event)
}

// Serve makes this program able to be the processes of the live world: they are started from its own binary, and clients know these locks. Call it
// first in main, or in TestMain. In such a process Serve does not return.
func Serve(locks ...impls.Spec) { internal.Serve(locks...) }

// Suite is every lock in every scenario.
type Suite struct {
	Locks     []impls.Spec
	Scenarios []*scenarios.Script // nil: all that come with the lab
	Repeat    int                 // how often each cell is run; zero: once
	// Expected has the verdicts that are expected. What it does not have is expected as the lab's own matrix says, or the script, or the lock's card.
	Expected *scenarios.Matrix
}

// RunScenarios runs a suite. The run has the cells that ended: one for each scenario, lock and repetition, in this order. An error is a failure
// of the lab, or the cause of ctx's end, and never a verdict.
func RunScenarios(ctx context.Context, suite Suite, opts Options) (*Run, error) {
	scripts := suite.Scenarios
	if scripts == nil {
		var err error
		if scripts, err = scenarios.Builtin(); err != nil {
			return nil, err
		}
	}
	reviewed, err := scenarios.BuiltinExpected()
	if err != nil {
		return nil, err
	}
	expect := internal.Expect(reviewed)
	if suite.Expected != nil {
		expect = internal.ExpectIn(suite.Expected, expect)
	}
	run, err := internal.Run(ctx, internal.Plan{
		Cases:   internal.Cases(scripts, internal.Subjects(suite.Locks...), max(1, suite.Repeat), expect),
		Options: opts.in(Sim),
	})
	return newRun(run), err
}

// in are the options for the library below, with a default world.
func (o Options) in(world World) internal.Options {
	if o.World != "" {
		world = o.World
	}
	out := internal.Options{
		Setting:  internal.Setting{World: string(world), Server: o.Server, Timeout: o.Timeout},
		Results:  internal.Results{Dir: o.Dir},
		Parallel: o.Parallel,
	}
	if o.Cell != nil {
		var mu sync.Mutex
		out.Played = func(cell record.Cell, events []history.Event) {
			mu.Lock()
			defer mu.Unlock()
			o.Cell(newCell(cell), events)
		}
	}
	return out
}

// errWorld is of a world that has no storms.
func errWorld(world World) error {
	return fmt.Errorf("storms run in the %s world, not in the %s world; remove Options.World", Live, world)
}
