package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
)

func newCheck() *cobra.Command {
	var shown shownFlags
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Judge the saved histories of a run again, without a server",
		Long: `Check reads the histories below DIR and judges them again. It needs neither a
server nor the sources: run.json has what was expected. An interrupted run can be
checked as far as it was recorded.

The exit code is that of the run, or 3 if a verdict differs from the run's. It is
never 0 for an interrupted run.`,
		Example: "  lab check runs/latest",
		Args:    oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return check(cmd, args[0], shown)
		},
	}
	shown.bind(cmd.Flags())
	return cmd
}

func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs the directory of a run, for example: %s runs/latest", cmd.Name(), cmd.CommandPath())
	}
	if len(args) > 1 && cmd.Name() == "check" {
		return usagef("check takes one directory, not %d", len(args))
	}
	return nil
}

// readRun reads the run that the user named.
func readRun(path string) (*record.Run, error) {
	run, err := lab.ReadRun(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("no run there: %v; name its directory, for example runs/latest", err)
	}
	return run, err
}

func check(cmd *cobra.Command, path string, shown shownFlags) error {
	collectMore()
	if _, err := readRun(path); err != nil {
		return err
	}
	checked, err := lab.Check(cmd.Context(), path, shown.screen(cmd))
	if err != nil {
		return err
	}
	if len(checked.Differs) > 0 {
		return errors.Join(checked.Differs...)
	}
	if len(checked.Run.Cells) == 0 {
		return &nothingError{fmt.Sprintf("nothing to judge: no cell of %s was started", checked.Run.Dir)}
	}
	return conclude(checked.Run)
}
