package sim

import (
	"container/heap"
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
	events events
	count  int
}

// event is something that is going to happen. Of two at the same time that comes first which was foreseen first.
type event struct {
	at     time.Duration
	number int
	do     func()
}

// after lets something happen in a while.
func (t *timeline) after(d time.Duration, do func()) {
	t.count++
	heap.Push(&t.events, event{at: t.now + max(d, 0), number: t.count, do: do})
}

// next is when something happens next, if anything does.
func (t *timeline) next() (at time.Duration, ok bool) {
	if len(t.events) == 0 {
		return 0, false
	}
	return t.events[0].at, true
}

// pop takes what happens next.
func (t *timeline) pop() event { return heap.Pop(&t.events).(event) }

// events is a heap.
type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].number < e[j].number
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) { *e = append(*e, x.(event)) }

func (e *events) Pop() any {
	last := len(*e) - 1
	popped := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return popped
}
