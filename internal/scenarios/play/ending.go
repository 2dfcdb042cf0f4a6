package play

import (
	"errors"
	"fmt"
	"slices"

	"github.com/locklab/locklab/history"
)

// Ending ends a script before its last step. Any other error is a failure of the lab or of a server.
type Ending struct {
	Text string // one of history's Ended constants
	Why  string
}

func (e *Ending) Error() string { return e.Text + ": " + e.Why }

// NotApplicable ends a script that does not apply to this lock, client or server.
func NotApplicable(format string, args ...any) error {
	return &Ending{history.EndedNA, fmt.Sprintf(format, args...)}
}

// Lacking ends a script that needs what the lock, its client or the servers lack.
func Lacking(format string, args ...any) error {
	return &Ending{history.EndedLacks, fmt.Sprintf(format, args...)}
}

// Interrupted ends a script because whoever runs it wants no more of it.
func Interrupted(format string, args ...any) error {
	return &Ending{history.EndedInterrupted, fmt.Sprintf(format, args...)}
}

// Stalled ends a script because a host stall, or a slow host, may have ended a lease too early.
func Stalled(format string, args ...any) error {
	return &Ending{history.EndedStalled, fmt.Sprintf(format, args...)}
}

// Undecided ends a script because a client misbehaved.
func Undecided(format string, args ...any) error {
	return &Ending{history.EndedUnknown, fmt.Sprintf(format, args...)}
}

// PremiseMissed ends a script because a precondition was not observed.
func PremiseMissed(format string, args ...any) error {
	return &Ending{history.EndedPremise, fmt.Sprintf(format, args...)}
}

// unreached is the error of an operation whose outcome is unknown, and which did not reach its breakpoint. The lock may be one that sends the
// request, had the operation gone on, so it is not n/a.
type unreached string

func (u unreached) Error() string { return string(u) }

// leftScript says whether a script ended early because a step had another result than the script says.
func leftScript(err error) bool {
	var early *Ending
	return errors.As(err, &early) && slices.Contains([]string{history.EndedPremise, history.EndedNA, history.EndedLacks}, early.Text)
}

// EndOf turns the error that ended a script, if any, into the last event of its history.
func EndOf(err error) history.Event {
	detail := &history.Detail{Text: history.EndedComplete}
	var early *Ending
	switch {
	case err == nil:
	case errors.As(err, &early):
		detail.Text, detail.Why = early.Text, early.Why
	default:
		detail.Text, detail.Why = history.EndedFailed, err.Error()
	}
	return history.Event{Kind: history.KindEnd, Detail: detail}
}

// Played is the result of a cell.
type Played struct {
	Header history.Header // of the history; the caller fills in its run and cell
	Events []history.Event
}
