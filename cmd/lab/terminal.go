package main

import (
	"cmp"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/internal/report"
)

// terminalOptions finds out what the command's output can do. Output that is no file is treated as a pipe.
func terminalOptions(cmd *cobra.Command) report.TerminalOptions {
	var opts report.TerminalOptions
	stdout, okOut := cmd.OutOrStdout().(*os.File)
	stderr, okErr := cmd.ErrOrStderr().(*os.File)
	if okOut && okErr {
		opts = report.DetectTerminal(stdout, stderr, os.Getenv)
	}
	opts.Prefix = invocation(os.Args[0])
	opts.Width = terminalWidth(cmd.OutOrStdout())
	return opts
}

// usualWidth is that of screens whose terminal is not known.
const usualWidth = 80

// terminalWidth is the number of columns that the user's COLUMNS names, or else the terminal of w has.
func terminalWidth(w io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if file, ok := w.(*os.File); ok {
		return cmp.Or(columnsOf(file), usualWidth)
	}
	return usualWidth
}
