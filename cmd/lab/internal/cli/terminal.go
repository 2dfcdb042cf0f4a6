package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/terminal"
)

// Terminal finds out what the command's output can do. Output that is no file is treated as a pipe.
func Terminal(cmd *cobra.Command) terminal.Options {
	var opts terminal.Options
	stdout, okOut := cmd.OutOrStdout().(*os.File)
	stderr, okErr := cmd.ErrOrStderr().(*os.File)
	if okOut && okErr {
		opts = terminal.Detect(stdout, stderr, os.Getenv)
	}
	opts.Prefix = Program()
	opts.Width = Width(cmd.OutOrStdout())
	return opts
}

// Width is how many columns an output has.
func Width(w io.Writer) int { return terminal.Width(w, os.Getenv) }

// Meter shows on stderr how far a command has come.
func Meter(cmd *cobra.Command, quiet bool) *terminal.Meter {
	return terminal.NewMeter(cmd.ErrOrStderr(), Terminal(cmd), quiet)
}

// Next is the block of commands that ends a screen. Each is given as a word for what it does, then its arguments.
func Next(w io.Writer, commands ...[]string) string {
	return format.Next(Program(), Width(w), commands...)
}

// builtByGoRun matches where go run puts a program: in a temporary directory, or in its cache, wherever that is.
var builtByGoRun = regexp.MustCompile(`go-build|/[0-9a-f]{64}-d/`)

// Program is how the user calls the lab, for commands to copy.
func Program() string {
	if builtByGoRun.MatchString(filepath.ToSlash(os.Args[0])) {
		return "go run ./cmd/lab"
	}
	return os.Args[0]
}
