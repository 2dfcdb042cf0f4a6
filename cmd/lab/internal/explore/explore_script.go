package explore

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
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
