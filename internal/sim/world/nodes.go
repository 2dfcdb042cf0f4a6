package world

import (
	"path"
	"slices"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// Whose a lock on a ZooKeeper is: the first node's, for the acquire that made it. What the server does to nodes by itself is judged as the
// commands are that histories have for it.

// The entries of histories that are no requests.
const (
	entryExpired = "EXPIRED"
	entryFirst   = "FIRST"
)

// serveNodes has a ZooKeeper execute a request.
func (p *player) serveNodes(w *world, i int, q message, unheard bool) []service.Reply {
	c, words := &w.clients[i], q.commands[0]
	if !unheard {
		c.reconnect()
	}
	m := asKeeper(w.change(q.server).model)
	was, _ := m.head()
	if words[0] == "CREATE" && words[len(words)-1] == zookeeper.Sequential {
		m.keeper.Number(path.Dir(words[1]), int64(w.nextNumber()))
	}
	reply := m.Do(sessionConn(i), words...)
	if below := len(words) > 1 && path.Dir(words[1]) == lockNode; below && reply.Kind != service.Error {
		switch words[0] {
		case "CREATE":
			c.session.made = append(c.session.made, made{path.Base(reply.Text), q})
		case "DELETE":
			w.removed(i, path.Base(words[1]))
		}
	}
	change := history.Change{Key: lockNode, Before: was, After: was}
	switch is, _ := m.head(); {
	case !was.Exists():
		change.After = is
	case was != is:
		change.After = history.State{}
	}
	replies := []service.Reply{reply}
	p.seen.named = p.seen.named || change.After.Exists()
	p.recorder.served(i, q, change, replies, unheard)
	if !unheard {
		c.heard = 0
	}
	if q.names(lockNode) {
		w.monitor().commanded(w, i, q, change)
	}
	w.deliver(i)
	p.handOver(w, i, change.After)
	return replies
}

// removed notes that a client has removed a node, whoever has made it.
func (w *world) removed(by int, node string) {
	for i := range w.clients {
		s, before := &w.clients[i].session, len(w.clients[i].session.made)
		s.made = slices.DeleteFunc(s.made, func(m made) bool { return m.name == node })
		w.others = w.others || i != by && len(s.made) < before
	}
}

// handOver notes that another node has become the first, where what was the first is gone. It has the lock for the acquire that made it.
func (p *player) handOver(w *world, by int, was history.State) {
	is, i := asKeeper(w.at(0).model).head()
	if !is.Exists() || is == was {
		return
	}
	w.others = w.others || i != by
	node := headName(is)
	s := &w.clients[i].session
	q := s.made[slices.IndexFunc(s.made, func(m made) bool { return m.name == node })].message
	change := history.Change{Key: lockNode, After: is}
	p.recorder.byServer(entryFirst, i, node, q, change)
	w.monitor().commanded(w, i, q, change)
}

func headName(lock history.State) string {
	name, _, _ := strings.Cut(lock.Value, " of ")
	return name
}

// lapse lets time pass for a ZooKeeper, and notes whose sessions end.
func (p *player) lapse(w *world, d int, spared func(int) bool) {
	before := asKeeper(w.at(0).model)
	m := asKeeper(w.change(0).model)
	for i := range p.Clients + 1 {
		if spared(i) {
			m.keeper.Spare(sessionConn(i), duration(d))
		}
	}
	m.Advance(duration(d))
	was, owner := before.head()
	for i := range w.clients {
		if before.left(i) == 0 || m.left(i) > 0 {
			continue
		}
		w.clients[i].end()
		p.seen.expired = p.seen.expired || owner == i
		w.clients[i].session.made = nil
		for _, node := range slices.Backward(before.nodes(i)) {
			change := history.Change{Key: lockNode, Before: was, After: was}
			if owner == i && headName(was) == node {
				change.After = history.State{}
			}
			p.recorder.byServer(entryExpired, i, node, message{}, change)
			w.monitor().commanded(w, i, message{ended: true}, change)
		}
	}
	w.deliver(nobody)
	p.handOver(w, nobody, was)
}

// nextNumber is the smallest that is greater than all that a node, a client or a message has, or a fence was made of. So numbers that nobody
// knows any more are given again, and states are one that differ by how many nodes there have been. To a lock that only compares numbers it is
// all the same.
func (w *world) nextNumber() int {
	next := max(zookeeper.TopNumber(string(w.at(0).model.AppendState(nil))), int(w.monitor().fence))
	w.reads.numbers = true
	for i := range w.clients {
		next = max(next, w.clients[i].top())
	}
	return next
}

// top is one more than the greatest number that a client knows of, or that is on its way to or from it.
func (c *client) top() (top int) {
	if c.phase != crashed {
		top = c.at.Top
	}
	for _, a := range c.answers {
		top = max(top, zookeeper.TopNumber(string(service.AppendReplies(nil, a.replies))))
	}
	for _, m := range c.travel {
		top = max(top, zookeeper.TopNumber(strings.Join(m.commands[0], " ")))
	}
	return top
}

// settle notes how an operation of a client has ended, where it matters of what was part of it.
func (c *client) settle(ok bool) {
	settle := func(m *message) {
		if m.op != history.OpNone && !m.ended {
			m.ended, m.ok = true, ok
		}
	}
	for k := range c.travel {
		settle(&c.travel[k])
	}
	for k := range c.session.made {
		settle(&c.session.made[k].message)
	}
}

// nodeReply is a reply of a ZooKeeper as histories have it.
func nodeReply(name string, r service.Reply) string {
	switch {
	case name == "EXISTS" && r.Kind == service.Error:
		return "nil"
	case name == "CREATE", name == "GETCHILDREN", r.Kind == service.Error:
		return r.Recorded()
	}
	return "OK"
}

// byServer records what the server did by itself to the node of a client, for the request q.
func (r *recorder) byServer(entry string, i int, node string, q message, change history.Change) {
	if r == nil {
		return
	}
	c := &history.Command{Args: []string{entry, path.Join(lockNode, node)}}
	id := int64(0)
	if q.op != history.OpNone {
		id = r.idOf(i, q)
		c.Late = id != r.open[i]
	}
	r.node(i, q.op, id, c, change)
	text := "the server removes its node " + node + " with its session"
	if entry == entryFirst {
		text = "its node " + node + " is the first"
	}
	r.note(trace.Step{Kind: trace.Notice, Client: i, Text: text})
}

// renewed records that a client has got another session.
func (r *recorder) renewed(i int) {
	if r != nil {
		r.note(trace.Step{Kind: trace.Notice, Client: i, Text: "its session has expired; it gets another"})
	}
}

// heals records the end of a partition.
func (r *recorder) heals(i int) {
	r.note(trace.Step{Kind: trace.Heal, Client: i})
	r.event(history.Event{Kind: history.KindFault, Detail: &history.Detail{
		Fault: &history.Fault{Name: string(faults.Partition), Target: trace.ClientName(i), Phase: history.PhaseRecover, What: "the client is cut off no more"},
	}})
}

// pinged records that the session of a client is prolonged that has the lock.
func (r *recorder) pinged(i int, lock history.State) {
	if r != nil {
		r.node(i, history.OpNone, 0, &history.Command{Args: []string{"PING", lockNode}}, history.Change{Key: lockNode, Before: lock, After: lock})
	}
}

// node records what was no request of the lock's.
func (r *recorder) node(i int, op history.Op, id int64, c *history.Command, change history.Change) {
	c.Server, c.Conn, c.Reply, c.Sent, c.Asked, c.Changes = r.server(0), int64(i*10+1), "OK", r.now, asked, []history.Change{change}
	r.event(history.Event{Kind: history.KindCommand, Client: trace.ClientName(i), Lock: lockNode, Op: op, ID: id, Detail: &history.Detail{Command: c}})
}
