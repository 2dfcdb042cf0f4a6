// Command lab puts distributed locks to the test: it runs them through scripted scenarios with real faults and says what
// went wrong. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := interruptible()
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// interruptible returns a context that the first SIGINT or SIGTERM ends. A second one ends the process at once; the guard
// then cleans up.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := <-signals
		cancel(&interrupted{first})
		os.Exit((&interrupted{<-signals}).code())
	}()
	return ctx, func() { signal.Stop(signals) }
}

// run is the whole command: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return codeExpected
	}
	code := exitCode(ctx, err)
	var quiet *outcome
	if !errors.As(err, &quiet) {
		fmt.Fprintf(stderr, "lab: %s\n", strings.TrimSuffix(err.Error(), "\n"))
	}
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "A fault-injection test lab for distributed locks",
		Long: `Lab runs distributed locks through scripted scenarios: real client processes that are paused and killed, links that
are cut, clocks that are wrong. A checker then names what went wrong. Begin with:

  lab run                                   every lock in every scenario
  lab run pause-past-lease --lock setpx-lua -v
  lab show pause-past-lease                 the script, and what is expected of each lock

Exit codes: 0 everything as expected; 1 a surprise; 2 unknown; 3 the lab or a server failed; 4 nothing ran;
64 usage, a bad script or an unreadable history; 130 Ctrl-C; 143 SIGTERM.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSubcommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; see %q", err, cmd.CommandPath()+" --help")
	})
	root.AddCommand(newRun(), newList(), newShow(), newCheck(), newExplain(), newDoctor(), newWorker(), newGuard())
	return root
}

// noSubcommand says which command a word was probably meant to be.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return unknown("command", args[0], names)
}
