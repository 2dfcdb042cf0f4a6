package checker

import (
	"slices"
	"time"

	"github.com/locklab/locklab/history"
)

// How many operations that have returned are remembered, for commands that turn up late: the last few of each client, and of
// those with an unknown outcome the last ones of all.
const (
	pastOps  = 4
	looseOps = 256
)

// op is an operation of a client. The zero op stands for one that is not known.
type op struct {
	id           int64
	kind         history.Op
	client, lock int
	called       int // index of the call
	calledAt     time.Duration
	bound        time.Duration
	outcome      history.Outcome // OutcomeNone while it is pending
	gaveUp       bool
	inner        bool // a release after which its client still has the lock
	returned     int  // index of the return
	returnedAt   time.Duration
	lastCommand  time.Duration // when its latest command was through; zero if none was seen
	conn         conn          // of that command
	took         int           // of an acquire: index of the command by which it took the lock; zero if none was seen
}

// conn is a connection: each server's are numbered by themselves. The zero conn stands for one that is not known.
type conn struct {
	server string
	number int64
}

func connOf(c *history.Command) conn {
	if c.Conn == 0 {
		return conn{}
	}
	return conn{c.Server, c.Conn}
}

// refused: the client was told that it did not get what it asked for, or concluded so by giving up.
func (o op) refused() bool {
	return o.outcome == history.No || o.outcome == history.Unknown && o.gaveUp
}

// ops remembers operations for as long as a command of theirs may still turn up.
type ops struct {
	pending []op
	past    [][pastOps]op // by client, the latest first
	loose   []op          // with an unknown outcome, the latest last
}

// call adds a pending operation. It returns false for one that is pending already.
func (t *ops) call(o op) bool {
	if slices.ContainsFunc(t.pending, func(p op) bool { return p.id == o.id && p.client == o.client }) {
		return false
	}
	t.pending = append(t.pending, o)
	return true
}

// exit ends the pending operations of a client that has ended: nobody will answer them.
func (t *ops) exit(client int) {
	t.pending = slices.DeleteFunc(t.pending, func(o op) bool {
		if o.client != client {
			return false
		}
		o.outcome = history.Unknown
		t.forget(o)
		return true
	})
}

// forget moves an operation with an unknown outcome out of the pending ones.
func (t *ops) forget(o op) {
	if len(t.loose) == looseOps {
		t.loose = slices.Delete(t.loose, 0, 1)
	}
	t.loose = append(t.loose, o)
}

// settle takes the operation that e returns from out of the pending ones and records how it ended. A return whose call is
// missing yields the zero op.
func (t *ops) settle(client, i int, e *history.Event) op {
	n := slices.IndexFunc(t.pending, func(p op) bool { return p.id == e.ID && p.client == client })
	if n < 0 {
		return op{}
	}
	o := t.pending[n]
	t.pending = slices.Delete(t.pending, n, n+1)
	o.outcome, o.returned, o.returnedAt = e.Outcome, i, e.At
	o.gaveUp = e.Detail != nil && e.Detail.GaveUp
	for len(t.past) <= o.client {
		t.past = append(t.past, [pastOps]op{})
	}
	past := &t.past[o.client]
	copy(past[1:], past[:])
	past[0] = o
	if e.Outcome == history.Unknown {
		t.forget(o)
	}
	return o
}

// command notes a command of the client's operation with id and returns the operation as it was before, or the zero op.
func (t *ops) command(id int64, client int, at time.Duration, by conn) op {
	if id == 0 {
		return op{}
	}
	for i := range t.pending {
		if p := &t.pending[i]; p.id == id && p.client == client {
			before := *p
			p.lastCommand, p.conn = at, by
			return before
		}
	}
	if client < len(t.past) {
		for _, o := range t.past[client] {
			if o.id == id {
				return o
			}
		}
	}
	for i := len(t.loose) - 1; i >= 0; i-- {
		if t.loose[i].id == id && t.loose[i].client == client {
			return t.loose[i]
		}
	}
	return op{}
}

// late is the acquire of client on lock that was given up and whose last command came by a connection, or the zero op.
func (t *ops) late(client, lock int, by conn) op {
	for _, o := range slices.Backward(t.loose) {
		if o.client == client && o.lock == lock && o.kind == history.OpAcquire && o.gaveUp && o.conn == by && by != (conn{}) {
			return o
		}
	}
	return op{}
}

// took records the command by which a pending acquire took its lock.
func (t *ops) took(id int64, client, command int) {
	for i := range t.pending {
		if p := &t.pending[i]; p.id == id && p.client == client {
			p.took = command
		}
	}
}

// alone says whether nobody but the client has an acquire pending on the lock.
func (t *ops) alone(client, lock int) bool {
	return !slices.ContainsFunc(t.pending, func(p op) bool {
		return p.client != client && p.lock == lock && p.kind == history.OpAcquire
	})
}

// acquiring is the pending acquire of client on lock, or the zero op.
func (t *ops) acquiring(client, lock int) op {
	for _, p := range t.pending {
		if p.client == client && p.lock == lock && p.kind == history.OpAcquire {
			return p
		}
	}
	return op{}
}
