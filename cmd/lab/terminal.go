package main

import (
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/report"
)

// terminalOptions finds out what the command's output can do. Output that is no file is treated as a pipe.
func terminalOptions(cmd *cobra.Command) report.TerminalOptions {
	var opts report.TerminalOptions
	stdout, okOut := cmd.OutOrStdout().(*os.File)
	stderr, okErr := cmd.ErrOrStderr().(*os.File)
	if okOut && okErr {
		opts = report.DetectTerminal(stdout, stderr, os.Getenv)
	}
	opts.Prefix = invocation()
	opts.Width, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	return opts
}
