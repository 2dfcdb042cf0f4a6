// Command lab tests distributed locks: it runs them through scenarios with injected faults, storms and an exhaustive search, and says what
// went wrong. See README.md.
//
// It owns the process and the list of commands. Each package below internal owns the flags and screens of one family. They must not know how
// anything is run, judged or searched: internal/lab does.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
)

func main() { start(contained) }

// start has the command of this process carried out, and ends the process with its exit code.
func start(run func(args []string, work func(signals <-chan os.Signal) int) int) {
	lab.Serve(impls.Every()...)
	if err := option.HidePassword(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(cli.CodeFailed)
	}
	os.Exit(run(os.Args[1:], work))
}

// work carries out the command of this process, which the signals interrupt; nil: those of the process.
func work(signals <-chan os.Signal) int {
	ctx, stop := interruptible(signals)
	defer stop()
	return carryOut(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// oneOrder is how soon after a SIGTERM another one belongs to it: timeout(1) sends it to its command, and then to all of the process group.
const oneOrder = time.Second

// interruptible returns a context that the first SIGINT or SIGTERM ends. A second one ends the process at once, and what was known so far is not
// shown; the guard then cleans up. A nil channel stands for the signals of this process.
func interruptible(signals <-chan os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := func() {}
	if signals == nil {
		own := make(chan os.Signal, 2)
		signal.Notify(own, os.Interrupt, syscall.SIGTERM)
		signals, stop = own, func() { signal.Stop(own) }
	}
	go func() {
		first := <-signals
		cancel(&cli.Interrupted{Signal: first})
		at := time.Now()
		second := <-signals
		for first == syscall.SIGTERM && second == first && time.Since(at) < oneOrder {
			second = <-signals
		}
		os.Exit((&cli.Interrupted{Signal: second}).Code())
	}()
	return ctx, stop
}

// carryOut is the whole command: it returns the exit code.
func carryOut(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	if err := option.ForgetPassword(); err != nil {
		fmt.Fprintln(stderr, "lab:", err)
		return cli.CodeFailed
	}
	return cli.Execute(ctx, root, args, stdin, stdout, stderr)
}
