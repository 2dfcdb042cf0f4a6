package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/scenarios"
)

// The exit codes. Of several that apply, the order of precedence is 3, 1, 2, 4, 0.
const (
	codeExpected = 0  // everything came out as expected
	codeSurprise = 1  // a lock broke that should hold, held where it should break, or an n/a that nobody expected
	codeUnknown  = 2  // a cell could not be decided, or was not reached
	codeFailed   = 3  // the lab, its checker or a server failed
	codeNothing  = 4  // nothing ran, or every cell was n/a
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

// conclude is what a command returns for the cells that ended, of as many as were planned.
func conclude(cells []checker.Cell, planned int) error {
	code := codeExpected
	applicable := false
	for _, cell := range cells {
		applicable = applicable || cell.Verdict.Kind != checker.NotApplicable
		code = worse(code, codeOf(cell))
	}
	if len(cells) < planned {
		code = worse(code, codeUnknown)
	}
	if code == codeExpected && !applicable {
		return &nothingError{"nothing ran: every cell is n/a"}
	}
	return exitWith(code)
}

// codeOf is the exit code for one cell.
func codeOf(cell checker.Cell) int {
	switch {
	case cell.Failure != "" || cell.Verdict.CheckerFault:
		return codeFailed
	case cell.Surprise() && !cell.Known:
		return codeSurprise
	case cell.Verdict.Kind == checker.Undecided:
		return codeUnknown
	}
	return codeExpected
}

// worse is the one of the codes of two cells that counts for both.
func worse(a, b int) int {
	order := []int{codeExpected, codeUnknown, codeSurprise, codeFailed}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// exitWith turns a code into what a command returns.
func exitWith(code int) error {
	if code == codeExpected {
		return nil
	}
	return &outcome{code}
}
