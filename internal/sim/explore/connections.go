package explore

import (
	"math/bits"

	"github.com/locklab/locklab/internal/sim/states"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/internal/sim/process"
)

// A restart and a fail-over break the connections to their server. A client that waits for a reply from there learns that it will get none,
// unless the reply had reached it before, or it sends its request only afterwards: which of these, the next step of the client says. A request
// that its client had given up just before may be lost or not. One that is late may be held back anywhere: it arrives later, or never, as
// without a restart. A connection that watches keys is broken for good.

// tornTravel is the bit of client.torn of the first request that nobody waits for any more. Those before are of the slots.
const tornTravel = learn.MostSlots

// dropped, in the slot of moveArrive: the request is lost with its connection.
const dropped = 2

// breakConnections breaks those of all clients to a server, which was in a state before.
func (x *explorer) breakConnections(s *state, server uint8, before uint32) {
	for i := range x.clients {
		c := &s.clients[i]
		if x.servers.Watches(before, i) {
			c.broken |= 1 << server
		}
		n := &x.automaton.Nodes[c.node]
		for k := range n.Slots[:n.Tasks] {
			if sl := &n.Slots[k]; c.phase != crashed && sl.Kind == process.Request && sl.Server == int8(server) && !(c.has(deaf) && k == 0) {
				c.torn |= 1 << k
			}
		}
		for k, r := range c.travel {
			switch q := &x.texts.Requests[r&travelAll]; {
			case r == 0 || q.Server != int8(server):
			case q.Conn != 0 && x.servers.WatchesBy(before, i, q.Conn):
				c.forget(k)
			case r&surely != 0:
				c.torn |= 1 << (tornTravel + k)
			}
		}
		c.sortTravel()
	}
}

// alone is what is on its way without the tasks that have sent it.
func (f flights) alone() flights {
	f.torn, f.broken, f.come, f.unheard, f.lost = f.torn>>tornTravel<<tornTravel, 0, 0, 0, 0
	return f
}

// isTorn says whether the connection has broken by which a task of the client waits for a reply.
func (c *client) isTorn(slot int) bool { return c.torn&(1<<slot) != 0 }

// mend: what a task waits for by now, it waits for on a connection that is whole.
func (c *client) mend(slot int) {
	c.torn &^= 1 << slot
	c.lost &^= 1 << slot
}

// forget takes a request off its way.
func (c *client) forget(place int) {
	c.travel[place], c.ages[place], c.agos[place] = 0, 0, 0
	c.mend(tornTravel + place)
}

// hangUp closes a client's connection of its own. What it has given up is still on its way by that one, whatever it watches by the next.
func (x *explorer) hangUp(s *state, i int, n process.Notice) {
	if n.Server < 0 || x.sessions {
		return
	}
	c := &s.clients[i]
	c.broken &^= 1 << n.Server
	other, free := 0, uint8(1<<mostTravel-1)
	for _, r := range c.travel {
		if conn := x.texts.Requests[r&travelAll].Conn; conn >= states.FirstLate {
			free &^= 1 << (conn - states.FirstLate)
		}
	}
	for k, r := range c.travel {
		if q := x.texts.Requests[r&travelAll]; r != 0 && int(q.Server) == n.Server && q.Conn == n.Conn {
			other = states.FirstLate + bits.TrailingZeros8(free)
			c.travel[k] = r&^travelAll | x.texts.By(other, r&travelAll)
		}
	}
	c.sortTravel()
	s.servers[n.Server] = x.servers.Leave(s.servers[n.Server], i, n.Conn, other)
}

// isBroken says whether a request is to go by a connection that has broken.
func (x *explorer) isBroken(c *client, sl learn.Slot) bool {
	return sl.Server >= 0 && c.broken&(1<<sl.Server) != 0 && x.texts.Requests[sl.Request].Conn != 0
}

// breaks says whether a task of a client may learn, or will, that it gets no reply, because its connection has broken. A client that waits for
// what is lost does so anyway.
func (x *explorer) breaks(c *client, slot int) bool {
	lost := c.has(deaf) && slot == 0
	return !lost && (c.isTorn(slot) || c.isLost(uint8(slot)) || c.replies[slot] == 0 && x.isBroken(c, x.automaton.Nodes[c.node].Slots[slot]))
}

// mayTear says whether something is on its way to or from a server that a break of its connection may lose.
func (x *explorer) mayTear(s *state, server int) bool {
	for i := range x.clients {
		c := &s.clients[i]
		n := &x.automaton.Nodes[c.node]
		for k, sl := range n.Slots[:n.Tasks] {
			if c.phase != crashed && sl.Kind == process.Request && int(sl.Server) == server && !(c.has(deaf) && k == 0) {
				return true
			}
		}
		for _, r := range c.travel {
			if r&surely != 0 && int(x.texts.Requests[r&travelAll].Server) == server {
				return true
			}
		}
	}
	return false
}

// canTear says whether a connection to a lock server can still break.
func (x *explorer) canTear(s *state) bool { return x.canSpend(s, restart) || x.canSpend(s, failOver) }
