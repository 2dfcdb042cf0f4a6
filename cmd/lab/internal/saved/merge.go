package saved

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/explore"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/internal/lab"
)

// mergeFlags are the flags of lab merge as given.
type mergeFlags struct {
	screen  option.Screen
	results option.Results
	wait    time.Duration
}

// Merge is lab merge.
func Merge() *cobra.Command {
	flags := &mergeFlags{}
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Put the parts of a run that --shard made together into one run",
		Long: `Merge takes the results of all parts of a run, of a storm campaign, or of lab
explore --all, each made with --shard i/n on a machine of its own, and makes
them into one, which is reported, explained and checked like any other. The
order of the directories does not matter.

It refuses parts that overlap, of which one is missing, or that differ in the
version of the lab, in the server, in the seed, or in their flags.

The exit code is that of the whole: 0 as expected, 1 a surprise, 2 unknown, also
if a part was interrupted, 3 a failure of the lab; and 64 if parts are refused.`,
		Example: `  lab merge part-1 part-2 part-3
  lab merge parts/* --out runs/whole --junit junit.xml
  lab merge runs/part-0 runs/part-1 --wait 1h`,
		RunE: flags.run,
	}
	cmd.Flags().DurationVar(&flags.wait, "wait", 0, "wait up to `TIME` until every part is there and complete, as on a volume that machines share")
	flags.results.Bind(cmd.Flags())
	flags.screen.Bind(cmd.Flags())
	return cmd
}

func (f *mergeFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cli.Usagef("merge needs the directories of all parts, for example: %s parts/*", cmd.CommandPath())
	}
	if err := f.results.Check(); err != nil {
		return err
	}
	if f.wait < 0 {
		return cli.Usagef("--wait must be at least 0, not %v", f.wait)
	}
	if err := lab.AwaitParts(cmd.Context(), args, f.wait); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(args[0], lab.PointsFile)); err == nil {
		return f.points(cmd, args)
	}
	sink, err := f.results.Sink(f.screen.Sink(cmd, nil), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	run, err := lab.Merge(cmd.Context(), args, f.results.Plan(), sink)
	if err != nil {
		return err
	}
	return cli.Conclude(run)
}

// points merges parts of lab explore --all.
func (f *mergeFlags) points(cmd *cobra.Command, args []string) error {
	if err := f.results.RefuseJUnit(args[0] + " has breaking points"); err != nil {
		return err
	}
	table, err := lab.MergePoints(args, lab.Results{Dir: f.results.Dir})
	if err != nil {
		return err
	}
	return explore.ShowTable(cmd, table, f.screen.JSON)
}
