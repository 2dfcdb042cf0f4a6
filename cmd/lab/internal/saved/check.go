// Package saved is what a user does with runs that lie on the disk: lab explain, check, diff, export, merge and shrink.
//
// It owns which cell of a run is meant, and what is printed of it. It must not run what no saved run asks for.
package saved

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
)

// Check is lab check.
func Check() *cobra.Command {
	var (
		shown  option.Screen
		others recordedFlags
		twice  bool
	)
	cmd := &cobra.Command{
		Use:   "check DIR | check FILE --format FORMAT",
		Short: "Judge a saved run again, or what others have recorded",
		Long: `Check reads the histories below DIR and judges them again. It needs neither a
server nor the sources: run.json has what was expected. An interrupted run can
be checked as far as it was recorded.

The exit code is that of the run, or 3 if a verdict differs from the run's. It
is never 0 for an interrupted run.

With --format it judges what others have recorded, from FILE or from stdin
("-"):

  monitor  the output of redis-cli MONITOR
  log      a client's own log of acquires and releases, in JSON lines

It says what such a recording cannot tell; docs/check-logs.md has the format of
a log. The exit code is 0 if nothing was found, which does not mean safe, 1 if
an anomaly was, 2 if nothing could be judged, and 64 if the file cannot be read.`,
		Example: `  lab check runs/latest
  redis-cli MONITOR > monitor.txt; lab check monitor.txt --format monitor
  lab check locks.jsonl --format log`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("format"):
				return others.check(cmd, args[0], shown.JSON, twice)
			case len(others.locks) > 0:
				return cli.Usagef("--lock needs --format monitor")
			}
			return check(cmd, args[0], shown, twice)
		},
	}
	shown.Bind(cmd.Flags())
	others.bind(cmd)
	cmd.Flags().BoolVar(&twice, "twice", false, "have porcupine judge everything as well; what the two do not agree on is unknown")
	return cmd
}

func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cli.Usagef("%s needs the directory of a run, for example: %s runs/latest", cmd.Name(), cmd.CommandPath())
	}
	if len(args) > 1 && cmd.Name() == "check" {
		return cli.Usagef("check takes one directory, not %d", len(args))
	}
	return nil
}

// runAndCell is for commands that take a run and one of its cells; more says what to do for several.
func runAndCell(more string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 2 {
			return cli.Usagef("%s takes one cell, not %d%s", cmd.Name(), len(args)-1, more)
		}
		return oneRun(cmd, args)
	}
}

// Read reads the run that the user named.
func Read(path string) (*record.Run, error) {
	run, err := lab.ReadRun(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("no run there: %v; name its directory, for example runs/latest", err)
	}
	return run, err
}

func check(cmd *cobra.Command, path string, shown option.Screen, twice bool) error {
	cli.CollectMore()
	if _, err := Read(path); err != nil {
		if info, no := os.Stat(path); no == nil && info.Mode().IsRegular() && filepath.Ext(path) != ".json" {
			err = fmt.Errorf("%w; --format %s judges what others have recorded", err, cli.Enumerate(recordedNames(), "or"))
		}
		return err
	}
	checked, err := lab.Check(cmd.Context(), path, twice, shown.Sink(cmd, nil))
	if err != nil {
		return err
	}
	if len(checked.Differs) > 0 {
		return errors.Join(checked.Differs...)
	}
	if len(checked.Run.Cells) == 0 {
		return cli.Nothingf("nothing to judge: no cell of %s was started", checked.Run.Dir)
	}
	return cli.Conclude(checked.Run)
}
