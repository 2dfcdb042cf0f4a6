package naming

import (
	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/rundir"
)

// Cell is how a user names a cell.
func Cell(c record.Cell) string { return c.Lock + "/" + c.Scenario }

// CompleteRuns completes the directories of runs.
func CompleteRuns(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// CompleteCells completes the cells of the run named first.
func CompleteCells(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return CompleteRuns(cmd, args, word)
	}
	run, err := rundir.ReadRun(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return cli.Described(run.Cells, func(cell record.Cell) (string, string) { return Cell(cell), cell.Verdict.String() }), cobra.ShellCompDirectiveNoFileComp
}
