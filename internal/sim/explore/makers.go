package explore

import (
	"errors"

	"github.com/locklab/locklab/internal/sim/states"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/history"
)

// Whose the lock is by a node of a ZooKeeper follows from the acquire that made the node, and from what became of that. A client may have made several, by
// several acquires.

// mostNodes is how many nodes of a client the search follows.
const mostNodes = 8

// errNodes: of the nodes that a client has made, not all found room.
var errNodes = errors.New("a client had more than 8 nodes at a time")

// makers are what made each node of a client, in the order of nodesOf.
type makers [mostNodes]maker

// maker is what made a node. Of an acquire that has ended without the lock, the clients that had called theirs before come with it: see owner.early.
type maker uint8

// The makers.
const (
	byEnded   maker = iota << learn.MostClients
	byPresent       // the acquire that the client is in
	byGranted       // one that was told ok
	byTask          // a background task, or an acquire that was never answered
	byKind    = byTask
)

// sending is the request of a client that made the node.
func (m maker) sending(client int) sending {
	q := sending{client: client, op: history.OpAcquire}
	switch m & byKind {
	case byTask:
		q.op = history.OpNone
	case byGranted:
		q.ended, q.unheard, q.ok = true, true, true
	case byEnded:
		q.ended, q.unheard, q.early = true, true, uint8(m)
	}
	return q
}

// makes is what a request of a client is that makes a node.
func (c *client) makes(q sending) maker {
	switch {
	case q.op == history.OpNone:
		return byTask
	case q.op == history.OpAcquire && !q.ended && c.phase == acquiring:
		return byPresent
	}
	return makerOf(q.ok, q.early)
}

// makerOf is an acquire that has ended, well or not.
func makerOf(ok bool, early uint8) maker {
	if ok {
		return byGranted
	}
	return byEnded | maker(early)
}

// end: the acquire that the client is in has ended; by says how.
func (m *makers) end(by maker) {
	for k := range m {
		if m[k]&byKind == byPresent {
			m[k] = by
		}
	}
}

// calls: a client calls an acquire, and has not been acquiring before.
func (m *makers) calls(client int) {
	for k := range m {
		m[k] &^= 1 << client
	}
}

// rename is what they are when the clients have changed places.
func (m makers) rename(to *learn.Order) makers {
	for k, of := range m {
		m[k] = of&byKind | maker(to.Set(uint8(of&^byKind)))
	}
	return m
}

// followNodes follows which nodes of each client there are, and what has made them.
func (x *explorer) followNodes(s *state, q sending, before uint32, done states.Serving) {
	words := x.texts.Requests[q.request].Commands[0]
	if done.Next == before || words[0] != "CREATE" && words[0] != "DELETE" {
		return
	}
	for i := range x.clients {
		c, was, is := &s.clients[i], x.servers.NodesOf(before, i), x.servers.NodesOf(done.Next, i)
		switch {
		case max(len(was), len(is)) > mostNodes:
			x.cut = errNodes
		case len(is) > len(was):
			at := firstOther(is, was)
			copy(c.makers[at+1:], c.makers[at:])
			c.makers[at] = c.makes(q)
		case len(is) < len(was):
			at := firstOther(was, is)
			copy(c.makers[at:], c.makers[at+1:])
			c.makers[mostNodes-1] = 0
		}
	}
}

// firstOther is the place of the one name that is not among others, which are the same but for that one.
func firstOther(names, others []string) int {
	for k, other := range others {
		if names[k] != other {
			return k
		}
	}
	return len(others)
}
