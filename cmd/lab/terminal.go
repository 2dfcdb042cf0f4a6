package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/terminal"
)

// terminalOptions finds out what the command's output can do. Output that is no file is treated as a pipe.
func terminalOptions(cmd *cobra.Command) terminal.Options {
	var opts terminal.Options
	stdout, okOut := cmd.OutOrStdout().(*os.File)
	stderr, okErr := cmd.ErrOrStderr().(*os.File)
	if okOut && okErr {
		opts = terminal.Detect(stdout, stderr, os.Getenv)
	}
	opts.Prefix = invocation(os.Args[0])
	opts.Width = terminalWidth(cmd.OutOrStdout())
	return opts
}

// usualWidth is that of screens whose terminal is not known.
const usualWidth = format.UsualWidth

func terminalWidth(w io.Writer) int { return terminal.Width(w, os.Getenv) }
