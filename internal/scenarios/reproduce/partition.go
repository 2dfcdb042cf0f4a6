package reproduce

import (
	"errors"
	"slices"

	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// A partition in a script: a client of a ZooKeeper is cut off, and goes on. What it calls meanwhile runs in the background until the partition ends: no
// request of it comes to where it could be held.

// beginApart begins an operation of a client that is cut off, at the ith moment.
func (w *writer) beginApart(i int, b *moment) error {
	healed := false
	for k := i + 1; k < len(w.moments); k++ {
		switch next := w.moments[k]; {
		case next.kind == trace.Heal && next.who == b.who:
			healed = true
		case next.operation != b.operation:
		case !healed:
			return errors.New("what a client does while it is cut off from its ZooKeeper cannot be held")
		case w.moments.interrupted(k):
			return errors.New("an operation that has waited for the end of a partition cannot be held")
		}
	}
	a := w.clients[b.who]
	a.open.apart = true
	w.script.step(a, scenarios.Step{Verb: scenarios.VerbOp, Op: b.operation.op, Async: true})
	return nil
}

// breakApart has a client that is cut off go on without the reply to a request.
func (w *writer) breakApart(i int, b *moment) error {
	a := w.clients[b.who]
	if b.goesOn() {
		return errors.New("an operation goes on while its client is cut off from its ZooKeeper")
	}
	if b.step.Request != nil && w.moments.arrivesLater(i) {
		a.late = append(a.late, b.step)
	}
	w.script.giveUp(a)
	a.open.givenUp = true
	return nil
}

// timeOutApart lets the time-out of a request end that was never sent. It does so by itself; of an operation that has been given up that is already told.
func (a *actor) timeOutApart(b *moment) error {
	if !a.open.givenUp {
		return errors.New("the time-out of an operation ends while its client is cut off from its ZooKeeper")
	}
	a.unsent = append(a.unsent, b.step)
	return nil
}

// arrivesApart says whether a request arrives, by itself, that was given up before it could be sent.
func (a *actor) arrivesApart(b *moment) bool {
	i := slices.IndexFunc(a.unsent, func(sent *trace.Step) bool { return sameRequest(sent, b.step) })
	if i >= 0 {
		a.unsent = slices.Delete(a.unsent, i, i+1)
	}
	return i >= 0
}
