package explore

import (
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/internal/sim/process"
)

// A client of a ZooKeeper has a session, which its library keeps alive while it is neither paused nor cut off nor dead. The library of a client that has
// been paused or cut off makes contact before time passes again: then it learns that its session goes on, or that it is over, and gets another.

// session is what a client of a ZooKeeper has beside its lock.
type session struct {
	silence ms    // how long ago the latest request was sent that the server has answered
	life    uint8 // how many of its sessions have ended, as far as it knows
	come    uint8 // the tasks, by slot, whose event has come
	cut     bool  // nothing passes between it and the server; see cutoff.go
	unheard uint8 // the tasks, by slot, whose event has come to the server meanwhile
	lost    uint8 // the tasks, by slot, that get no reply: their connection has certainly broken
	makers  makers
	Gap     [3]gap
}

// pingEvery is how often a library makes contact at least.
const pingEvery = ms(learn.Lease/time.Millisecond) / 3

// lasts is how long the client's session lasts at least, as its library knows.
func (c *client) lasts() ms { return ms(learn.Lease/time.Millisecond) - c.silence }

// isOver says whether the session of a client has ended on the server.
func (x *explorer) isOver(s *state, i int) bool {
	return x.sessions && x.servers.States[s.servers[0]].Kept.Left[i] == 0
}

// spared are the clients that are neither dead, paused nor cut off, so that their sessions last.
func (x *explorer) spared(s *state) uint8 {
	all := uint8(1<<learn.MostClients - 1)
	for i := range x.clients {
		if c := &s.clients[i]; c.phase == crashed || c.has(asleep) || c.cut {
			all &^= 1 << i
		}
	}
	return all
}

// isBehind says whether a request cannot be carried out yet: the session is over and there is no other, or one of its client's is on its way before it.
func (x *explorer) isBehind(s *state, m move) bool {
	c := &s.clients[m.client]
	if x.automaton.Nodes[c.node].Slots[m.slot].Server == process.Resource {
		return false
	}
	return x.isOver(s, int(m.client)) || slices.ContainsFunc(c.travel[:], func(r uint32) bool {
		return r&surely != 0 && x.texts.Requests[r&travelAll].Server != process.Resource
	})
}

// sessionEnds are the next moments at which sessions end of clients that are dead, paused or cut off, or may be paused.
func (x *explorer) sessionEnds(s *state, expiry *ms) {
	for i, left := range x.servers.States[s.servers[0]].Kept.Left[:x.clients] {
		if c := &s.clients[i]; c.phase == crashed || c.has(asleep) || c.cut || x.canSpend(s, pause) {
			sooner(expiry, left)
		}
	}
}

// passSessions lets time pass for a ZooKeeper and its clients' libraries.
func (x *explorer) passSessions(s *state, d ms) error {
	spared := x.spared(s)
	for d > 0 {
		part := d
		if x.tells(s, spared) {
			part = min(d, pingEvery)
		}
		d -= part
		if x.watcher != nil {
			x.watcher.passed(part)
		}
		x.lapse(s, part, spared)
		x.judge.pass(part, true)
		for i := range x.clients {
			c := &s.clients[i]
			switch {
			case c.phase == crashed:
			case spared&(1<<i) == 0:
				c.silence = min(c.silence+part, x.lease+1)
				x.ageDeclaration(c, part)
			default:
				x.ageDeclaration(c, part)
				x.dropLate(c)
				if x.watcher != nil && x.automaton.Nodes[c.node].Listens {
					x.watcher.contacted(i, false)
				}
				if err := x.prolonged(s, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tells says whether some client that makes contact has a hold that ends by what it has declared.
func (x *explorer) tells(s *state, spared uint8) bool {
	for i := range x.clients {
		if c := &s.clients[i]; spared&(1<<i) != 0 && c.has(on) && c.ends != never && x.automaton.Nodes[c.node].Listens {
			return true
		}
	}
	return false
}

// lapse lets time pass for the server, and takes in whose sessions end.
func (x *explorer) lapse(s *state, d ms, spared uint8) {
	before := s.servers[0]
	done := x.servers.Lapse(before, d, spared)
	s.servers[0] = done.Next
	was, owner := x.servers.HeadOf(before)
	for i := range x.clients {
		if x.servers.States[before].Kept.Left[i] == 0 || !x.isOver(s, i) {
			continue
		}
		c := &s.clients[i]
		if c.cut {
			x.loseSession(c)
		} else {
			x.tearSession(c)
		}
		c.makers = makers{}
		for _, name := range slices.Backward(x.servers.NodesOf(before, i)) {
			x.expired(i, name, was, owner)
		}
	}
	x.deliver(s, done.Events)
	x.handOver(s, was)
	x.lockChanged(s, before)
}

// tearSession: what a client waits for will not come, and what it has sent will not be carried out, because its session is over.
func (x *explorer) tearSession(c *client) {
	for k, r := range c.travel {
		if r != 0 && x.texts.Requests[r&travelAll].Server != process.Resource {
			c.forget(k)
		}
	}
	c.sortTravel()
	if c.phase == crashed {
		return
	}
	n := &x.automaton.Nodes[c.node]
	for k, sl := range n.Slots[:n.Tasks] {
		if sl.Kind == process.Request && sl.Server != process.Resource && c.replies[k] == 0 {
			c.torn |= 1 << k
		}
	}
}

// dropLate: a client that connects again has the server refuse what comes by an earlier connection.
func (x *explorer) dropLate(c *client) {
	for k, r := range c.travel {
		if r != 0 && r&surely == 0 && x.texts.Requests[r&travelAll].Server != process.Resource {
			c.forget(k)
		}
	}
	c.sortTravel()
}

// contact has the library of a client make contact after a pause or a partition.
func (x *explorer) contact(s *state, i int) error {
	c := &s.clients[i]
	over, request := x.isOver(s, i), x.servers.Ping
	if over {
		request = x.servers.Open
	}
	before := s.servers[0]
	s.servers[0] = x.servers.Serve(before, request, i).Next
	c.silence = 0
	x.dropLate(c)
	if x.watcher != nil {
		x.watcher.contacted(i, over)
	}
	if !over {
		return x.prolonged(s, i)
	}
	c.life++
	n := &x.automaton.Nodes[c.node]
	for k, sl := range n.Slots[:n.Tasks] {
		if sl.Kind == process.Contact || sl.Kind == process.Message || x.watched(c, k) != "" {
			c.come |= 1 << k
		}
	}
	return nil
}

// prolonged gives those tasks of a client something that wait for contact.
func (x *explorer) prolonged(s *state, i int) error {
	c := &s.clients[i]
	n := &x.automaton.Nodes[c.node]
	if !n.Listens {
		return nil
	}
	if _, owner := x.servers.HeadOf(s.servers[0]); owner == i && c.has(on) {
		c.from = 0 // it is on record
	}
	for k, sl := range n.Slots[:n.Tasks] {
		if sl.Kind != process.Contact || c.come&(1<<k) != 0 {
			continue
		}
		if err := x.give(s, i, learn.Input{Kind: learn.InputWake, Slot: uint8(k), Arg: 0}); err != nil {
			return err
		}
	}
	return nil
}

// ageDeclaration: what a client declares in the background counts from the latest reply on record. A contact with a ZooKeeper is on record while the client
// has the lock.
func (x *explorer) ageDeclaration(c *client, d ms) {
	if x.followsDeclarations(c) && c.phase != acquiring && !c.repliedBeside() {
		c.ageFrom(d, x.lease, x.sessions)
	}
}

// ageFrom lets time pass since the latest reply. One that has just been sent to a client that is paused reaches it at the end of the pause. A session
// lasts for some time from what its server has heard, whenever its client learns of that.
func (c *client) ageFrom(d, most ms, session bool) {
	if session || !c.has(asleep) || c.from > 0 {
		c.from = aged(c.from, d, most)
	}
}

// aged is an age after some time more. Beyond the most it makes no difference.
func aged(age, d, most ms) ms { return max(age, min(age+d, most)) }

// hears says whether an input, at a node, is a reply to a request that names the lock.
func (x *explorer) hears(at uint32, in learn.Input) bool {
	r := &x.texts.Requests[x.automaton.Nodes[at].Slots[in.Slot].Request]
	return in.Kind == learn.InputReply && r.Server != process.Resource && x.servers.Names(r.Commands)
}

// followsDeclarations says whether a background task of a client may declare something by which its hold counts from an earlier reply.
func (x *explorer) followsDeclarations(c *client) bool {
	return c.has(on) && x.automaton.Nodes[c.node].Listens
}

// watched is the path of the node that a task watches: it waits for the event, or for the reply to the request that has set the watch.
func (x *explorer) watched(c *client, slot int) string {
	sl := x.automaton.Nodes[c.node].Slots[slot]
	if sl.Kind != process.Message && (sl.Kind != process.Request || sl.Server == process.Resource || c.replies[slot] == 0) {
		return ""
	}
	words := x.texts.Requests[sl.Request].Commands[0]
	if words[0] != learn.WatchWord && (words[0] != "EXISTS" || len(words) < 3) {
		return ""
	}
	return words[1]
}

// deliver brings events to the clients.
func (x *explorer) deliver(s *state, number uint16) {
	for _, e := range x.servers.Events[number] {
		c := &s.clients[e.Client]
		if int(e.Client) >= x.clients || c.phase == crashed || e.Path == "" {
			continue
		}
		for k := range x.automaton.Nodes[c.node].Tasks {
			switch {
			case x.watched(c, k) != e.Path:
			case c.cut:
				c.unheard |= 1 << k
			default:
				c.come |= 1 << k
			}
		}
	}
}

// settleEvents: the tasks of a client wait for something else after a transition.
func (c *client) settleEvents(t *learn.Transition, to *learn.Node) {
	for k, sl := range to.Slots {
		bit := uint8(1) << k
		switch fresh := t.Fresh&bit != 0; {
		case sl.Kind == process.Contact && fresh:
			c.come, c.unheard = c.come&^bit, c.unheard&^bit
			if uint8(sl.Server) != c.life {
				c.come |= bit
			}
		case sl.Kind == 0, fresh && sl.Kind != process.Message:
			c.come, c.unheard = c.come&^bit, c.unheard&^bit
		}
	}
}

// awaitWatches: tasks of a client begin to wait for a watch that they have set before something else, so that its event may have come meanwhile.
func (x *explorer) awaitWatches(s *state, i int, from uint32, t *learn.Transition) {
	c, before := &s.clients[i], &x.automaton.Nodes[from]
	for k, sl := range x.automaton.Nodes[t.To].Slots {
		bit := uint8(1) << k
		if sl.Kind != process.Message || t.Fresh&bit == 0 || before.Slots[k].Sets(x.texts, sl) {
			continue
		}
		c.come, c.unheard = c.come&^bit, c.unheard&^bit
		switch words := x.texts.Requests[sl.Request].Commands[0]; {
		case x.isOver(s, i) || x.servers.WatchesNode(s.servers[0], i, words[1]):
		case c.cut:
			c.unheard |= bit
		default:
			c.come |= bit
		}
	}
}

// eventInput is what a task gets whose event has come.
func eventInput(sl learn.Slot, k uint8) learn.Input {
	if sl.Kind == process.Contact {
		return learn.Input{Kind: learn.InputLost, Slot: k, Arg: 0}
	}
	return learn.Input{Kind: learn.InputWake, Slot: k, Arg: 0}
}
