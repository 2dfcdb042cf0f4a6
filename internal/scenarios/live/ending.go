package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// serverError is an error of a server of the cell, which a client may have caused.
type serverError struct{ error }

func (e *serverError) Unwrap() error { return e.error }

// atServer marks an error of a server; nil stays nil. One that is only slow is so because of the host.
func atServer(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, server.ErrSlow):
		return play.Stalled("the host was slow: %v", err)
	}
	return &serverError{err}
}

// labFailure is err if it is certainly a failure of the lab: no ending, not what came of the end of ctx, and not of a server.
func labFailure(ctx context.Context, err error) error {
	var early *play.Ending
	var theirs *serverError
	if err == nil || errors.As(err, &early) || errors.As(err, &theirs) || ctx.Err() != nil || outOfTime(ctx) {
		return nil
	}
	return err
}

// ending is the last event of the history, and the error behind it. A failure of the lab (ours) comes first, then what happened to a server at
// an address, then what a client did, and last how the script ended (failed).
func (c *cell) ending(ctx context.Context, failed, ours error) (history.Event, error) {
	if ours != nil {
		return play.EndOf(ours), ours
	}
	if why := c.serverChanged(); why != nil {
		return play.EndOf(why), why
	}
	if why := c.misconduct(ctx, failed != nil && ctx.Err() == nil); why != nil {
		failed = why
	} else if failed != nil && interrupted(ctx) {
		failed = play.Interrupted("interrupted")
	}
	return endOf(ctx, failed), failed
}

// limitError is why a cell has ended that took longer than it may.
type limitError time.Duration

func (l limitError) Error() string {
	return fmt.Sprintf("the cell took longer than %v", time.Duration(l))
}

// interrupted says whether whoever runs the cell has ended it: neither has it taken too long, nor has it ended itself.
func interrupted(ctx context.Context) bool {
	var limit limitError
	var early *play.Ending
	cause := context.Cause(ctx)
	return ctx.Err() != nil && !errors.As(cause, &limit) && !errors.As(cause, &early)
}

// endOf turns the error that ended a script, if any, into the last event of its history. What ended its context comes first.
func endOf(ctx context.Context, err error) history.Event {
	var early *play.Ending
	cause := context.Cause(ctx)
	switch {
	case err == nil:
	case errors.As(cause, &early), errors.As(err, &early):
		err = early
	case ctx.Err() == context.DeadlineExceeded && err != ctx.Err() && !errors.Is(err, cause): // it says what was under way
		err = play.Undecided("%v: %v", cause, err)
	case ctx.Err() != nil:
		err = play.Undecided("%v", cause)
	case outOfTime(ctx):
		err = play.Undecided("the cell ran out of time: %v", err)
	}
	return play.EndOf(err)
}

// outOfTime says whether the cell's deadline is at most 10 ms away: a dial with the same deadline may fail before the context ends.
func outOfTime(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < 10*time.Millisecond
}

// firstEnding returns the first error that is an Ending, or else all.
func firstEnding(errs []error, all error) error {
	for _, err := range errs {
		var early *play.Ending
		if errors.As(err, &early) {
			return err
		}
	}
	return all
}
