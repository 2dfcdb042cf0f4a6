package reproduce

import (
	"errors"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// A partition in a script: a client of a ZooKeeper is cut off, and goes on. What it calls meanwhile runs in the background until the partition ends: no
// request of it comes to where it could be held.

// partitions are what a script has of them.
type partitions struct {
	apart  map[int]bool          // processes that are cut off from their ZooKeeper
	unsent map[int][]*trace.Step // what a client has given up while it was, which its library sends later
}

// cutOff begins a partition.
func (w *writer) cutOff(who int) {
	w.apart[w.process(who)] = true
	w.step(who, scenarios.Step{Verb: scenarios.VerbCutOff, Direction: faults.Both})
}

// heal ends it.
func (w *writer) heal(who int) {
	if host := w.process(who); w.apart[host] {
		delete(w.apart, host)
		w.step(who, scenarios.Step{Verb: scenarios.VerbHeal})
	}
}

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
		case interrupted(w.moments, k):
			return errors.New("an operation that has waited for the end of a partition cannot be held")
		}
	}
	w.open[b.who].apart = true
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbOp, Op: b.operation.op, Async: true})
	return nil
}

// worksApart says whether an operation does not use the ZooKeeper, so that a partition does not touch it.
func (d *operation) worksApart() bool { return d.op == history.OpWork }

// breakApart has a client that is cut off go on without the reply to a request.
func (w *writer) breakApart(i int, b *moment) error {
	if w.goesOn(b) {
		return errors.New("an operation goes on while its client is cut off from its ZooKeeper")
	}
	if b.step.Request != nil && slices.ContainsFunc(w.moments[i:], func(m *moment) bool { return m.kind == trace.Arrive && m.who == b.who }) {
		w.late[b.who] = append(w.late[b.who], b.step)
	}
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbGiveUp, Want: []scenarios.Result{scenarios.ResultUnknown}})
	w.open[b.who].stop, w.open[b.who].givenUp = false, true
	return nil
}

// isApart says whether the client of the ith moment is cut off then.
func (w *writer) isApart(i int) bool {
	for _, b := range slices.Backward(w.moments[:i]) {
		switch {
		case w.process(b.who) != w.process(w.moments[i].who):
		case b.kind == trace.Heal:
			return false
		case strikes(b, faults.Partition):
			return true
		}
	}
	return false
}

// timeOutApart lets the time-out of a request end that was never sent. It does so by itself; of an operation that has been given up that is already told.
func (w *writer) timeOutApart(b *moment) error {
	t := w.open[b.who]
	if !t.givenUp {
		return errors.New("the time-out of an operation ends while its client is cut off from its ZooKeeper")
	}
	w.unsent[b.who] = append(w.unsent[b.who], b.step)
	return nil
}

// arrivesApart says whether a request arrives, by itself, that was given up before it could be sent.
func (w *writer) arrivesApart(b *moment) bool {
	i := slices.IndexFunc(w.unsent[b.who], func(sent *trace.Step) bool { return sameRequest(sent, b.step) })
	if i >= 0 {
		w.unsent[b.who] = slices.Delete(w.unsent[b.who], i, i+1)
	}
	return i >= 0
}
