package overlap

import (
	"iter"
	"slices"

	"github.com/anishathalye/porcupine"
)

// WindowSize is how many holds, or updates, a window has where the history can be cut at will. Porcupine's cost grows with the
// square of a window's length.
const WindowSize = 48

// HoldWindows cuts the holds of a lock into windows. A cut is made just after a hold has begun: there its client certainly is
// the holder, until it calls release or its hold ends otherwise. So an acquire under way at the cut takes effect after it, and
// a release under way has taken effect before it; holds that overlap at the cut make one window or the other illegal.
func HoldWindows(spans []Span) iter.Seq[Window] { return HoldWindowsOf(spans, WindowSize) }

// permitWindows are those of a lock of several permits. They are cut in the same places: acquires take effect as late, and releases as early, as can be.
func permitWindows(spans []Span, permits int) iter.Seq[Window] {
	if permits == 1 {
		return HoldWindows(spans)
	}
	return func(yield func(Window) bool) {
		for w := range HoldWindows(spans) {
			w.Model = permitModel(permits, int(w.Model.Init().(MutexHolder)))
			if !yield(w) {
				return
			}
		}
	}
}

func HoldWindowsOf(spans []Span, size int) iter.Seq[Window] {
	return func(yield func(Window) bool) {
		var carried []Span // begun in an earlier window and not ended in it; in a legal history just the holder
		var w Window       // each takes the room of the one before
		for len(spans) > 0 {
			n := min(size, len(spans))
			cut := int64(Open)
			if n < len(spans) {
				cut = spans[n-1].Got
			}
			w, carried = mutexWindow(w.Operations[:0], carried, spans[:n], cut)
			if !yield(w) {
				return
			}
			spans = spans[n:]
		}
	}
}

// mutexWindow makes a window of the spans that begin in it, and of the ends of those carried over. It returns what is to be
// carried over the cut. If more than one is, the history is illegal, and the windows show it.
func mutexWindow(room []porcupine.Operation, carried, begun []Span, cut int64) (w Window, left []Span) {
	w.Operations = slices.Grow(room, len(carried)+2*len(begun))
	id := 0
	give := func(s Span) {
		if s.End > cut {
			left = append(left, s)
			return
		}
		w.Operations = append(w.Operations, porcupine.Operation{Input: MutexGive(id), Call: s.End, Return: s.done})
	}
	for _, s := range carried {
		id++
		give(s)
	}
	w.Model = MutexModel(MutexHolder(id))
	for _, s := range begun {
		id++
		w.Operations = append(w.Operations, porcupine.Operation{Input: MutexTake(id), Call: s.call, Return: s.Got})
		give(s)
	}
	return w, left
}

// checkWindows are the checks of a lock that were answered ok, each with a hold of another client.
func (h *Lock) checkWindows() iter.Seq[Window] {
	return func(yield func(Window) bool) {
		for _, c := range h.checks {
			s := h.Spans[c.other]
			w := Window{Model: MutexModel(0), Operations: []porcupine.Operation{
				{Input: MutexTake(1), Call: s.call, Return: s.Got},
				{Input: mutexCheck(0), Call: c.call, Return: c.done},
				{Input: MutexGive(1), Call: s.End, Return: s.done},
			}}
			if !yield(w) {
				return
			}
		}
	}
}

// CounterWindows cuts the updates of a counter, which are in the order of their returns, into windows. A cut is made where no
// acknowledged update is under way: there the counter is at least what the largest of them wrote.
func CounterWindows(updates []UpdateSpan) iter.Seq[Window] {
	return CounterWindowsOf(updates, WindowSize)
}

func CounterWindowsOf(updates []UpdateSpan, size int) iter.Seq[Window] {
	return func(yield func(Window) bool) {
		quiet := quietAfter(updates)
		var begin CounterState
		var operations []porcupine.Operation // each window takes the room of the one before
		for from := 0; from < len(updates); {
			to := min(from+size, len(updates))
			for to < len(updates) && !quiet[to-1] {
				to++
			}
			model := CounterModel(begin)
			operations = operations[:0]
			for n := from; n < to; n++ {
				u := &updates[n]
				operations = append(operations, porcupine.Operation{Input: u, Call: u.Call, Return: u.Done})
				begin = u.after(begin)
			}
			if !yield(Window{model, operations}) {
				return
			}
			from = to
		}
	}
}

// quietAfter says for each update whether all those after it were called only when it had returned.
func quietAfter(updates []UpdateSpan) []bool {
	quiet := make([]bool, len(updates))
	earliest := int64(Open)
	for n := len(updates) - 1; n >= 0; n-- {
		quiet[n] = updates[n].Done < earliest
		earliest = min(earliest, updates[n].Call)
	}
	return quiet
}
