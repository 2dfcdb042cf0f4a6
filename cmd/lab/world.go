package main

import (
	"context"
	"errors"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/report"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/live"
	"github.com/locklab/locklab/scenarios/sim"
)

// The worlds that --world can name.
const (
	worldLive = "live"
	worldSim  = "sim"
)

// world is where cells run.
type world interface {
	Run(context.Context, cells.Case) checker.Cell
	ServerVersion() string
	ToxiproxyVersion() string
	Close() error
}

// settleWorld looks at --world, and settles the flags that are different there.
func (f *runFlags) settleWorld(cmd *cobra.Command) error {
	switch f.world {
	case worldLive:
		return nil
	case worldSim:
	default:
		return unknown("world", f.world, []string{worldLive, worldSim}, "--world takes live or sim")
	}
	for _, none := range []struct{ flag, why string }{
		{"client", "a client is a program, and the model runs none"},
		{"server", "the model has servers of its own"},
		{"toxiproxy", "in the model no bytes pass"},
		{"listen", "in the model no bytes pass"},
		{"advertise", "in the model no bytes pass"},
		{"questions", "in the model nobody has to ask what a server has"},
		{"update", "what is expected is reviewed in the live world"},
	} {
		if cmd.Flags().Changed(none.flag) {
			return usagef("--world sim and --%s do not go together: %s", none.flag, none.why)
		}
	}
	f.server, f.toxiproxy, f.listen, f.advertise = live.Embedded, "", "", "" // whatever the environment says
	if !cmd.Flags().Changed("parallel") {
		f.parallel = runtime.NumCPU() // its cells do not wait
	}
	return nil
}

// openWorld opens the world of a run.
func (f *runFlags) openWorld(ctx context.Context, run *checker.Run) (world, error) {
	if f.world == worldSim {
		return sim.Open(sim.Config{Dir: run.Dir, CellTimeout: f.timeout, Wait: f.wait}), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w, err := live.Open(ctx, live.Config{
		Dir: run.Dir, Guard: []string{self, "guard"}, Server: f.server, Toxiproxy: f.toxiproxy, Listen: f.listen, Advertise: f.advertise,
		CellTimeout: f.timeout, NoQuestions: !f.questions, Wait: f.wait,
	})
	if err != nil {
		return nil, err // w holds a nil pointer, and so is not nil itself
	}
	return w, nil
}

// prepare opens all that the cells need and that reports are written to. What is wrong with that must be said before the first
// cell, not after the last one.
func (f *runFlags) prepare(cmd *cobra.Command, run *checker.Run) (world, report.Sink, error) {
	w, err := f.openWorld(cmd.Context(), run)
	if err != nil {
		return nil, nil, err
	}
	sink, err := f.sinks(cmd, run)
	if err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	return w, sink, nil
}
