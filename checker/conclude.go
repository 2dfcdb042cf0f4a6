package checker

import (
	"cmp"
	"slices"

	"github.com/locklab/locklab/history"
)

// Conclude turns the history of a cell into its verdict: what the script's own end says comes first, then whether its premises
// hold, then what the judges find; that they find nothing counts only if the server was asked about what reached the lock.
func Conclude(events []history.Event, opts Options) Verdict {
	if len(events) == 0 {
		return undecided("nothing was recorded")
	}
	last := events[len(events)-1]
	if last.Kind != history.KindEnd || last.Detail == nil {
		return undecided("the history breaks off: the run was cut short")
	}
	switch last.Detail.Text {
	case history.EndedNA:
		return Verdict{Kind: NotApplicable, Reason: last.Detail.Why}
	case history.EndedStalled, history.EndedUnknown, history.EndedFailed:
		return undecided(last.Detail.Why)
	case history.EndedPremise:
		return brokenOr(undecided(last.Detail.Why), events, opts)
	}
	p := newPremises()
	v := judge(events, opts, p)
	if why := p.verdict(); why != "" && !(why == neverAcquired && slices.Contains(v.Names(), StuckLock)) {
		return undecided(why) // that no client got the lock may be the lock's own fault
	}
	if v.Kind != Safe {
		return v
	}
	if why := cmp.Or(p.uninformed(), unasked(events)); why != "" {
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

func undecided(why string) Verdict { return Verdict{Kind: Undecided, Reason: why} }
