package reproduce

import (
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/trace"
)

// order is moments in the order that a script has to force.
type order []*moment

// breaks counts how often an operation is interrupted. One that was called and has not come to an end is open.
func (o order) breaks() int {
	n := 0
	for i, b := range o {
		if b.operation != nil && o.interrupted(i) {
			n++
		}
	}
	return n
}

// interrupted says whether something comes between a moment and the next of its operation, or after the last one while the operation
// has not ended.
func (o order) interrupted(i int) bool {
	b := o[i]
	if b.kind == trace.Return || b.operation != nil && b.operation.beside {
		return false
	}
	for _, next := range o[i+1:] {
		switch {
		case next.operation == b.operation:
			return false
		case next.kind != trace.Notice:
			return !o[i:].endsFirst() || !b.operation.ending
		}
	}
	return false
}

// endsFirst says whether nothing more comes of the first moment's operation.
func (o order) endsFirst() bool {
	return !slices.ContainsFunc(o[1:], func(b *moment) bool { return b.operation == o[0].operation })
}

// interruptedBefore says whether something has come between a moment and the one before of its operation.
func (o order) interruptedBefore(i int) bool {
	before := o.before(i)
	return before >= 0 && o.interrupted(before)
}

// before is where the moment before of the same operation is; below 0: there is none.
func (o order) before(i int) int {
	k := i - 1
	for k >= 0 && o[k].operation != o[i].operation {
		k--
	}
	return k
}

// stops says whether an operation is stopped once more, at the ith moment or later.
func (o order) stops(d *operation, i int) bool {
	for k, b := range o[i:] {
		if b.operation == d && (o.interrupted(i+k) || b.kind == trace.Expire || unanswered(b)) {
			return true
		}
	}
	return false
}

// arrivesLater says whether a request of the client that is late at the ith moment arrives.
func (o order) arrivesLater(i int) bool {
	return slices.ContainsFunc(o[i:], func(b *moment) bool { return b.kind == trace.Arrive && b.who == o[i].who })
}

// unheard says whether the reply to what is served beside the operations of a client at the ith moment will be lost.
func (o order) unheard(i int) bool {
	served := o[i].step
	for _, b := range o[i+1:] {
		if b.step.Beside && b.step.Client == served.Client && b.step.Server == served.Server {
			return strikes(b, faults.ReplyLost)
		}
	}
	return false
}

// timesOut says whether a client will have waited too long for a part of its operation, at the ith moment or later.
func (o order) timesOut(d *operation, i int) bool {
	return slices.ContainsFunc(o[i:], func(b *moment) bool { return b.kind == trace.Expire && b.operation == d })
}

// tooLate says whether the client stays paused until it will have waited too long for what is served at the ith moment.
func (o order) tooLate(i int) bool {
	for _, b := range o[i+1:] {
		if b.operation == o[i].operation {
			return b.kind == trace.Expire
		}
	}
	return false
}

// betweenTwo says whether at the ith moment an operation is between two requests to a server.
func (o order) betweenTwo(d *operation, i, server int) bool {
	for _, b := range o[i+1:] {
		if b.operation == d && b.kind == trace.Break {
			return false
		}
		if b.operation == d && b.kind == trace.Serve {
			return b.server == server && b.request > 0 && d.requests[b.request-1].Server == server
		}
	}
	return false
}

// isApart says whether the client of the ith moment is cut off then.
func (o order) isApart(i int) bool {
	for _, b := range slices.Backward(o[:i]) {
		switch {
		case b.host != o[i].host:
		case b.kind == trace.Heal:
			return false
		case strikes(b, faults.Partition):
			return true
		}
	}
	return false
}
