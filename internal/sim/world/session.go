package world

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/zookeeper"
)

// A client of a ZooKeeper has a session, which its library keeps alive while it is neither paused nor cut off nor dead. The library of a
// client that has been paused or cut off makes contact before time passes again: then it learns that its session goes on, or that it is
// over, and gets another.

// session is what a client of a ZooKeeper has beside its lock.
type session struct {
	silence int    // how long ago the server has heard of it
	life    int    // how many of its sessions have ended, as far as it knows
	ended   bool   // the present one has ended on the server
	cut     bool   // nothing passes between it and the server
	come    set    // the tasks whose event has come
	unheard set    // the tasks whose event has come to the server only, because the client is cut off
	gone    set    // the tasks that get no reply: their connection has certainly broken
	made    []made // its nodes, in the order of their numbers
}

// made is a node, and the request that made it.
type made struct {
	name string
	message
}

// appendTo appends nothing where there has never been a session.
func (s *session) appendTo(b []byte) []byte {
	if s.silence == 0 && s.life == 0 && !s.ended && !s.cut && s.come|s.unheard|s.gone == 0 && len(s.made) == 0 {
		return b
	}
	b = fmt.Append(b, "|s")
	for _, n := range [...]int{s.silence, s.life, int(s.come), int(s.unheard), int(s.gone)} {
		b = binary.AppendVarint(b, int64(n))
	}
	b = service.AppendFlags(b, s.ended, s.cut)
	for _, m := range s.made {
		b = service.AppendFlags(fmt.Appendf(b, "|%q %d", m.name, m.op), m.ended, m.ok)
	}
	return b
}

// isEvent says whether a task waits for what its session, or a watch, tells it.
func isEvent(wait *process.Wait) bool {
	return wait.Kind == process.Contact || wait.Kind == process.Message && wait.Number != 0
}

// asksKeeper says whether a request goes to the ZooKeeper of a client that has one.
func asksKeeper(server int) bool { return server != process.Resource }

// isCutOff says whether nothing passes between a task and the server that it waits for.
func (c *client) isCutOff(wait *process.Wait) bool {
	return c.session.cut && wait.Kind == process.Request && asksKeeper(wait.Server)
}

// isApart says whether what a task has sent, or is to send, is certainly lost, or waits for the end of a partition.
func (c *client) isApart(wait *process.Wait) bool {
	return asksKeeper(wait.Server) && (c.session.cut || c.session.ended || c.session.gone.has(wait.Task))
}

// mayBeCutOff says whether a partition makes a difference.
func (p *player) mayBeCutOff(c *client) bool {
	return p.sessions && !c.session.cut && (c.phase != waiting || !c.at.Idle())
}

// isBehind says whether a request cannot be carried out yet: the session is over and there is no other, or one of its client's is on its way
// before it.
func (c *client) isBehind(wait *process.Wait) bool {
	return asksKeeper(wait.Server) && (c.session.ended || slices.ContainsFunc(c.travel, func(m message) bool { return m.soon && asksKeeper(m.server) }))
}

// listen notes which tasks of a client have begun to wait for an event. It may have come already.
func (p *player) listen(w *world, i int, before *past.Moment) {
	c := &w.clients[i]
	s := &c.session
	var old set
	for k := range c.at.Waits {
		if wait := &c.at.Waits[k]; before.Awaits(wait) {
			old.add(wait.Task)
		}
	}
	s.come, s.unheard, s.gone = s.come&old, s.unheard&old, s.gone&old
	for k := range c.at.Waits {
		wait := &c.at.Waits[k]
		switch {
		case old.has(wait.Task):
		case wait.Kind == process.Contact && wait.Number != s.life:
			s.come.add(wait.Task)
		case wait.Kind != process.Message || s.ended || asKeeper(w.at(0).model).keeper.Watches(sessionConn(i), past.Watched(wait)):
		case s.cut:
			s.unheard.add(wait.Task)
		default:
			s.come.add(wait.Task)
		}
	}
}

// deliver brings what the ZooKeeper has told clients unasked to them: watched nodes have changed. by is the client whose step has caused it.
func (w *world) deliver(by int) {
	model := w.at(0).model
	for i := range w.clients {
		c := &w.clients[i]
		list := &c.session.come
		if c.session.cut {
			list = &c.session.unheard
		}
		for e, more := model.Receive(sessionConn(i)); more; e, more = model.Receive(sessionConn(i)) {
			w.others = w.others || e.Channel != "" && i != by
			for k := range c.at.Waits {
				wait := &c.at.Waits[k]
				if wait.Kind == process.Message && past.Watched(wait) == e.Channel && c.phase != crashed {
					list.add(wait.Task)
				}
			}
		}
	}
}

// makeOfSession makes a choice as far as it is about a session, and says whether that is all of it.
func (p *player) makeOfSession(w *world, o Choice) (done bool, err error) {
	if o.kind == passes {
		return false, nil
	}
	c, i, task := &w.clients[o.client], int(o.client), int(o.task)
	switch s := &c.session; o.kind {
	case heals:
		s.cut, s.come, s.unheard = false, s.come|s.unheard, 0 // its watches are set again
		return true, nil
	case contacts:
		c.stepped(o)
		return true, p.contact(w, i)
	case serves:
		if s.silence > 0 && asksKeeper(c.at.Wait(task).Server) {
			return false, p.contact(w, i)
		}
	case breaks:
		if c.isCutOff(c.at.Wait(task)) && c.answer(task) < 0 && !c.isBroken(task) {
			c.depart(task, false) // it may still arrive when the partition ends
		}
	case wakes:
		if !s.come.has(task) {
			return false, nil
		}
		c.stepped(o)
		in := past.Input{Kind: past.Wake, Task: task}
		if s.come.remove(task); c.at.Wait(task).Kind == process.Contact {
			in.Kind = past.Lost
		}
		return true, p.give(w, i, in)
	}
	return false, nil
}

// contact has the library of a client make contact after a pause or a partition.
func (p *player) contact(w *world, i int) error {
	c := &w.clients[i]
	s, lost := &c.session, c.session.ended
	request := []string{"PING"}
	if lost {
		request = zookeeper.Reconnect(0, p.Lease)
	}
	asKeeper(w.change(0).model).Do(sessionConn(i), request...)
	s.silence, s.ended = 0, false
	c.reconnect()
	if !lost {
		return p.prolong(w, i)
	}
	p.recorder.renewed(i)
	s.life++
	for _, wait := range c.at.Waits {
		if wait.Kind == process.Contact || wait.Kind == process.Message {
			s.come.add(wait.Task)
		}
	}
	return nil
}

// prolong gives those tasks of a client something that wait for contact. A lock that then waits on as before, and reports no more than for how
// long it is held, twice in the same way, is taken to do so at every contact.
func (p *player) prolong(w *world, i int) error {
	c := &w.clients[i]
	if lock, owner := asKeeper(w.at(0).model).head(); owner == i {
		p.recorder.pinged(i, lock)
		c.heard = 0
	}
	for _, wait := range slices.Clone(c.at.Waits) {
		if wait.Kind != process.Contact || c.session.come.has(wait.Task) {
			continue
		}
		in := past.Input{Kind: past.Wake, Task: wait.Task}
		notices, same, err := p.past.Listens(c.at, in, p.shown(w, c))
		if !same && err == nil {
			err = p.give(w, i, in)
		}
		if err != nil {
			return err
		}
		for _, n := range notices {
			p.receive(w, i, n)
		}
	}
	return nil
}

// reconnect: the server refuses what comes by an earlier connection of a client.
func (c *client) reconnect() {
	c.travel = slices.DeleteFunc(c.travel, func(m message) bool { return !m.soon && asksKeeper(m.server) })
}

// cutOff begins a partition. What the client had sent waits on the wire.
func (c *client) cutOff() {
	c.session.cut = true
	for k := range c.at.Waits {
		if wait := &c.at.Waits[k]; c.isCutOff(wait) {
			c.torn.add(wait.Task)
		}
	}
	for k := range c.travel {
		if m := &c.travel[k]; asksKeeper(m.server) {
			m.soon, m.torn = false, false
		}
	}
}

// end: the session of a client is over, and so is each connection by which it has sent something. What it was to send by another one waits.
func (c *client) end() {
	s := &c.session
	s.ended = true
	c.travel = slices.DeleteFunc(c.travel, func(m message) bool { return asksKeeper(m.server) && !(s.cut && m.soon) })
	if c.phase == crashed {
		return
	}
	for _, wait := range c.at.Waits {
		if wait.Kind != process.Request || !asksKeeper(wait.Server) {
			continue
		}
		torn := c.torn.has(wait.Task)
		switch {
		case s.cut && torn && !s.gone.has(wait.Task):
			c.drop(wait.Task)
			s.gone.add(wait.Task)
		case !s.cut && !torn && c.answer(wait.Task) < 0:
			c.torn.add(wait.Task)
		}
	}
}

// passSessions lets time pass for a ZooKeeper and its clients. In between, their libraries make contact, if that prolongs a hold.
func (p *player) passSessions(w *world, o Choice) error {
	for left := int(o.time); left > 0; {
		part := left
		spared := func(i int) bool {
			return i >= len(w.clients) || w.clients[i].phase != crashed && !w.clients[i].paused && o.paused>>i&1 == 0 && !w.clients[i].session.cut
		}
		if w.tells(spared) {
			part = min(part, ms(p.Lease)/3)
		}
		left -= part
		p.recorder.elapse(part)
		for i := range w.clients {
			c := &w.clients[i]
			heard := c.heard
			c.passes(part, o.paused>>i&1 != 0, o.busy>>i&1 != 0)
			c.heard = heard + part // a session lasts from what its server has heard, whenever its client learns of that
		}
		w.monitor().passes(part, o.paused)
		p.lapse(w, part, spared)
		for i := range w.clients {
			switch c := &w.clients[i]; {
			case c.phase == crashed:
			case !spared(i):
				c.session.silence = min(c.session.silence+part, ms(p.Lease)+1)
			default:
				c.reconnect()
				if err := p.prolong(w, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tells says whether some client that makes contact has a hold that ends by what it has declared, and is told of contact.
func (w *world) tells(spared func(int) bool) bool {
	for i := range w.clients {
		c := &w.clients[i]
		if spared(i) && c.on && c.ends != never && slices.ContainsFunc(c.at.Waits, func(wait process.Wait) bool { return wait.Kind == process.Contact }) {
			return true
		}
	}
	return false
}
