package explore

import "cmp"

// What keeps a search from showing that a lock holds that does not declare it: its code may keep what the search does not see, ask a clock that is not its
// Env's, or go by more of its tokens than that they are different.
const (
	undeclaredState  = "it declares no State (impls.Stateful), so nothing says that its code keeps the contract of Env; declare it, or search its schedules"
	undeclaredTokens = "its card does not say that it compares tokens for equality alone (EqualTokens); declare it, or search its schedules"
)

// undeclaredStates bound the search of such a lock, which has many states and shows nothing in the end.
const undeclaredStates = 100_000

// undeclared says what a lock does not declare; empty: it declares all that a search needs to show that it holds.
func (x *explorer) undeclared() string {
	switch {
	case !x.automaton.Manner.Declares:
		return undeclaredState
	case x.automaton.Manner.Ordered:
		return undeclaredTokens
	}
	return ""
}

// doubt says why a search that has found nothing does not show that the lock holds; empty: it does, or a limit has stopped it.
func (x *explorer) doubt() string {
	if x.result.Limit != "" {
		return x.undeclared()
	}
	return cmp.Or(x.undeclared(), x.noticed())
}

// noticed says what the search has met that it does not follow; empty: nothing.
func (x *explorer) noticed() string {
	switch {
	case x.automaton.Deadline:
		return "it asks for the deadline of its context, which in a search has none"
	case x.automaton.Late:
		return "it asks whether a time-out of its own is over for which nothing waits, and in a search a time-out ends only what waits for it"
	case x.blocked && x.judge.coverage&wasHeld != 0:
		return "a client that came last was refused for good, although nothing was under the lock's key: another key, or the lock itself, keeps all others out"
	case x.endless && x.judge.coverage&wasHeld != 0:
		return "a client that came last was still in a try long after every lease had ended: whether the lock is stuck is not shown"
	case x.far:
		return "a key, a wait or a sleep of more than two leases, or what is compared with a longer time, ends after the time that the search follows"
	}
	return ""
}
