package world

import (
	"unsafe"

	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/suspicion"
)

// What a state has room for.
const (
	MostClients = mostClients - 1 // one comes when the others have ended
	MostServers = 5
	mostClients = suspicion.MostClients
	mostKinds   = 16
)

// State is the numbers of its parts, each of which is known once.
type State struct {
	clients                   [MostClients]int32
	servers                   [MostServers]int32
	resource, monitor, struck int32
	now                       int32 // if it matters what a clock shows
}

// clientPart is a client, and what is asked of one again and again.
type clientPart struct {
	c            client
	main, beside bool  // see ready
	user         bool  // it is its user's turn
	soon         bool  // some message of its arrives before time passes
	done         bool  // see player.done
	late         bool  // see client.late
	top          int   // see client.top
	due          int   // when its next wait ends
	times        []int // when something of it ends
	choices      []offer
	private      [4]private // by circumstances
	seen         uint8      // by other clients' steps
	asks         uint8      // the servers to which or from which something is on its way, in bits
}

type serverPart struct {
	server
	times    []int
	quarters []int // of a lease, before something ends, if the lock asks for how long that is
	occupied bool  // it has the lock, or anything that ends
	left     []int // of a ZooKeeper: how long each client's session lasts
}

// struckPart are the faults so far.
type struckPart struct {
	struck
	may uint32         // the kinds one more of which may strike, in bits
	in  *circumstances // nil: no step is private
}

// offer is what a client may do while some faults may still strike.
type offer struct {
	may     uint32
	choices []Choice
}

// parts are those of all states, and what is known of them.
type parts struct {
	clients  table[string, clientPart]
	servers  table[string, serverPart]
	monitors table[monitor, monitor]
	strucks  table[struck, struckPart]
	effects  map[inputs]effect
	aged     struct{ clients, servers map[passing]int32 }
	symmetry *symmetry
	bytes    int // about what they take
}

func newParts(config Config) parts {
	p := parts{
		clients: newTable[string, clientPart](), servers: newTable[string, serverPart](), monitors: newTable[monitor, monitor](),
		strucks: newTable[struck, struckPart](), effects: map[inputs]effect{},
		symmetry: newSymmetry(config.Clients, config.Lock.EqualTokens && !config.Without.Apart),
	}
	p.aged.clients, p.aged.servers = map[passing]int32{}, map[passing]int32{}
	return p
}

// table numbers parts.
type table[K comparable, P any] struct {
	numbers map[K]int32
	list    []P
}

func newTable[K comparable, P any]() table[K, P] { return table[K, P]{numbers: map[K]int32{}} }

// add numbers a part that is new.
func (t *table[K, P]) add(key K, part P) int32 {
	n := int32(len(t.list))
	t.numbers[key] = n
	t.list = append(t.list, part)
	return n
}

func (p *parts) client(r *State, i int) *clientPart { return &p.clients.list[r.clients[i]] }

func (p *parts) server(r *State, i int) *serverPart { return &p.servers.list[r.servers[i]] }

func (p *parts) monitor(r *State) *monitor { return &p.monitors.list[r.monitor] }

func (p *parts) struck(r *State) *struckPart { return &p.strucks.list[r.struck] }

// world is what the numbers of a state stand for, until the next one is asked for.
func (s *Space) world(r *State) *world {
	w := &s.scratch.world
	*w = world{
		now: int(r.now), config: &s.player.Config, resource: s.parts.servers.list[r.resource].server,
		struck: s.parts.struck(r).struck, known: *s.parts.monitor(r), clients: w.clients[:0], servers: w.servers[:0],
	}
	for i := range s.Clients {
		w.clients = append(w.clients, s.parts.client(r, i).c.clone())
	}
	for i := range s.Servers {
		w.servers = append(w.servers, s.parts.server(r, i).server)
	}
	return w
}

// rowOf is a world as a state.
func (s *Space) rowOf(w *world) (r State) {
	if s.player.past.Clocks == past.Absolute {
		r.now = int32(w.now)
	}
	for i := range w.clients {
		r.clients[i] = s.clientOf(w.clients[i], i)
	}
	for i := range w.servers {
		r.servers[i] = s.serverOf(w.servers[i])
	}
	r.resource, r.monitor, r.struck = s.serverOf(w.resource), s.monitorOf(w.known), s.struckOf(w.struck)
	return r
}

func (s *Space) clientOf(c client, i int) int32 {
	c = s.player.plain(c, i)
	s.scratch.text = c.appendTo(append(s.scratch.text[:0], byte(i)), c.at.Number)
	if n, known := s.parts.clients.numbers[string(s.scratch.text)]; known {
		return n
	}
	p := clientPart{c: c.clone(), done: s.player.done(&c), late: c.late(ms(s.Lease)), seen: c.seen(), asks: c.asks()}
	p.main, p.beside = s.player.ready(&c)
	p.user = !c.at.Busy && (c.phase == holding || c.phase == worked)
	for _, m := range c.travel {
		p.soon = p.soon || m.soon && !(c.session.cut && asksKeeper(m.server))
	}
	if s.player.sessions {
		p.top = c.top()
	}
	p.times, p.due = s.player.deadlines(&c)
	s.parts.bytes += 2*len(s.scratch.text) + int(unsafe.Sizeof(p))
	return s.parts.clients.add(string(s.scratch.text), p)
}

// deadlines are when something of a client ends, and due is when its next wait does.
func (p *player) deadlines(c *client) (times []int, due int) {
	due = never
	for _, d := range c.due {
		if times = append(times, d.at); d.at > 0 {
			due = min(due, d.at)
		}
	}
	if wait := p.patient() - c.called; p.queues(c) && !c.at.Busy && wait > 0 {
		times, due = append(times, wait), min(due, wait)
	}
	if c.on && c.ends != never {
		times = append(times, around(c.ends)...)
	}
	if c.phase == releasing && c.deaf && !c.delayed {
		times = append(times, patience(ms(p.Lease))-c.called)
	}
	return times, due
}

// seenBits is how much the monitor sees of a client at the steps of others.
const seenBits = 4

func (c *client) seen() (bits uint8) {
	for bit, is := range [seenBits]bool{c.active(), c.on, c.phase == working || c.writesLate(), c.refusedLate()} {
		if is {
			bits |= 1 << bit
		}
	}
	return bits
}

func (s *Space) serverOf(v server) int32 {
	s.scratch.text = v.appendTo(s.scratch.text[:0], model.AppendState)
	if n, known := s.parts.servers.numbers[string(s.scratch.text)]; known {
		return n
	}
	p := serverPart{server: v, occupied: v.model.State(lockKey).Exists() || len(v.model.Expiries()) > 0}
	for _, left := range v.model.Expiries() {
		p.times = append(p.times, around(ms(left))...)
		for t := ms(left - s.Grid); s.player.past.Lives && t > max(ms(left-s.Lease), 0); t -= ms(s.Grid) {
			p.quarters = append(p.quarters, t)
		}
	}
	if m, is := v.model.(keeperModel); is {
		for i := range s.Clients {
			p.left = append(p.left, m.left(i))
		}
	}
	s.parts.bytes += 2*len(s.scratch.text) + int(unsafe.Sizeof(p))
	return s.parts.servers.add(string(s.scratch.text), p)
}

func (s *Space) struckOf(k struck) int32 {
	n, known := s.parts.strucks.numbers[k]
	if !known {
		n = s.parts.strucks.add(k, struckPart{k, s.player.budget.mayStrike(&k), s.player.circumstances(k)})
	}
	return n
}

func (s *Space) monitorOf(m monitor) int32 {
	m.suspects = 0
	s.interest.keep(&m)
	n, known := s.parts.monitors.numbers[m]
	if !known {
		n = s.parts.monitors.add(m, m)
	}
	return n
}

// pass lets time pass for a state: each part by itself, once for all states that have it. player.pass does the same to a world.
func (s *Space) pass(r *State, o Choice) (State, suspicion.Set) {
	next, late := *r, false
	for i := range s.Clients {
		key := passing{number: r.clients[i], time: o.time, how: int32(o.paused>>i&1 | o.busy>>i&1<<1)}
		n, known := s.parts.aged.clients[key]
		if !known {
			c := s.parts.client(r, i).c.clone()
			c.passes(int(o.time), o.paused>>i&1 != 0, o.busy>>i&1 != 0)
			n = s.clientOf(c, i)
			s.parts.aged.clients[key] = n
		}
		next.clients[i] = n
		late = late || s.parts.clients.list[n].late
	}
	for i := range s.Servers {
		key := passing{number: r.servers[i], time: o.time}
		n, known := s.parts.aged.servers[key]
		if !known {
			before := s.parts.server(r, i).server
			after := before.passes(int(o.time))
			s.player.seen.expired = s.player.seen.expired || before.model.State(lockKey).Exists() && !after.model.State(lockKey).Exists()
			n = s.serverOf(after)
			s.parts.aged.servers[key] = n
		}
		next.servers[i] = n
	}
	m := *s.parts.monitor(r)
	m.passes(int(o.time), o.paused)
	if k := s.player.budget.spend(s.parts.struck(r).struck, o); o.paused|o.busy != 0 {
		next.struck = s.struckOf(k)
	}
	if late && !s.parts.strucks.list[next.struck].hurts {
		m.hangs()
	}
	next.monitor = s.monitorOf(m)
	if s.player.past.Clocks == past.Absolute {
		next.now += o.time
	}
	return next, m.suspects & s.interest.suspicions
}

// passing is a part while time passes.
type passing struct {
	number, time int32
	how          int32 // whether it is a client that is paused, or in a long hold
}
