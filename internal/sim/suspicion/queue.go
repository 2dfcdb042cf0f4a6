package suspicion

import (
	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
)

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

// Queue is all clients in it.
type Queue [MostClients]queued

// Calls handles a try; only the first is a call.
func (q *Queue) Calls(i int) {
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

// Commanded handles a command of an acquire: it has asked, or has got the lock.
func (q *Queue) Commanded(i int, effect history.Effect) {
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

// Returned notes that an acquire has returned; a refusal is only the end of a try.
func (q *Queue) Returned(i int, outcome history.Outcome, suspects *Set) {
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
func (q *queued) overtaken(suspects *Set) {
	if q.asking {
		return
	}
	if q.before&q.told != 0 {
		suspects.Add(checker.Unfair)
	}
	q.before, q.told = q.before&^q.told, 0
}

// Crashed: what its return would have shown stays unknown.
func (q *Queue) Crashed(i int) {
	for k := range q {
		other := &q[k]
		other.ahead &^= 1 << i
		if other.told>>i&1 == 0 {
			other.before &^= 1 << i
		}
	}
	q[i] = queued{}
}

// Disturbs: a fault may have kept clients, in bits, from waiting.
func (q *Queue) Disturbs(clients uint8) {
	for i := range q {
		q[i].served = q[i].served || q[i].asking && clients>>i&1 != 0
	}
}

// Under is what it is if the client with number i goes by number to[i].
func (q *Queue) Under(to []int) (called Queue) {
	called = *q
	for i, k := range to {
		c := q[i]
		c.ahead, c.before, c.told = uint8(Renumber(uint32(c.ahead), to)), uint8(Renumber(uint32(c.before), to)), uint8(Renumber(uint32(c.told), to))
		called[k] = c
	}
	return called
}
