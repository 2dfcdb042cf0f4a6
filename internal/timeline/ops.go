package timeline

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

// Operation is an operation of a client. The zero Operation stands for one that is not known.
type Operation struct {
	ID           int64
	Kind         history.Op
	Client, Lock int
	Called       int // index of the call
	CalledAt     time.Duration
	Bound        time.Duration
	Outcome      history.Outcome // OutcomeNone while it is pending
	GaveUp       bool
	Inner        bool // a release after which its client still has the lock
	Returned     int  // index of the return
	ReturnedAt   time.Duration
	lastCommand  time.Duration // when its latest command was through; zero if none was seen
	heard        time.Duration // when the latest reply reached its client, at the earliest; zero if none did
	letGo        time.Duration // when something that its client waited for was let go; zero: nothing was withheld
	conn         conn          // of that command
	Took         int           // of an acquire: index of the command by which it took the lock; zero if none was seen
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

// Refused says that the client was told that it did not get what it asked for, or concluded so by giving up.
func (o Operation) Refused() bool {
	return o.Outcome == history.No || o.Outcome == history.Unknown && o.GaveUp
}

// Heard is when the latest reply reached the operation's client, at the earliest; zero if none did.
func (o Operation) Heard() time.Duration { return o.heard }

// Is says whether two operations are one and the same.
func (o Operation) Is(p Operation) bool { return o.ID == p.ID && o.Client == p.Client }

// Operations remembers operations for as long as a command of theirs may still turn up.
type Operations struct {
	Pending []Operation
	past    [][pastOps]Operation // by client, the latest first
	loose   []Operation          // with an unknown outcome, the latest last
}

// call adds a pending operation. It returns false for one that is pending already.
func (t *Operations) call(o Operation) bool {
	if slices.ContainsFunc(t.Pending, func(p Operation) bool { return p.ID == o.ID && p.Client == o.Client }) {
		return false
	}
	t.Pending = append(t.Pending, o)
	return true
}

// exit ends the pending operations of a client that has ended: they will not return.
func (t *Operations) exit(client int) {
	t.Pending = slices.DeleteFunc(t.Pending, func(o Operation) bool {
		if o.Client != client {
			return false
		}
		o.Outcome = history.Unknown
		t.forget(o)
		return true
	})
}

// forget moves an operation with an unknown outcome out of the pending ones.
func (t *Operations) forget(o Operation) {
	if len(t.loose) == looseOps {
		t.loose = slices.Delete(t.loose, 0, 1)
	}
	t.loose = append(t.loose, o)
}

// settle takes the operation that e returns from out of the pending ones and records how it ended. A return whose call is
// missing yields the zero Operation.
func (t *Operations) settle(client, i int, e *history.Event) Operation {
	n := slices.IndexFunc(t.Pending, func(p Operation) bool { return p.ID == e.ID && p.Client == client })
	if n < 0 {
		return Operation{}
	}
	o := t.Pending[n]
	t.Pending = slices.Delete(t.Pending, n, n+1)
	o.Outcome, o.Returned, o.ReturnedAt = e.Outcome, i, e.At
	o.GaveUp = e.Detail != nil && e.Detail.GaveUp
	for len(t.past) <= o.Client {
		t.past = append(t.past, [pastOps]Operation{})
	}
	past := &t.past[o.Client]
	copy(past[1:], past[:])
	past[0] = o
	if e.Outcome == history.Unknown {
		t.forget(o)
	}
	return o
}

// command notes a command of the client's operation with id and returns the operation as it was before, or the zero Operation.
// Its reply arrives at the earliest when arrives says.
func (t *Operations) command(id int64, client int, at, arrives time.Duration, c *history.Command) Operation {
	if id == 0 {
		return Operation{}
	}
	for i := range t.Pending {
		if p := &t.Pending[i]; p.ID == id && p.Client == client {
			before := *p
			p.lastCommand, p.conn = at, connOf(c)
			if heard(c) {
				p.heard = arrives
			}
			return before
		}
	}
	if client < len(t.past) {
		for _, o := range t.past[client] {
			if o.ID == id {
				return o
			}
		}
	}
	for i := len(t.loose) - 1; i >= 0; i-- {
		if t.loose[i].ID == id && t.loose[i].Client == client {
			return t.loose[i]
		}
	}
	return Operation{}
}

// late is the acquire of client on lock that was given up and whose last command came by a connection, or the zero Operation.
func (t *Operations) late(client, lock int, by conn) Operation {
	for _, o := range slices.Backward(t.loose) {
		if o.Client == client && o.Lock == lock && o.Kind == history.OpAcquire && o.GaveUp && o.conn == by && by != (conn{}) {
			return o
		}
	}
	return Operation{}
}

// took records the command by which a pending acquire took its lock.
func (t *Operations) took(id int64, client, command int) {
	for i := range t.Pending {
		if p := &t.Pending[i]; p.ID == id && p.Client == client {
			p.Took = command
		}
	}
}

// Alone says whether no other client has an acquire pending on the lock.
func (t *Operations) Alone(client, lock int) bool {
	return !slices.ContainsFunc(t.Pending, func(p Operation) bool {
		return p.Client != client && p.Lock == lock && p.Kind == history.OpAcquire
	})
}

// Acquiring is the pending acquire of client on lock, or the zero Operation.
func (t *Operations) Acquiring(client, lock int) Operation {
	for _, p := range t.Pending {
		if p.Client == client && p.Lock == lock && p.Kind == history.OpAcquire {
			return p
		}
	}
	return Operation{}
}
