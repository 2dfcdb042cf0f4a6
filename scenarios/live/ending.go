package live

import (
	"context"
	"errors"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios/play"
)

// endOf turns the error that ended a script, if any, into the last event of its history. What ended its context comes first.
func endOf(ctx context.Context, err error) history.Event {
	var early *play.Ending
	cause := context.Cause(ctx)
	switch {
	case err == nil:
	case errors.As(cause, &early), errors.As(err, &early):
		err = early
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
