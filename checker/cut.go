package checker

import (
	"iter"
	"slices"

	"github.com/anishathalye/porcupine"
)

// windowSize is how many holds, or updates, a window has where the history can be cut at will. Porcupine's cost grows with the
// square of a window's length.
const windowSize = 48

// mutexWindows cuts the holds of a lock into windows. A cut is made just after a hold has begun: there its client certainly is
// the holder, until it calls release or its hold ends otherwise. So an acquire under way at the cut takes effect after it, and
// a release under way has taken effect before it; holds that overlap at the cut make one window or the other illegal.
func mutexWindows(spans []span) iter.Seq[window] { return mutexWindowsOf(spans, windowSize) }

// permitWindows are those of a lock of several permits. They are cut in the same places: acquires take effect as late, and releases as early, as can be.
func permitWindows(spans []span, permits int) iter.Seq[window] {
	if permits == 1 {
		return mutexWindows(spans)
	}
	return func(yield func(window) bool) {
		for w := range mutexWindows(spans) {
			w.model = permitModel(permits, int(w.model.Init().(mutexHolder)))
			if !yield(w) {
				return
			}
		}
	}
}

func mutexWindowsOf(spans []span, size int) iter.Seq[window] {
	return func(yield func(window) bool) {
		var carried []span // begun in an earlier window and not ended in it; in a legal history just the holder
		var w window       // each takes the room of the one before
		for len(spans) > 0 {
			n := min(size, len(spans))
			cut := int64(open)
			if n < len(spans) {
				cut = spans[n-1].got
			}
			w, carried = mutexWindow(w.operations[:0], carried, spans[:n], cut)
			if !yield(w) {
				return
			}
			spans = spans[n:]
		}
	}
}

// mutexWindow makes a window of the spans that begin in it, and of the ends of those carried over. It returns what is to be
// carried over the cut. If more than one is, the history is illegal, and the windows show it.
func mutexWindow(room []porcupine.Operation, carried, begun []span, cut int64) (w window, left []span) {
	w.operations = slices.Grow(room, len(carried)+2*len(begun))
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

// checkWindows are the checks of a lock that were answered ok, each with a hold of another client.
func (h *mutexHistory) checkWindows() iter.Seq[window] {
	return func(yield func(window) bool) {
		for _, c := range h.checks {
			s := h.spans[c.other]
			w := window{model: mutexModel(0), operations: []porcupine.Operation{
				{Input: mutexTake(1), Call: s.call, Return: s.got},
				{Input: mutexCheck(0), Call: c.call, Return: c.done},
				{Input: mutexGive(1), Call: s.end, Return: s.done},
			}}
			if !yield(w) {
				return
			}
		}
	}
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
		var operations []porcupine.Operation // each window takes the room of the one before
		for from := 0; from < len(updates); {
			to := min(from+size, len(updates))
			for to < len(updates) && !quiet[to-1] {
				to++
			}
			model := counterModel(begin)
			operations = operations[:0]
			for n := from; n < to; n++ {
				u := &updates[n]
				operations = append(operations, porcupine.Operation{Input: u, Call: u.call, Return: u.done})
				begin = u.after(begin)
			}
			if !yield(window{model, operations}) {
				return
			}
			from = to
		}
	}
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
