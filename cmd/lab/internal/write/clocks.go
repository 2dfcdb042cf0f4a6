package write

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/faults/clocks"
	"github.com/locklab/locklab/internal/report/format"
)

// Clocks is lab clocks.
func Clocks() *cobra.Command {
	return &cobra.Command{
		Use:   "clocks DIR",
		Short: "Write a build overlay by which the lab sets the clock of a client in Go",
		Long: `Clocks writes an overlay for go build into DIR: copies of four files of the Go
that builds in this directory (go env GOROOT), in which package time shows the
clock that the lab has set. Go itself is left alone. A client that is built with
it has right clocks wherever the lab sets none. Python, Node and programs that
ask the C library for the time need nothing: see docs/protocol.md.`,
		Example: "  lab clocks clocks\n  go build -overlay clocks/overlay.json -o mylock/mylock ./mylock",
		Args:    cli.Args(1, 1, "clocks takes a directory, for example: lab clocks clocks"),
		RunE: func(cmd *cobra.Command, args []string) error {
			goroot, err := exec.CommandContext(cmd.Context(), "go", "env", "GOROOT").Output()
			if err != nil {
				return cli.Usagef("go env GOROOT: %v", err)
			}
			overlay, err := clocks.WriteOverlay(strings.TrimSpace(string(goroot)), args[0])
			if err != nil {
				return cli.Usagef("%v", err)
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "%s\n\n", overlay)
			_, err = fmt.Fprint(out, format.Next("go", cli.Width(out), []string{"build", "build", "-overlay", overlay, "-o", "mylock", "./mylock"}))
			return err
		},
	}
}
