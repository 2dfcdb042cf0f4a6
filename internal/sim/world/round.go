package world

import (
	"slices"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
)

// phase is where a client is in its round.
type phase uint8

const (
	waiting phase = iota // it wants the lock, and has not called, or was refused
	acquiring
	holding // it was told that it has the lock, and has not worked
	working
	worked
	releasing
	finished // all its rounds
	tired    // it has been refused as often as it tries
	crashed
)

// counts are what a client counts.
type counts struct {
	rounds, tries int
	again         int // how often it has called acquire again in this round while it held the lock
	holds         int // how often it was told that it has the lock, and has not released it; more than 1 only if the lock counts, too
}

// next is the operation that a client calls next; none: it has nothing to call.
func (p *player) next(c *client) history.Op {
	switch {
	case c.at.Busy:
		return history.OpNone
	case c.phase == waiting, c.phase == holding && c.active() && c.count.again < p.Reenter:
		return history.OpAcquire
	case c.phase == holding && c.active():
		return history.OpWork
	case c.phase == holding, c.phase == worked:
		return history.OpRelease
	}
	return history.OpNone
}

// calls has a client begin an operation.
func (p *player) calls(w *world, i int, op history.Op) {
	c := &w.clients[i]
	if c.phase == holding && op == history.OpAcquire {
		c.count.again++
	}
	c.ops++
	c.begun, c.called, c.ago.asked, c.delayed = true, 0, 0, false
	w.monitor().called(w, i, op)
	p.recorder.called(w, i, op)
}

// returned moves the client on in its round. An inner release leaves it the lock, if it was not told otherwise.
func (p *player) returned(c *client, n process.Notice, inner bool) {
	switch n.Op {
	case history.OpAcquire:
		c.unsure = false
		switch c.count.tries++; {
		case n.Answer.Outcome == history.OK, c.count.again > 0 && c.on: // it has the lock from before
			c.phase = holding
		case c.count.tries >= p.Tries:
			c.phase = tired
		default:
			c.phase, c.count.again = waiting, 0
		}
	case history.OpWork:
		c.phase = worked
	case history.OpRelease:
		if inner && c.on {
			c.phase = worked
			return
		}
		c.phase, c.count.tries, c.count.again = waiting, 0, 0
		again := c.unsure
		c.unsure = p.ReleaseAgain && !again && n.Answer.Outcome == history.Unknown
		if !again {
			c.count.rounds++
		}
		if c.count.rounds == p.Rounds {
			c.phase = finished
		}
	}
}

// reenters says whether a holder of the lock can acquire it again.
func (w *world) reenters() bool { return slices.Contains(w.config.Lock.Promises, impls.Reentrance) }
