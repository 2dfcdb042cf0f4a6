// Package cli is how the commands of the lab talk with whoever calls them: mistakes and exit codes, help in groups of flags, the completion of words,
// the width of a terminal and texts that fit into it.
//
// It owns exit codes and the form of what is printed. It must not know what a command does, nor what locks and scenarios there are.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/scenarios"
)

// The exit codes, which internal/explain describes; the first five are the outcomes of the library. Of several that apply, the order of precedence is 3, 1, 2, 4, 0.
const (
	CodeExpected = int(lab.AsExpected)
	CodeSurprise = int(lab.Surprise)
	CodeUnknown  = int(lab.Unknown)
	CodeFailed   = int(lab.Failed)
	CodeNothing  = int(lab.Nothing)
	CodeUsage    = 64 // usage, a bad script, an unreadable history, or a client that does not say hello
	CodeSignal   = 128
)

// exitError is an exit code that needs no words: what there is to say has been said.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// Exit turns a code into what a command returns when all has been said.
func Exit(code int) error {
	if code == CodeExpected {
		return nil
	}
	return &exitError{code}
}

// Conclude is what a command returns for a run.
func Conclude(run *record.Run) error {
	came := lab.OutcomeOf(run)
	if came == lab.Nothing {
		return Nothingf("nothing ran: every cell is n/a")
	}
	return Exit(int(came))
}

type nothingError struct{ what string }

func (e *nothingError) Error() string { return e.what }

// Nothingf is the error that there was nothing to run.
func Nothingf(format string, args ...any) error { return &nothingError{fmt.Sprintf(format, args...)} }

// Interrupted is the cause of a context that a signal has ended.
type Interrupted struct{ Signal os.Signal }

func (i *Interrupted) Error() string {
	if i.Signal == os.Interrupt {
		return "interrupted"
	}
	return "terminated (SIGTERM)"
}

// Code is the exit code of a command that the signal has ended.
func (i *Interrupted) Code() int {
	if i.Signal == os.Interrupt {
		return CodeSignal + int(syscall.SIGINT)
	}
	return CodeSignal + int(syscall.SIGTERM)
}

// Execute carries a command out, says what went wrong, and returns the exit code.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return CodeExpected
	}
	for _, err := range spoken(err) {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(stderr, "lab: %s\n", format.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
	return codeOf(ctx, err)
}

// spoken are the parts of an error that have something to say: an exitError has been shown.
func spoken(err error) []error {
	var quiet *exitError
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

func codeOf(ctx context.Context, err error) int {
	var (
		signal  *Interrupted
		done    *exitError
		usage   *UsageError
		nothing *nothingError
		noDir   *lab.DirError
		noRun   *lab.NoRunError
		parts   *lab.MergeError
		scripts scenarios.Errors
		client  *lab.ClientError
	)
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return signal.Code()
	case errors.As(err, &done) && len(spoken(err)) > 0: // something went wrong besides
		return CodeFailed
	case done != nil:
		return done.code
	case errors.As(err, &usage), errors.As(err, &noDir), errors.As(err, &noRun), errors.As(err, &parts), errors.As(err, &scripts), errors.As(err, &client):
		return CodeUsage
	case errors.As(err, &nothing):
		return CodeNothing
	}
	return CodeFailed
}
