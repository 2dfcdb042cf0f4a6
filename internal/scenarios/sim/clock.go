package sim

import (
	"slices"
	"time"
)

// The times of the model. They are small beside every margin by which servers, clients and the checker count (a millisecond and
// more), so that a script's own times decide; but they are no nothing, so that what happens one after the other has times one after
// the other, and that a client which tries again and again gets on.
const (
	// hop is how long a message takes from a client to a server, or back. What a server does takes no time.
	hop = 100 * time.Microsecond
	// stride is the time between two steps of the script. A few messages pass meanwhile, as on a real wire.
	stride = time.Millisecond
)

// timeline is virtual time: what is going to happen, and when.
type timeline struct {
	now    time.Duration
	shift  time.Duration // from what it is to what is recorded: what takes no time is recorded with times one after the other all the same
	events []event       // in order of time; those of the same time, in the order in which they were foreseen
}

// stamp is the time to be recorded.
func (t *timeline) stamp() time.Duration { return t.now + t.shift }

// event is something that is going to happen.
type event struct {
	at time.Duration
	do func()
}

// after lets something happen in a while.
func (t *timeline) after(d time.Duration, do func()) {
	e := event{at: t.now + max(d, 0), do: do}
	i := len(t.events)
	for i > 0 && t.events[i-1].at > e.at {
		i--
	}
	t.events = slices.Insert(t.events, i, e)
}

// next is when something happens next, if anything does.
func (t *timeline) next() (at time.Duration, ok bool) {
	if len(t.events) == 0 {
		return 0, false
	}
	return t.events[0].at, true
}

// pop takes what happens next.
func (t *timeline) pop() event {
	first := t.events[0]
	t.events = slices.Delete(t.events, 0, 1)
	return first
}
