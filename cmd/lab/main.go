// Command lab tests distributed locks: it runs them through scenarios with injected faults, storms and an exhaustive search, and says what
// went wrong. See README.md.
//
// It owns flags, help texts, completion and exit codes. It must not know how anything is run, judged or searched: package lab and what is
// below it do that.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/supervise"
)

func main() { start(contained) }

// start has the command of this process carried out, and ends the process with its exit code.
func start(run func(args []string, work func(signals <-chan os.Signal) int) int) {
	lab.Serve(impls.Every()...)
	if err := hidePassword(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(codeFailed)
	}
	os.Exit(run(os.Args[1:], work))
}

// work carries out the command of this process, which the signals interrupt; nil: those of the process.
func work(signals <-chan os.Signal) int {
	ctx, stop := interruptible(signals)
	defer stop()
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
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
		cancel(&interrupted{first})
		at := time.Now()
		second := <-signals
		for first == syscall.SIGTERM && second == first && time.Since(at) < oneOrder {
			second = <-signals
		}
		os.Exit((&interrupted{second}).code())
	}()
	return ctx, stop
}

// run is the whole command: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	if err := forgetPassword(); err != nil {
		fmt.Fprintln(stderr, "lab:", err)
		return codeFailed
	}
	return execute(ctx, root, args, stdin, stdout, stderr)
}

// execute carries a command out and returns the exit code.
func execute(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return codeExpected
	}
	for _, err := range spoken(err) {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(stderr, "lab: %s\n", format.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
	return exitCode(ctx, err)
}

// spoken are the parts of an error that have something to say: an outcome has been shown.
func spoken(err error) []error {
	var quiet *outcome
	if !errors.As(err, &quiet) {
		return []error{err}
	}
	switch outer := err.(type) {
	case interface{ Unwrap() []error }:
		var parts []error
		for _, part := range outer.Unwrap() {
			parts = append(parts, spoken(part)...)
		}
		return parts
	case interface{ Unwrap() error }:
		return spoken(outer.Unwrap())
	}
	return nil
}

// collectLess lets the heap grow to five times what is in use before garbage is collected, unless GOGC says otherwise or the address space is limited. A run of many cells
// makes much garbage and keeps little: this saves a fifth of the processor time of a suite, for some 60 MB. A search saves a twentieth while its
// tables are small, for some 150 MB.
func collectLess() {
	if os.Getenv("GOGC") == "" && !supervise.Confined() {
		debug.SetGCPercent(400)
	}
}

// largeTables is how many bytes of tables a search may have before garbage is collected as usual: the heap is twice as large then, and not five times.
const largeTables = 128 << 20

// collectAsUsual ends what collectLess has begun.
func collectAsUsual() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
}

// collectMore lets the heap grow by two fifths only, unless GOGC says otherwise. Those who read a long history keep much and make little
// garbage: this saves a fifth of their memory, for a twentieth of their time.
func collectMore() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(40)
	}
}
