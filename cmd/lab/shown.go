package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/screen"
)

// shownFlags say how a run is shown.
type shownFlags struct{ json, verbose bool }

func (f *shownFlags) bind(flags *pflag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "write JSON events, one on a line, instead of text")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "list every cell with its anomalies")
}

// screen is where the user follows a run.
func (f *shownFlags) screen(cmd *cobra.Command) report.Sink { return f.screenOf(cmd, nil) }

// screenOf is the screen of a tour; nil: it is none.
func (f *shownFlags) screenOf(cmd *cobra.Command, tour *screen.Tour) report.Sink {
	if f.json {
		return report.NewJSON(cmd.OutOrStdout())
	}
	opts := terminalOptions(cmd)
	opts.Verbose = f.verbose
	if tour != nil {
		return screen.NewTour(cmd.OutOrStdout(), cmd.ErrOrStderr(), opts, *tour)
	}
	return screen.New(cmd.OutOrStdout(), cmd.ErrOrStderr(), opts)
}
