package option

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/screen"
)

// Screen says how a run is shown.
type Screen struct{ JSON, Verbose bool }

// Bind binds --json and --verbose.
func (f *Screen) Bind(flags *pflag.FlagSet) {
	flags.BoolVar(&f.JSON, "json", false, "write JSON events, one on a line, instead of text")
	flags.BoolVarP(&f.Verbose, "verbose", "v", false, "list every cell with its anomalies")
}

// Sink is where the user follows a run; tour is nil if it is none.
func (f *Screen) Sink(cmd *cobra.Command, tour *screen.Tour) report.Sink {
	if f.JSON {
		return report.NewJSON(cmd.OutOrStdout())
	}
	opts := cli.Terminal(cmd)
	opts.Verbose = f.Verbose
	if tour != nil {
		return screen.NewTour(cmd.OutOrStdout(), cmd.ErrOrStderr(), opts, *tour)
	}
	return screen.New(cmd.OutOrStdout(), cmd.ErrOrStderr(), opts)
}
