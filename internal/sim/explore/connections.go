package explore

import (
	"math/bits"

	"github.com/locklab/locklab/internal/sim/process"
)

// A restart and a fail-over break the connections to their server. A client that waits for a reply from there learns that it will get none,
// unless the reply had reached it before, or it sends its request only afterwards: which of these, the next step of the client says. A request
// that its client had given up just before may be lost or not. One that is late may be held back anywhere: it arrives later, or never, as
// without a restart. A connection that watches keys is broken for good.

// tornTravel is the bit of client.torn of the first request that nobody waits for any more. Those before are of the slots.
const tornTravel = mostSlots

// dropped, in the slot of moveArrive: the request is lost with its connection.
const dropped = 2

// breakConnections breaks those of all clients to a server, which was in a state before.
func (x *explorer) breakConnections(s *state, server uint8, before uint32) {
	for i := range x.clients {
		c := &s.clients[i]
		if x.servers.watches(before, i) {
			c.broken |= 1 << server
		}
		n := &x.automaton.nodes[c.node]
		for k := range n.slots[:n.tasks] {
			if sl := &n.slots[k]; c.phase != crashed && sl.kind == process.Request && sl.server == int8(server) && !(c.has(deaf) && k == 0) {
				c.torn |= 1 << k
			}
		}
		for k, r := range c.travel {
			switch q := &x.texts.requests[r&travelAll]; {
			case r == 0 || q.server != int8(server):
			case q.conn != 0 && x.servers.watchesBy(before, i, q.conn):
				c.forget(k)
			case r&surely != 0:
				c.torn |= 1 << (tornTravel + k)
			}
		}
		c.sortTravel()
	}
}

// watches says whether a client has a connection of its own to a server in a state, by which it watches keys.
func (s *servers) watches(state uint32, client int) bool {
	for conn := 1; conn <= mostSlots; conn++ {
		if s.watchesBy(state, client, conn) {
			return true
		}
	}
	return false
}

func (s *servers) watchesBy(state uint32, client, conn int) bool {
	return s.states[state].server.(redisServer).Watching(s.connection(client, conn))
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
		if conn := x.texts.requests[r&travelAll].conn; conn >= firstLate {
			free &^= 1 << (conn - firstLate)
		}
	}
	for k, r := range c.travel {
		if q := x.texts.requests[r&travelAll]; r != 0 && int(q.server) == n.Server && q.conn == n.Conn {
			other = firstLate + bits.TrailingZeros8(free)
			c.travel[k] = r&^travelAll | x.texts.by(other, r&travelAll)
		}
	}
	c.sortTravel()
	s.servers[n.Server] = x.servers.leave(s.servers[n.Server], i, n.Conn, other)
}

// firstLate is the first of the numbers of connections that clients have given up, of which each request on its way may have one.
const firstLate = mostSlots + 1

// by is a request that goes by another connection.
func (t *texts) by(conn int, n uint32) uint32 {
	r := t.requests[n]
	return t.addRequest(request{server: r.server, conn: conn, commands: r.commands})
}

// leave is the state of a server after a client has left a connection, to what is still on its way by it, as another one; 0: to nothing.
func (s *servers) leave(state uint32, client, conn, other int) uint32 {
	r, ok := s.states[state].server.(redisServer)
	if !ok || !r.Watching(s.connection(client, conn)) {
		return state
	}
	server := r.Server.Clone()
	if other == 0 {
		server.Close(s.connection(client, conn))
	} else {
		server.Renumber(s.connection(client, conn), s.connection(client, other))
	}
	return s.number(redisServer{server}, state, cause{client: uint8(client), left: uint8(conn), other: uint8(other)})
}

// isBroken says whether a request is to go by a connection that has broken.
func (x *explorer) isBroken(c *client, sl slot) bool {
	return sl.server >= 0 && c.broken&(1<<sl.server) != 0 && x.texts.requests[sl.request].conn != 0
}

// breaks says whether a task of a client may learn, or will, that it gets no reply, because its connection has broken. A client that waits for
// what is lost does so anyway.
func (x *explorer) breaks(c *client, slot int) bool {
	lost := c.has(deaf) && slot == 0
	return !lost && (c.isTorn(slot) || c.isLost(uint8(slot)) || c.replies[slot] == 0 && x.isBroken(c, x.automaton.nodes[c.node].slots[slot]))
}

// mayTear says whether something is on its way to or from a server that a break of its connection may lose.
func (x *explorer) mayTear(s *state, server int) bool {
	for i := range x.clients {
		c := &s.clients[i]
		n := &x.automaton.nodes[c.node]
		for k, sl := range n.slots[:n.tasks] {
			if c.phase != crashed && sl.kind == process.Request && int(sl.server) == server && !(c.has(deaf) && k == 0) {
				return true
			}
		}
		for _, r := range c.travel {
			if r&surely != 0 && int(x.texts.requests[r&travelAll].server) == server {
				return true
			}
		}
	}
	return false
}

// canTear says whether a connection to a lock server can still break.
func (x *explorer) canTear(s *state) bool { return x.canSpend(s, restart) || x.canSpend(s, failOver) }
