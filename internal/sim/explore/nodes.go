package explore

import (
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/internal/sim/states"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/learn"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// Whose a lock on a ZooKeeper is: the first node's, for the acquire that made it. What the server does to nodes by itself is judged as the commands are
// that histories have for it.

// serveNodes has a ZooKeeper execute a request.
func (x *explorer) serveNodes(s *state, q sending) uint32 {
	if !q.unheard {
		x.dropLate(&s.clients[q.client])
	}
	before := s.servers[0]
	was, _ := x.servers.HeadOf(before)
	done := x.servers.Serve(before, x.numbered(s, q.request), q.client)
	s.servers[0] = done.Next
	is, _ := x.servers.HeadOf(done.Next)
	after := was
	switch {
	case !was.Exists():
		after = is
	case was != is:
		after = history.State{}
	}
	change := history.Change{Before: was, After: after}
	if x.watcher != nil {
		x.watcher.sent(q, done.Reply, was, after)
	}
	x.followNodes(s, q, before, done)
	if done.Named {
		x.judge.commanded(command{sending: q, effect: change.Effect(0), before: was.Exists(), unlimited: was.Exists(), after: after})
		if q.op != history.OpNone && !q.ended {
			s.clients[q.client].since = 0
		}
	}
	x.deliver(s, done.Events)
	x.handOver(s, after)
	x.lockChanged(s, before)
	return done.Reply
}

// expired takes in that a node has gone with its session.
func (x *explorer) expired(i int, name string, was history.State, owner int) {
	first := owner == i && headName(was) == name
	after := was
	if first {
		after = history.State{}
		x.judge.coverage |= wasExpired
	}
	if x.watcher != nil {
		x.watcher.byServer(entryExpired, i, name, was, after)
	}
	if first {
		x.judge.commanded(command{sending: sending{client: i, ended: true}, effect: history.EffectRemoved, before: true, unlimited: true})
	}
}

// The entries of histories that are no requests.
const (
	entryExpired = "EXPIRED"
	entryFirst   = "FIRST"
)

// handOver takes in that another node has become the first, where what was the first is gone. It has the lock for the acquire that made it.
func (x *explorer) handOver(s *state, was history.State) {
	is, i := x.servers.HeadOf(s.servers[0])
	if !is.Exists() || is == was {
		return
	}
	c, name := &s.clients[i], headName(is)
	q := c.makers[min(slices.Index(x.servers.NodesOf(s.servers[0], i), name), mostNodes-1)].sending(i)
	if x.watcher != nil {
		x.watcher.byServer(entryFirst, i, name, history.State{}, is)
	}
	x.judge.commanded(command{sending: q, effect: history.EffectCreated, after: is})
}

func headName(lock history.State) string {
	name, _, _ := strings.Cut(lock.Value, " of ")
	return name
}

// lockChanged: if the first node is another one, a try that was refused may now come to something else.
func (x *explorer) lockChanged(s *state, before uint32) {
	if x.servers.States[before].Lock != x.servers.States[s.servers[0]].Lock {
		x.allowRetries(s)
	}
}

// numbered is the request as it arrives: that for a sequential node says which number that gets. So numbers that nobody knows any more are given
// again, and states merge that differ by how many nodes there have been. To a lock that only compares numbers it is all the same.
func (x *explorer) numbered(s *state, n uint32) uint32 {
	if x.servers.Keepers == nil {
		return n
	}
	r := &x.texts.Requests[n]
	if command := r.Commands[0]; command[0] != "CREATE" || command[len(command)-1] != zookeeper.Sequential {
		return n
	}
	words := append(r.Commands[0][:len(r.Commands[0]):len(r.Commands[0])], states.NumberWord+strconv.Itoa(int(x.nextNumber(s))))
	return x.texts.AddRequest(learn.Request{Server: r.Server, Commands: [][]string{words}})
}

// nextNumber is the smallest that is greater than all that a node, a client or a message has, or a fence was made of.
func (x *explorer) nextNumber(s *state) uint32 {
	next := x.servers.States[s.servers[0]].Kept.Top
	for i := range x.clients {
		c := &s.clients[i]
		if c.phase != crashed {
			next = max(next, x.automaton.Nodes[c.node].Top)
		}
		for _, r := range c.replies {
			next = max(next, x.texts.Replies[r].Top)
		}
		for _, r := range c.travel {
			next = max(next, x.texts.Requests[r&travelAll].Top)
		}
	}
	if s.fence != 0 {
		next = max(next, uint32(x.judge.fences[s.fence-1]))
	}
	return next
}
