package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/scenarios"
)

// The exit codes, which internal/explain describes; the first five are the outcomes of the library. Of several that apply, the order of precedence is 3, 1, 2, 4, 0.
const (
	codeExpected = int(lab.AsExpected)
	codeSurprise = int(lab.Surprise)
	codeUnknown  = int(lab.Unknown)
	codeFailed   = int(lab.Failed)
	codeNothing  = int(lab.Nothing)
	codeUsage    = 64 // usage, a bad script, an unreadable history, or a client that does not say hello
	codeSignal   = 128
)

// outcome is an exit code that needs no words: what there is to say has been said.
type outcome struct{ code int }

func (e *outcome) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// exitWith turns a code into what a command returns.
func exitWith(code int) error {
	if code == codeExpected {
		return nil
	}
	return &outcome{code}
}

func worse(a, b int) int { return int(lab.Worse(lab.Outcome(a), lab.Outcome(b))) }

// nothingError says that there was nothing to run.
type nothingError struct{ what string }

func (e *nothingError) Error() string { return e.what }

// interrupted is the cause of a context that a signal has ended.
type interrupted struct{ signal os.Signal }

func (i *interrupted) Error() string {
	if i.signal == os.Interrupt {
		return "interrupted"
	}
	return "terminated (SIGTERM)"
}

func (i *interrupted) code() int {
	if i.signal == os.Interrupt {
		return codeSignal + int(syscall.SIGINT)
	}
	return codeSignal + int(syscall.SIGTERM)
}

func exitCode(ctx context.Context, err error) int {
	var (
		signal  *interrupted
		done    *outcome
		usage   *usageError
		nothing *nothingError
		noDir   *lab.DirError
		noRun   *lab.NoRunError
		parts   *lab.MergeError
		scripts scenarios.Errors
		client  *lab.ClientError
	)
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return signal.code()
	case errors.As(err, &done) && len(spoken(err)) > 0: // something went wrong besides
		return codeFailed
	case done != nil:
		return done.code
	case errors.As(err, &usage), errors.As(err, &noDir), errors.As(err, &noRun), errors.As(err, &parts), errors.As(err, &scripts), errors.As(err, &client):
		return codeUsage
	case errors.As(err, &nothing):
		return codeNothing
	}
	return codeFailed
}

// conclude is what a command returns for a run.
func conclude(run *record.Run) error {
	came := lab.OutcomeOf(run)
	if came == lab.Nothing {
		return &nothingError{"nothing ran: every cell is n/a"}
	}
	return exitWith(int(came))
}
