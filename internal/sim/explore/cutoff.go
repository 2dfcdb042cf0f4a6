package explore

import (
	"github.com/locklab/locklab/internal/sim/learn"
	"github.com/locklab/locklab/internal/sim/process"
)

// A client of a ZooKeeper that is cut off runs on, and its user with it: time passes then without a further fault while it works or waits between two
// operations. What it had sent to the server waits on the wire; its library gives that connection up at any time, and by the end of the session
// has done so. What it asks for meanwhile is sent when the partition ends, by a new connection, and in a new session if the old one is over by then.

// isCutOff says whether nothing passes between a task of a client and the server that it waits for.
func (x *explorer) isCutOff(c *client, sl learn.Slot) bool {
	return c.cut && sl.Kind == process.Request && sl.Server != process.Resource
}

// isLost says whether a task of a client certainly gets no reply.
func (c *client) isLost(slot uint8) bool { return c.lost&(1<<slot) != 0 }

// losesAnyway says whether a task of a client loses its request or the reply without a further fault.
func (x *explorer) losesAnyway(c *client, m move) bool {
	if m.kind == moveLate {
		return x.isCutOff(c, x.automaton.Nodes[c.node].Slots[m.slot])
	}
	return x.breaks(c, int(m.slot))
}

// part begins a partition, or ends it.
func (x *explorer) part(s *state, m move) {
	if c := &s.clients[m.client]; m.kind == moveCut {
		x.cutOff(s, c)
	} else {
		x.heal(int(m.client), c)
	}
}

// cutOff begins a partition.
func (x *explorer) cutOff(s *state, c *client) {
	s.spent[partition]++
	x.judge.disturbForGood(c)
	c.cut = true
	n := &x.automaton.Nodes[c.node]
	for k, sl := range n.Slots[:n.Tasks] {
		if x.isCutOff(c, sl) {
			c.torn |= 1 << k
		}
	}
	for k, r := range c.travel {
		if r&surely != 0 && x.texts.Requests[r&travelAll].Server != process.Resource {
			c.travel[k] = r &^ surely
			c.mend(tornTravel + k)
		}
	}
	c.sortTravel()
}

// heal ends it.
func (x *explorer) heal(i int, c *client) {
	c.cut = false
	c.come, c.unheard = c.come|c.unheard, 0 // its watches are set again
	if x.watcher != nil {
		x.watcher.healed(i)
	}
}

// cutOffMoves are those of a task that waits for a reply while its client is cut off: its library gives the connection up by which it has sent the
// request. That may still arrive when the partition ends.
func (x *explorer) cutOffMoves(list []move, c *client, m move) []move {
	if !x.breaks(c, int(m.slot)) {
		return list
	}
	m.kind = moveLose
	if c.replies[m.slot] == 0 && !c.isLost(m.slot) {
		if m.kind = moveLate; c.room() < 0 {
			x.cut = errTravel
			return list
		}
	}
	return append(list, m)
}

// loseSession: the session of a client that is cut off is over, and so is each connection by which it has sent something. What it has not sent waits.
func (x *explorer) loseSession(c *client) {
	for k, r := range c.travel {
		if r != 0 && r&surely == 0 && x.texts.Requests[r&travelAll].Server != process.Resource {
			c.forget(k)
		}
	}
	c.sortTravel()
	n := &x.automaton.Nodes[c.node]
	for k, sl := range n.Slots[:n.Tasks] {
		if x.isCutOff(c, sl) && c.isTorn(k) {
			c.replies[k] = 0
			c.lost |= 1 << k
		}
	}
}
