package overlap

import (
	"iter"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/history"
)

// Window is a part of a history that can be judged by itself. Its operations are good until the next one is made.
type Window struct {
	Model      porcupine.Model
	Operations []porcupine.Operation
}

// Judge judges windows.
type Judge struct {
	Timeout  time.Duration // of one window
	Searches bool          // porcupine searches each
}

// Windows judges one window after the other, up to the first that is not legal.
func (j Judge) Windows(windows iter.Seq[Window]) porcupine.CheckResult {
	for w := range windows {
		if result := j.Window(w); result != porcupine.Ok {
			return result
		}
	}
	return porcupine.Ok
}

// Window leaves the window to porcupine, unless it need not search and the operations may have taken effect in the order in which they are
// listed.
func (j Judge) Window(w Window) porcupine.CheckResult {
	if !j.Searches && w.LegalAsListed() {
		return porcupine.Ok
	}
	return porcupine.CheckOperationsTimeout(w.Model, w.Operations, j.Timeout)
}

// LegalAsListed says whether the model allows the operations in the order in which they are listed, and none of them had returned
// when one listed before it was called.
func (w Window) LegalAsListed() bool {
	state := w.Model.Init()
	called := int64(-1) // the latest call so far
	for _, o := range w.Operations {
		called = max(called, o.Call)
		legal, next := w.Model.Step(state, o.Input, o.Output)
		if !legal || o.Return < called {
			return false
		}
		state = next
	}
	return true
}

// Positions in a history are event indexes, doubled: what happens between two events, such as the end of a validity, has the odd
// position between them.

// At is the position of an event.
func At(event int) int64 { return 2 * int64(event) }

// BeforeTime is the position just before the first event at a time or later.
func BeforeTime(events []history.Event, when time.Duration) int64 {
	n, _ := slices.BinarySearchFunc(events, when, func(e history.Event, t time.Duration) int { return int(e.At - t) })
	return At(n) - 1
}
