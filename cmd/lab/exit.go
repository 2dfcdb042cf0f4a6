package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/scenarios"
)

// The exit codes. Of several that apply, the order of precedence is 3, 1, 2, 0.
const (
	codeExpected = 0  // everything came out as expected
	codeSurprise = 1  // a lock broke that should hold, held where it should break, or an n/a that nobody expected
	codeUnknown  = 2  // a cell could not be decided
	codeFailed   = 3  // the lab, its checker or a server failed
	codeNothing  = 4  // nothing ran
	codeUsage    = 64 // usage, a bad script, or an unreadable history
	codeSignal   = 128
)

// outcome is an exit code that needs no words: what there is to say has been said.
type outcome struct{ code int }

func (o *outcome) Error() string { return fmt.Sprintf("exit code %d", o.code) }

// nothingError says that there was nothing to run.
type nothingError struct{ what string }

func (e *nothingError) Error() string { return e.what }

// interrupted is the cause of a context that a signal has ended.
type interrupted struct{ signal os.Signal }

func (i *interrupted) Error() string {
	if i.signal == os.Interrupt {
		return "interrupted"
	}
	return "ended by SIGTERM"
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
		scripts scenarios.Errors
	)
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return signal.code()
	case errors.As(err, &done):
		return done.code
	case errors.As(err, &usage), errors.As(err, &scripts):
		return codeUsage
	case errors.As(err, &nothing):
		return codeNothing
	}
	return codeFailed
}

// judge is the exit code for the cells of a run. known says which surprises are no news.
func judge(cells []checker.Cell, known func(checker.Cell) bool) int {
	if len(cells) == 0 {
		return codeNothing
	}
	code := codeExpected
	for _, cell := range cells {
		switch {
		case cell.Failure != "" || cell.Verdict.CheckerFault:
			return codeFailed
		case cell.Surprise() && !known(cell):
			code = codeSurprise
		case cell.Verdict.Kind == checker.Undecided && code == codeExpected:
			code = codeUnknown
		}
	}
	return code
}

// exitWith turns a code into what a command returns.
func exitWith(code int) error {
	if code == codeExpected {
		return nil
	}
	return &outcome{code}
}
