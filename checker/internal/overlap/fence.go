package overlap

import (
	"iter"

	"github.com/anishathalye/porcupine"
)

// fenceSpan is a grant with a fencing token: made at some point from its call, or from the command by which it took the lock, to its return.
type fenceSpan struct {
	call, done int64 // positions
	number     int64
	again      bool // its client had the lock already
}

// fenceModel is a lock whose tokens grow with each grant, with the latest one at the beginning of a window. In which order grants were made
// that were under way at the same time is for porcupine to find.
func fenceModel(latest int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return latest },
		Step: func(state, input, _ any) (bool, any) {
			g, latest := input.(*fenceSpan), state.(int64)
			return g.again || g.number > latest, max(latest, g.number)
		},
	}
}

// fenceWindows cuts the grants of a lock, which are in the order of their returns, where none is under way.
func fenceWindows(grants []fenceSpan) iter.Seq[Window] {
	return func(yield func(Window) bool) {
		earliest := make([]int64, len(grants)+1) // call of those from one on
		earliest[len(grants)] = Open
		for n := len(grants) - 1; n >= 0; n-- {
			earliest[n] = min(earliest[n+1], grants[n].call)
		}
		latest, highest := int64(0), int64(0)
		var w Window
		for n := range grants {
			g := &grants[n]
			w.Operations = append(w.Operations, porcupine.Operation{Input: g, Call: g.call, Return: g.done})
			highest = max(highest, g.number)
			if n+1 < len(grants) && (len(w.Operations) < WindowSize || g.done >= earliest[n+1]) {
				continue
			}
			w.Model = fenceModel(latest)
			if !yield(w) {
				return
			}
			latest, w.Operations = highest, w.Operations[:0]
		}
	}
}
