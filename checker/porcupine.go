package checker

import (
	"iter"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/history"
)

// opinion is what the second judge found.
type opinion struct {
	illegal  []finding
	timedOut []finding
	unjudged []finding // there is no model of that
}

// secondOpinion judges the history of each lock, and of each protected counter, with porcupine, window by window.
func secondOpinion(events []history.Event, opts Options) opinion {
	var o opinion
	j := windowJudge{timeout: opts.Timeout, searches: !opts.ListedFirst && len(events) <= searchedEvents}
	holds, owners := lockHistories(events, j.searches)
	for _, lock := range holds {
		o.add(finding{DoubleHolder, lock.name}, j.windows(permitWindows(lock.spans, lock.permits)))
		o.add(finding{DoubleHolder, lock.name}, j.windows(lock.checkWindows()))
		o.add(finding{FenceRegression, lock.name}, j.windows(fenceWindows(lock.grants)))
	}
	for _, lock := range owners {
		o.owners(lock, j)
	}
	for _, lock := range hungHistories(events) {
		o.add(finding{HungOperation, lock.name}, j.windows(slices.Values(lock.waits)))
		o.add(finding{MissedWakeup, lock.name}, j.windows(slices.Values(lock.slept)))
	}
	for _, lock := range deadHistories(events) {
		o.add(finding{DeadGrant, lock.name}, j.windows(slices.Values(lock.answers)))
	}
	for _, counter := range counterHistories(events) {
		what := finding{LostUpdate, counter.name}
		if counter.market != nil {
			o.add(what, j.windows(counter.market.windows()))
			continue
		}
		o.add(what, j.windows(counterWindows(counter.updates)))
		o.add(what, j.windows(counter.dataWindows()))
	}
	for _, lock := range holds {
		if lock.permits > 1 {
			other := func(f finding) bool { return f.lock == lock.name && !f.name.ofSeveral() }
			o.illegal, o.timedOut = slices.DeleteFunc(o.illegal, other), slices.DeleteFunc(o.timedOut, other)
		}
	}
	return o
}

// owners judges what clients did to a lock that was not theirs.
func (o *opinion) owners(lock *ownerHistory, j windowJudge) {
	legal := !lock.unjudged && j.windows(lock.windows(allOffences)) == porcupine.Ok
	for n, name := range ownerNames {
		switch what := (finding{name, lock.name}); {
		case lock.unjudged:
			o.unjudged = append(o.unjudged, what)
		case !legal:
			o.add(what, j.windows(lock.windows(1<<n)))
		}
	}
	if what := (finding{Unfair, lock.name}); lock.unjudged {
		o.unjudged = append(o.unjudged, what)
	} else {
		o.add(what, j.windows(queueWindows(lock.service.queued)))
	}
	for n, name := range serviceNames {
		if what := (finding{name, lock.name}); lock.unjudged {
			o.unjudged = append(o.unjudged, what)
		} else {
			o.add(what, j.windows(serviceWindows(lock.service.observed[n])))
		}
	}
}

func (o *opinion) add(what finding, result porcupine.CheckResult) {
	switch result {
	case porcupine.Illegal:
		o.illegal = append(o.illegal, what)
	case porcupine.Unknown:
		o.timedOut = append(o.timedOut, what)
	}
}

// window is a part of a history that can be judged by itself. Its operations are good until the next one is made.
type window struct {
	model      porcupine.Model
	operations []porcupine.Operation
}

// searchedEvents is how many events a history may have for porcupine to search all of it. In a longer one it searches the windows that are
// not legal as they are listed.
const searchedEvents = 2_000

// windowJudge judges windows.
type windowJudge struct {
	timeout  time.Duration // of one window
	searches bool          // porcupine searches each
}

// windows judges one window after the other, up to the first that is not legal.
func (j windowJudge) windows(windows iter.Seq[window]) porcupine.CheckResult {
	for w := range windows {
		if result := j.window(w); result != porcupine.Ok {
			return result
		}
	}
	return porcupine.Ok
}

// window leaves the window to porcupine, unless it need not search and the operations may have taken effect in the order in which they are
// listed.
func (j windowJudge) window(w window) porcupine.CheckResult {
	if !j.searches && w.legalAsListed() {
		return porcupine.Ok
	}
	return porcupine.CheckOperationsTimeout(w.model, w.operations, j.timeout)
}

// legalAsListed says whether the model allows the operations in the order in which they are listed, and none of them had returned
// when one listed before it was called.
func (w window) legalAsListed() bool {
	state := w.model.Init()
	called := int64(-1) // the latest call so far
	for _, o := range w.operations {
		called = max(called, o.Call)
		legal, next := w.model.Step(state, o.Input, o.Output)
		if !legal || o.Return < called {
			return false
		}
		state = next
	}
	return true
}

// Positions in a history are event indexes, doubled: what happens between two events, such as the end of a validity, has the odd
// position between them.

// at is the position of an event.
func at(event int) int64 { return 2 * int64(event) }

// beforeTime is the position just before the first event at a time or later.
func beforeTime(events []history.Event, when time.Duration) int64 {
	n, _ := slices.BinarySearchFunc(events, when, func(e history.Event, t time.Duration) int { return int(e.At - t) })
	return at(n) - 1
}

// appendToMany appends to a list that may become very long. It doubles the room where append, in smaller steps, would leave
// several times as much behind.
func appendToMany[T any](list []T, element T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(64, len(list)))
	}
	return append(list, element)
}
