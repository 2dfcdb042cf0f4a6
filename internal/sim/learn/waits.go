package learn

import (
	"errors"
	"slices"

	"github.com/locklab/locklab/internal/sim/process"
)

// slot is what one task waits for.
func (a *Automaton) slot(s *instance, w process.Wait) (Slot, error) {
	sl := Slot{Kind: w.Kind, Due: Never}
	switch {
	case w.Kind == process.Contact && w.Timer == 0:
		sl.Server = int8(w.Number)
	case w.Kind == process.Message && w.Number != 0 && w.Timer == 0:
		sl.Request = a.texts.AddRequest(Request{Commands: [][]string{{WatchWord, s.watches[w.Number]}}})
	case w.Kind == process.Request:
		if w.Number != 0 {
			s.watches[w.Number] = w.Commands[0][1]
		}
		sl.Request, sl.Server = a.texts.request(w), int8(w.Server)
		if w.Timer != 0 {
			sl.Due = wholeMS(w.Limit)
		}
		if w.Timer != 0 && !w.Begun {
			sl.Due = GoesOn
		}
	case w.Kind == process.Sleep && w.Timer == 0:
		sl.Due = wholeMS(w.Length)
	case w.Kind == process.Join:
	default:
		return Slot{}, a.Impure(errors.New("it waits in a way that the explorer does not know"))
	}
	return sl, nil
}

// listensOn says whether a task that waits for contact with a ZooKeeper waits on after it, and tells at most for how long its lock is held. Such a step
// is taken to lead back to its node, or there would be no end to them. Fresh instances that take it again and again are held to that; see verify.
func (a *Automaton) listensOn(at uint32, in Input, after *Node, notices []process.Notice) bool {
	before := &a.Nodes[at]
	return in.Kind == InputWake && before.Slots[in.Slot].Kind == process.Contact && a.Manner.Declares && !a.Manner.Plain &&
		before.Slots == after.Slots && before.Idle == after.Idle &&
		!slices.ContainsFunc(notices, func(n process.Notice) bool { return n.Kind != process.Renewed })
}

// GoesOn is the time-out of a wait that was begun by an earlier one.
const GoesOn MS = -1

// WatchWord begins what stands for the wait for a watch, as a request: the path of its node.
const WatchWord = "WATCH"

// Sets says whether a task has waited for the reply to the request by which it sets the watch that it waits for next.
func (sl Slot) Sets(texts *Texts, next Slot) bool {
	if sl.Kind != process.Request || sl.Request == 0 {
		return false
	}
	words := texts.Requests[sl.Request].Commands[0]
	return words[0] == "EXISTS" && words[1] == texts.Requests[next.Request].Commands[0][1]
}
