package checker

import (
	"iter"

	"github.com/anishathalye/porcupine"
)

// windowSize is how many holds, or updates, a window has where the history can be cut at will. Porcupine's cost grows with the
// square of a window's length.
const windowSize = 48

// mutexWindows cuts the holds of a lock into windows. A cut is made just after a hold has begun: there its client certainly is
// the holder, until it calls release or its hold ends otherwise. So an acquire under way at the cut takes effect after it, and
// a release under way has taken effect before it; holds that overlap at the cut make one window or the other illegal.
func mutexWindows(spans []span) iter.Seq[window] { return mutexWindowsOf(spans, windowSize) }

func mutexWindowsOf(spans []span, size int) iter.Seq[window] {
	return func(yield func(window) bool) {
		var carried []span // begun in an earlier window and not ended in it; in a legal history just the holder
		for len(spans) > 0 {
			n := min(size, len(spans))
			cut := int64(open)
			if n < len(spans) {
				cut = spans[n-1].got
			}
			w, left := mutexWindow(carried, spans[:n], cut)
			if !yield(w) {
				return
			}
			carried, spans = left, spans[n:]
		}
	}
}

// mutexWindow makes a window of the spans that begin in it, and of the ends of those carried over. It returns what is to be
// carried over the cut. If more than one is, the history is illegal, and the windows show it.
func mutexWindow(carried, begun []span, cut int64) (w window, left []span) {
	w.operations = make([]porcupine.Operation, 0, len(carried)+2*len(begun))
	id := 0
	give := func(s span) {
		if s.end > cut {
			left = append(left, s)
			return
		}
		w.operations = append(w.operations, porcupine.Operation{Input: mutexGive(id), Call: s.end, Return: s.done})
	}
	for _, s := range carried {
		id++
		give(s)
	}
	w.model = mutexModel(mutexHolder(id))
	for _, s := range begun {
		id++
		w.operations = append(w.operations, porcupine.Operation{Input: mutexTake(id), Call: s.call, Return: s.got})
		give(s)
	}
	return w, left
}

// counterWindows cuts the updates of a counter, which are in the order of their returns, into windows. A cut is made where no
// acknowledged update is under way: there the counter is at least what the largest of them wrote.
func counterWindows(updates []updateSpan) iter.Seq[window] {
	return counterWindowsOf(updates, windowSize)
}

func counterWindowsOf(updates []updateSpan, size int) iter.Seq[window] {
	return func(yield func(window) bool) {
		quiet := quietAfter(updates)
		var begin counterState
		for from := 0; from < len(updates); {
			to := min(from+size, len(updates))
			for to < len(updates) && !quiet[to-1] {
				to++
			}
			w := window{model: counterModel(begin), operations: make([]porcupine.Operation, 0, to-from)}
			for _, u := range updates[from:to] {
				w.operations = append(w.operations, u.operation())
				begin = u.after(begin)
			}
			if !yield(w) {
				return
			}
			from = to
		}
	}
}

// after is what is known of the counter once the update has been made as well.
func (u updateSpan) after(s counterState) counterState {
	switch {
	case u.final:
		return s
	case u.blind:
		return counterState{s.least, s.updates + 1}
	}
	return counterState{max(s.least, u.value+1), s.updates + 1}
}

func (u updateSpan) operation() porcupine.Operation {
	o := porcupine.Operation{Input: counterAdd(u.value), Call: u.call, Return: u.done}
	switch {
	case u.final:
		o.Input = counterRead(u.value)
	case u.blind:
		o.Input = counterBlind{}
	}
	return o
}

// quietAfter says for each update whether all those after it were called only when it had returned.
func quietAfter(updates []updateSpan) []bool {
	quiet := make([]bool, len(updates))
	earliest := int64(open)
	for n := len(updates) - 1; n >= 0; n-- {
		quiet[n] = updates[n].done < earliest
		earliest = min(earliest, updates[n].call)
	}
	return quiet
}
