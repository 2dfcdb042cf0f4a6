package world

import (
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
)

// In a queue an acquire is one operation with many tries, and a lock that keeps the queue is told of the wait. Otherwise each try is an acquire, and a
// try that is refused cannot be overtaken. Whoever waits asks again in time, so that the queue does not forget it.

// longWait is the bound of an acquire that waits until it has the lock.
const longWait = time.Hour

// queues says whether a client has been refused, and asks again.
func (p *player) queues(c *client) bool { return p.Queue && c.phase == waiting && c.count.tries > 0 }

// patient is how long such a client does not ask again, at most.
func (p *player) patient() int { return ms(p.Grid) }

// queued is what is known of a client in the queue. Sets are of clients, in bits.
type queued struct {
	asking bool  // its acquire has been called, and has not returned
	asked  bool  // a command of it has asked
	served bool  // it has got the lock, or may have stopped waiting
	ahead  uint8 // the clients that had asked before its call
	before uint8 // the clients that have got the lock before it, though it had asked before their call
	told   uint8 // of those, the clients that were told so
}

func (q *queued) waits() bool { return q.asking && q.asked && !q.served }

// queue is all clients in it.
type queue [mostClients]queued

// calls handles a try; only the first is a call.
func (q *queue) calls(i int) {
	if q[i].asking {
		return
	}
	q[i] = queued{asking: true}
	for k := range q {
		if k != i && q[k].waits() {
			q[i].ahead |= 1 << k
		}
	}
}

// commanded handles a command of an acquire: it has asked, or has got the lock.
func (q *queue) commanded(i int, effect history.Effect) {
	switch {
	case !q[i].asking:
	case effect != history.EffectCreated:
		q[i].asked = true
	default:
		for k := range q {
			if q[i].ahead>>k&1 != 0 && q[k].waits() {
				q[k].before |= 1 << i
			}
		}
		q[i].served = true
	}
}

// returned notes that an acquire has returned; a refusal is only the end of a try.
func (q *queue) returned(i int, outcome history.Outcome, suspects *Suspicions) {
	if outcome == history.No {
		return
	}
	for k := range q {
		other := &q[k]
		if other.ahead &^= 1 << i; other.before>>i&1 == 0 {
			continue
		}
		if outcome == history.Unknown {
			other.before &^= 1 << i
			continue
		}
		other.told |= 1 << i
		other.overtaken(suspects)
	}
	q[i].asking, q[i].asked, q[i].ahead = false, false, 0
	if outcome == history.Unknown {
		q[i] = queued{}
	}
	q[i].overtaken(suspects)
}

// overtaken: a client that waited has got the lock in the end, and clients that asked later were told that they got it before.
func (q *queued) overtaken(suspects *Suspicions) {
	if q.asking {
		return
	}
	if q.before&q.told != 0 {
		suspects.add(checker.Unfair)
	}
	q.before, q.told = q.before&^q.told, 0
}

// crashed: what its return would have shown stays unknown.
func (q *queue) crashed(i int) {
	for k := range q {
		other := &q[k]
		other.ahead &^= 1 << i
		if other.told>>i&1 == 0 {
			other.before &^= 1 << i
		}
	}
	q[i] = queued{}
}

// disturbs: a fault may have kept clients, in bits, from waiting.
func (q *queue) disturbs(clients uint8) {
	for i := range q {
		q[i].served = q[i].served || q[i].asking && clients>>i&1 != 0
	}
}

// queue is the queue as it is called under an order of clients.
func (o *order) queue(of queue) (called queue) {
	called = of
	for i, k := range o.to {
		q := of[i]
		q.ahead, q.before, q.told = uint8(o.set(uint32(q.ahead))), uint8(o.set(uint32(q.before))), uint8(o.set(uint32(q.told)))
		called[k] = q
	}
	return called
}
