package explore

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
)

// Whose a lock on a ZooKeeper is: the first node's, for the acquire that made it. What the server does to nodes by itself is judged as the commands are
// that histories have for it.

// serveNodes has a ZooKeeper execute a request.
func (x *explorer) serveNodes(s *state, q sending) uint32 {
	if !q.unheard {
		x.dropLate(&s.clients[q.client])
	}
	before := s.servers[0]
	was, _ := x.servers.headOf(before)
	done := x.servers.serve(before, x.numbered(s, q.request), q.client)
	s.servers[0] = done.next
	is, _ := x.servers.headOf(done.next)
	after := was
	switch {
	case !was.Exists():
		after = is
	case was != is:
		after = history.State{}
	}
	change := history.Change{Before: was, After: after}
	if x.watcher != nil {
		x.watcher.sent(q, done.reply, was, after)
	}
	x.followNodes(s, q, before, done)
	if done.named {
		x.judge.commanded(command{sending: q, effect: change.Effect(0), before: was.Exists(), unlimited: was.Exists(), after: after})
		if q.op != history.OpNone && !q.ended {
			s.clients[q.client].since = 0
		}
	}
	x.deliver(s, done.events)
	x.handOver(s, after)
	x.lockChanged(s, before)
	return done.reply
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
	is, i := x.servers.headOf(s.servers[0])
	if !is.Exists() || is == was {
		return
	}
	c, name := &s.clients[i], headName(is)
	q := c.makers[min(slices.Index(x.servers.nodesOf(s.servers[0], i), name), mostNodes-1)].sending(i)
	if x.watcher != nil {
		x.watcher.byServer(entryFirst, i, name, history.State{}, is)
	}
	x.judge.commanded(command{sending: q, effect: history.EffectCreated, after: is})
}

func headName(lock history.State) string {
	name, _, _ := strings.Cut(lock.Value, " of ")
	return name
}

func byNumber(names []string) []string {
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(numberOf(a), numberOf(b)) })
	return names
}

// lockChanged: if the first node is another one, a try that was refused may now come to something else.
func (x *explorer) lockChanged(s *state, before uint32) {
	if x.servers.states[before].lock != x.servers.states[s.servers[0]].lock {
		x.allowRetries(s)
	}
}
