package checker

import (
	"slices"

	"github.com/locklab/locklab/history"
)

// Conclude turns the history of a cell into its verdict: what the script's own end says comes first, then whether its premises
// hold, then what the judges find; that they find nothing counts only if the server was asked about what reached the lock.
func Conclude(events []history.Event, opts Options) Verdict {
	last := endOf(events)
	if last == nil {
		why, _ := Interrupted(events)
		return undecided(why)
	}
	switch last.Text {
	case history.EndedNA:
		return Verdict{Kind: NotApplicable, Reason: explained(last.Why, events, true)}
	case history.EndedLacks:
		return Verdict{Kind: NotApplicable, Reason: last.Why}
	case history.EndedStalled, history.EndedUnknown, history.EndedFailed:
		return undecided(last.Why)
	case history.EndedPremise:
		return brokenOr(undecided(explained(last.Why, events, true)), events, opts)
	case history.EndedInterrupted:
		return brokenOr(undecided(last.Why), events, opts)
	}
	p := newPremises()
	v := judge(events, opts, p)
	if why := p.verdict(); why != "" && !(why == neverAcquired && slices.Contains(v.Names(), StuckLock)) {
		return undecided(explained(why, events, false)) // that no client got the lock may be the lock's own fault
	}
	if v.Kind != Safe {
		return v
	}
	if why := p.uninformed(); why != "" {
		return undecided(explained(why, events, false))
	}
	if why := unasked(events); why != "" {
		return undecided(why)
	}
	return v
}

// brokenOr judges a script that went another way than it was written. What the judges find counts; that they find nothing
// does not.
func brokenOr(otherwise Verdict, events []history.Event, opts Options) Verdict {
	if v := Judge(events, opts); v.Kind == Broken || v.CheckerFault {
		return v
	}
	return otherwise
}

// Interrupted says whether a history is that of a part of its cell, and why: the cell was ended early, or the lab was killed.
func Interrupted(events []history.Event) (why string, interrupted bool) {
	switch end := endOf(events); {
	case len(events) == 0:
		return "nothing was recorded", true
	case end == nil:
		return "interrupted: the history breaks off", true
	case end.Text == history.EndedInterrupted:
		return end.Why, true
	}
	return "", false
}

// Lacks says what the lock, its client or the servers of a history lack for its script, or "".
func Lacks(events []history.Event) string {
	if end := endOf(events); end != nil && end.Text == history.EndedLacks {
		return end.Why
	}
	return ""
}

// endOf says how the script of a history ended; nil: the history breaks off.
func endOf(events []history.Event) *history.Detail {
	if len(events) == 0 || events[len(events)-1].Kind != history.KindEnd {
		return nil
	}
	return events[len(events)-1].Detail
}

func undecided(why string) Verdict { return Verdict{Kind: Undecided, Reason: why} }
