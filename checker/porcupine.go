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
}

// secondOpinion judges the history of each lock, and of each protected counter, with porcupine, window by window.
func secondOpinion(events []history.Event, timeout time.Duration) opinion {
	var o opinion
	for _, lock := range mutexHistories(events) {
		o.add(finding{DoubleHolder, lock.name}, judgeWindows(mutexWindows(lock.spans), timeout))
	}
	for _, counter := range counterHistories(events) {
		o.add(finding{LostUpdate, counter.name}, judgeWindows(counterWindows(counter.updates), timeout))
	}
	return o
}

func (o *opinion) add(what finding, result porcupine.CheckResult) {
	switch result {
	case porcupine.Illegal:
		o.illegal = append(o.illegal, what)
	case porcupine.Unknown:
		o.timedOut = append(o.timedOut, what)
	}
}

// window is a part of a history that can be judged by itself.
type window struct {
	model      porcupine.Model
	operations []porcupine.Operation
}

// judgeWindows judges one window after the other, up to the first that is not legal.
func judgeWindows(windows iter.Seq[window], timeout time.Duration) porcupine.CheckResult {
	for w := range windows {
		if result := w.judge(timeout); result != porcupine.Ok {
			return result
		}
	}
	return porcupine.Ok
}

// judge leaves the window to porcupine, unless its operations follow one another: then there is one order only, and nothing to
// search.
func (w window) judge(timeout time.Duration) porcupine.CheckResult {
	state := w.model.Init()
	last := int64(-1)
	for _, o := range w.operations {
		if o.Call <= last {
			return porcupine.CheckOperationsTimeout(w.model, w.operations, timeout)
		}
		last = o.Return
	}
	for _, o := range w.operations {
		legal, next := w.model.Step(state, o.Input, o.Output)
		if !legal {
			return porcupine.Illegal
		}
		state = next
	}
	return porcupine.Ok
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
