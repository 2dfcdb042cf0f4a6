package explore

import (
	"errors"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/process"
)

// slot is what one task waits for.
func (a *automaton) slot(s *instance, w process.Wait) (slot, error) {
	sl := slot{kind: w.Kind, due: never}
	switch {
	case w.Kind == process.Contact && w.Timer == 0:
		sl.server = int8(w.Number)
	case w.Kind == process.Message && w.Number != 0 && w.Timer == 0:
		sl.request = a.texts.addRequest(request{commands: [][]string{{watchWord, s.watches[w.Number]}}})
	case w.Kind == process.Request:
		if w.Number != 0 {
			s.watches[w.Number] = w.Commands[0][1]
		}
		sl.request, sl.server = a.texts.request(w), int8(w.Server)
		if w.Timer != 0 {
			sl.due = wholeMS(w.Limit)
		}
		if w.Timer != 0 && !w.Begun {
			sl.due = goesOn
		}
	case w.Kind == process.Sleep && w.Timer == 0:
		sl.due = wholeMS(w.Length)
	case w.Kind == process.Join:
	default:
		return slot{}, a.impure(errors.New("it waits in a way that the explorer does not know"))
	}
	return sl, nil
}

// listensOn says whether a task that waits for contact with a ZooKeeper waits on after it, and tells at most for how long its lock is held. Such a step
// is taken to lead back to its node, or there would be no end to them. Fresh instances that take it again and again are held to that; see verify.
func (a *automaton) listensOn(at uint32, in input, after *node, notices []process.Notice) bool {
	before := &a.nodes[at]
	return in.kind == inputWake && before.slots[in.slot].kind == process.Contact && a.declares && !a.plain &&
		before.slots == after.slots && before.idle == after.idle &&
		!slices.ContainsFunc(notices, func(n process.Notice) bool { return n.Kind != process.Renewed })
}

// goesOn is the time-out of a wait that was begun by an earlier one.
const goesOn ms = -1

// wholeMS rounds up: a wait is never shorter than it was meant to be.
func wholeMS(d time.Duration) ms {
	if whole := fullMS(d); duration(whole) < d && whole < longest {
		return whole + 1
	}
	return fullMS(d)
}

// longest is the longest time that is told from a shorter one, and twice it can be counted. No search follows time so far.
const longest = never / 2

// fullMS rounds toward zero.
func fullMS(d time.Duration) ms {
	return ms(max(min(d/time.Millisecond, time.Duration(longest)), -time.Duration(longest)))
}
