package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// script writes the counterexample as a script for lab run.
func (f *exploreFlags) script(cmd *cobra.Command, lock impls.Spec, found *trace.Trace) error {
	if found == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "lab: there is no counterexample, so %s is not written\n", f.out)
		return nil
	}
	script, err := reproduce.Script(lock, found)
	if err != nil {
		return usagef("--out: %v", err)
	}
	if err := os.WriteFile(f.out, scenarios.Format(script), 0o644); err != nil {
		return usagef("--out: %v", plainly(err))
	}
	on := live.RedisServer
	if lock.Needs == impls.OneZooKeeper {
		on = live.ZooKeeper
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "lab: %s is written; run it with: lab run %s --lock %s --server %s\n", f.out, f.out, lock.Name, on)
	return nil
}
