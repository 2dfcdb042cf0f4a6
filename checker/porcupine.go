package checker

import (
	"slices"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/checker/internal/second"
	"github.com/locklab/locklab/history"
)

// searchedEvents is how many events a history may have for porcupine to search all of it when it is judged twice. In a longer one it searches the windows
// that are not legal as they are listed.
const searchedEvents = 2_000

// secondOpinion judges a history with porcupine, window by window.
func secondOpinion(events []history.Event, opts Options) overlap.Opinion {
	j := overlap.Judge{Timeout: opts.Timeout, Searches: opts.Twice && len(events) <= searchedEvents}
	var o overlap.Opinion
	if opts.Twice {
		o = second.OpinionOf(events, j)
	} else {
		o = overlap.OpinionOf(overlap.Locks(events), events, j)
	}
	other := func(f overlap.Finding) bool { return slices.Contains(o.Several, f.Lock) && !Name(f.Name).ofSeveral() }
	o.Illegal, o.TimedOut = slices.DeleteFunc(o.Illegal, other), slices.DeleteFunc(o.TimedOut, other)
	return o
}
