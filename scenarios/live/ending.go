package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/locklab/locklab/history"
)

// ending is how a script ends before its last step. Any other error is a failure of the lab or of a server.
type ending struct {
	text string // one of history's Ended constants
	why  string
}

func (e *ending) Error() string { return e.text + ": " + e.why }

// notApplicable ends a script that makes no sense for this lock, client or server.
func notApplicable(format string, args ...any) error {
	return &ending{history.EndedNA, fmt.Sprintf(format, args...)}
}

// stalled ends a script because the machine stood still, or was so slow, that a lease may have ended which should not have.
func stalled(format string, args ...any) error {
	return &ending{history.EndedStalled, fmt.Sprintf(format, args...)}
}

// undecided ends a script because a client misbehaved.
func undecided(format string, args ...any) error {
	return &ending{history.EndedUnknown, fmt.Sprintf(format, args...)}
}

// endOf turns the error that ended a script, if any, into the last event of its history.
func endOf(ctx context.Context, err error) history.Event {
	detail := &history.Detail{Text: history.EndedComplete}
	var early *ending
	switch {
	case err == nil:
	case errors.As(context.Cause(ctx), &early), errors.As(err, &early):
		detail.Text, detail.Why = early.text, early.why
	case ctx.Err() != nil:
		detail.Text, detail.Why = history.EndedUnknown, context.Cause(ctx).Error()
	case outOfTime(ctx):
		detail.Text, detail.Why = history.EndedUnknown, "the cell ran out of time: "+err.Error()
	default:
		detail.Text, detail.Why = history.EndedFailed, err.Error()
	}
	return history.Event{Kind: history.KindEnd, Detail: detail}
}

// outOfTime says whether the time of a cell is over, also a moment before its context has noticed: a connection that is being made
// has the same deadline, and may be the first to give up.
func outOfTime(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < 10*time.Millisecond
}

// premiseMissed ends a script of which a step did not come to what must be seen.
func premiseMissed(format string, args ...any) error {
	return &ending{history.EndedPremise, fmt.Sprintf(format, args...)}
}

// astray says whether a script ended early because it went another way than it was written.
func astray(err error) bool {
	var early *ending
	return errors.As(err, &early) && (early.text == history.EndedPremise || early.text == history.EndedNA)
}

// firstEnding prefers, among the errors of several clients, one that is a verdict about a client; otherwise it returns all.
func firstEnding(errs []error, all error) error {
	for _, err := range errs {
		var early *ending
		if errors.As(err, &early) {
			return err
		}
	}
	return all
}
