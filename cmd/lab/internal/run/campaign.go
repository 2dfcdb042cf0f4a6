package run

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// maxCells is how many cells a run may have; all of them are kept in memory.
const maxCells = 100_000

// campaign is what lab run and lab storm have in common: locks, or clients, are tested in many cells of one setting.
type campaign struct {
	where    option.Setting
	subjects option.Subjects
	results  option.Results
	screen   option.Screen
	shard    option.Shard
	faults   []string
	workload string
	count    int // of each cell
	parallel int
	seed     int64
}

// bindWork binds the flags about what clients do.
func (c *campaign) bindWork(flags *pflag.FlagSet) {
	flags.StringVar(&c.workload, "workload", string(history.Counter), "use the workload `NAME` in scenarios that name none; see lab list workloads")
	flags.StringVar(&c.where.Wait, "wait", "", "`HOW` clients wait between tries: sleep:200ms, spin, yield, backoff:1ms,1s,7, wake, ... (default: as each lock does)")
}

// bindShown binds the flags about results.
func (c *campaign) bindShown() *pflag.FlagSet {
	shown := cli.FlagSet()
	c.results.Bind(shown)
	c.screen.Bind(shown)
	return shown
}

func (c *campaign) complete(cmd *cobra.Command) {
	cli.CompleteFlag(cmd, "lock", naming.CompleteLocks)
	cli.CompleteFlag(cmd, "workload", naming.CompleteWorkloads())
	cli.CompleteFlag(cmd, "wait", naming.CompleteWaiting())
	c.where.Complete(cmd)
}

// begin looks at flags that depend on others, or mean something else when they are left out.
func (c *campaign) begin(cmd *cobra.Command) error {
	cli.CollectLess()
	if err := c.where.Settle(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("parallel") && c.parallel < 1 {
		return cli.Usagef("--parallel must be at least 1, not %d", c.parallel)
	}
	return c.subjects.Check(cmd)
}

// check finds what is wrong with the values of flags by themselves.
func (c *campaign) check() error {
	if c.count < 1 {
		return cli.Usagef("--count must be at least 1, not %d", c.count)
	}
	if err := c.results.Check(); err != nil {
		return err
	}
	if c.where.Server == live.Cluster && len(c.subjects.Programs) > 0 {
		return cli.Usagef("--server %s and --client do not go together: the lab cannot tell a program which of its links leads to the server that it is to follow; take --server replicated", c.where.Server)
	}
	return c.where.Check()
}

// options are those of the run that is shown on a screen.
func (c *campaign) options(cmd *cobra.Command, screen report.Sink) (lab.Options, error) {
	shard, err := c.shard.Parse()
	if err != nil {
		return lab.Options{}, err
	}
	sink, err := c.results.Sink(screen, cmd.ErrOrStderr())
	return lab.Options{
		Setting: c.where.Setting, Results: c.results.Plan(), Parallel: c.parallel, Seed: c.seed, Sink: sink, Command: os.Args[1:], Shard: shard,
	}, err
}
