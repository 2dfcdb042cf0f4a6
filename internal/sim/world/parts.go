package world

import (
	"github.com/locklab/locklab/faults"
)

// What a state has room for.
const (
	mostClients = 5 // one of them comes when the others have ended
	mostServers = 5
	mostKinds   = 16
)

// State is the numbers of its parts, each of which is known once.
type State struct {
	clients                   [mostClients - 1]int32
	servers                   [mostServers]int32
	resource, monitor, struck int32
	now                       int32 // if it matters what a clock shows
}

// clientPart is a client, and what is asked of one again and again.
type clientPart struct {
	c            client
	main, beside bool               // see ready
	user         bool               // it is its user's turn
	soon         bool               // some message of its arrives before time passes
	over         bool               // see Space.over
	late         bool               // see client.late
	top          int                // see client.top
	due          int                // when its next wait ends
	times        []int              // when something of it ends
	choices      map[int32][]Choice // by the faults so far
	seen         uint8              // by other clients' steps
}

type serverPart struct {
	server
	times []int
	left  []int // of a ZooKeeper: how long each client's session lasts
	top   int   // and one more than the greatest number of its nodes
}

// parts are those of all states, and what is known of them.
type parts struct {
	clients  table[string, clientPart]
	servers  table[string, serverPart]
	monitors table[monitor, monitor]
	strucks  table[struck, struck]
	effects  map[inputs]effect
	aged     struct{ clients, servers map[passing]int32 }
	orders   []*order
	names    map[any]int32 // what parts are called under orders
}

func newParts(config Config) parts {
	p := parts{
		clients: newTable[string, clientPart](), servers: newTable[string, serverPart](), monitors: newTable[monitor, monitor](),
		strucks: newTable[struck, struck](), effects: map[inputs]effect{}, names: map[any]int32{},
		orders: orders(config.Clients, config.Lock.EqualTokens && !config.Without.Apart),
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

// of is the number of a part that is its own key.
func of[P comparable](t *table[P, P], part P) int32 {
	n, known := t.numbers[part]
	if !known {
		n = t.add(part, part)
	}
	return n
}

// world is what a state's number stand for.
func (s *Space) world(r *State) *world {
	w := &world{
		now: int(r.now), lease: ms(s.Lease), leaseless: s.Lock.Leaseless || s.player.sessions, resource: s.parts.servers.list[r.resource].server,
		struck: s.parts.strucks.list[r.struck], monitor: s.parts.monitors.list[r.monitor],
	}
	for i := range s.Clients {
		w.clients = append(w.clients, s.parts.clients.list[r.clients[i]].c.clone())
	}
	for i := range s.Servers {
		w.servers = append(w.servers, s.parts.servers.list[r.servers[i]].server)
	}
	return w
}

// rowOf is a world as a state.
func (s *Space) rowOf(w *world) (r State) {
	if s.player.locals.clocks == absolute {
		r.now = int32(w.now)
	}
	for i := range w.clients {
		r.clients[i] = s.clientOf(w.clients[i], i)
	}
	for i := range w.servers {
		r.servers[i] = s.serverOf(w.servers[i])
	}
	r.resource, r.monitor, r.struck = s.serverOf(w.resource), s.monitorOf(w.monitor), of(&s.parts.strucks, w.struck)
	return r
}

func (s *Space) clientOf(c client, i int) int32 {
	c = s.player.plain(c, i)
	s.scratch.text = c.appendTo(append(s.scratch.text[:0], byte(i)), c.at.number)
	if n, known := s.parts.clients.numbers[string(s.scratch.text)]; known {
		return n
	}
	p := clientPart{c: c.clone(), due: never, choices: map[int32][]Choice{}, over: s.player.over(&c), late: c.late(ms(s.Lease))}
	p.main, p.beside = s.player.ready(&c)
	p.user = !c.at.busy && (c.phase == holding || c.phase == worked)
	for _, m := range c.travel {
		p.soon = p.soon || m.soon && !(c.session.cut && asksKeeper(m.server))
	}
	if s.player.sessions {
		p.top = c.top()
	}
	for _, d := range c.due {
		if p.times = append(p.times, d.at); d.at > 0 {
			p.due = min(p.due, d.at)
		}
	}
	if c.on && c.ends != never {
		around(func(t int) { p.times = append(p.times, t) }, c.ends)
	}
	if c.phase == releasing && c.deaf && !c.delayed {
		p.times = append(p.times, patience(ms(s.Lease))-c.called)
	}
	if c.active() {
		p.seen |= 1
	}
	if c.on {
		p.seen |= 2
	}
	return s.parts.clients.add(string(s.scratch.text), p)
}

func (s *Space) serverOf(v server) int32 {
	s.scratch.text = v.appendTo(s.scratch.text[:0])
	if n, known := s.parts.servers.numbers[string(s.scratch.text)]; known {
		return n
	}
	p := serverPart{server: v}
	for _, left := range v.model.Expiries() {
		around(func(t int) { p.times = append(p.times, t) }, ms(left))
	}
	if m, is := v.model.(keeperModel); is {
		for i := range s.Clients {
			p.left = append(p.left, m.left(i))
		}
		p.top = topNumber(string(s.scratch.text))
	}
	return s.parts.servers.add(string(s.scratch.text), p)
}

func (s *Space) monitorOf(m monitor) int32 {
	m.suspects = 0
	return of(&s.parts.monitors, m)
}

// inputs are all that a step of a client depends on: what it is, the client, the server that it asks, the monitor, what is seen of the other
// clients, and the time if it reads a clock that shows more than a difference.
type inputs struct {
	choice                       Choice
	client, server, monitor, now int32 // of the time one more; 0: it does not matter
	number                       int32 // that a node gets; 0: it does not matter
	seen                         uint16
}

// effect is what comes of such a step.
type effect struct {
	client, server, monitor int32
	suspects                Suspicions
	timed                   bool // it depends on the time
}

// Make makes a choice. The suspicions are of what it shows.
func (s *Space) Make(r *State, o Choice) (State, Suspicions, error) {
	switch {
	case o.kind == strikesServer, o.kind == passes && s.player.sessions:
		w := s.world(r)
		err := s.player.make(w, o)
		return s.rowOf(w), w.monitor.suspects, err
	case o.kind == passes:
		next, suspects := s.wait(r, o)
		return next, suspects, nil
	}
	i := o.client
	next := *r
	key := inputs{choice: o, client: r.clients[i], monitor: r.monitor, number: s.numberFor(r, o)}
	server := s.asked(&next, o)
	if server != nil {
		key.server = *server
	}
	for k := range s.Clients {
		if k != int(i) {
			key.seen |= uint16(s.parts.clients.list[r.clients[k]].seen) << (2 * k)
		}
	}
	e, known := s.parts.effects[key]
	if e.timed {
		key.now = 1 + r.now
		e, known = s.parts.effects[key]
	}
	if !known {
		var whole *State
		var err error
		if e, whole, err = s.stepAnew(r, o); err != nil {
			return next, 0, err
		} else if whole != nil {
			return *whole, e.suspects, nil
		}
		if e.timed {
			s.parts.effects[key] = e // to know it
			key.now = 1 + r.now
		}
		s.parts.effects[key] = e
	}
	if next.clients[i], next.monitor = e.client, e.monitor; server != nil {
		*server = e.server
	}
	if o.kind == strikes {
		next.struck = of(&s.parts.strucks, s.player.strikes(s.parts.strucks.list[r.struck], o))
	}
	return next, e.suspects, nil
}

// asked is the server that a choice of a client is about; nil: there is none.
func (s *Space) asked(r *State, o Choice) *int32 {
	c := &s.parts.clients.list[r.clients[o.client]].c
	server := 0
	switch {
	case s.player.sessions && o.kind != serves && o.kind != arrives: // whether what a task waits for has come, its server knows
	case o.kind == serves, o.kind == strikes && s.player.kinds[o.fault] == faults.Duplicate:
		server = c.at.wait(int(o.task)).Server
	case o.kind == arrives, o.kind == vanishes:
		server = c.travel[o.task].server
	default:
		return nil
	}
	if server < 0 {
		return &r.resource
	}
	return &r.servers[server]
}

// stepAnew makes a choice of a client. One that closes a connection changes a server that it does not ask: then next is the state after it.
func (s *Space) stepAnew(r *State, o Choice) (e effect, next *State, err error) {
	w := s.world(r)
	if err := s.player.make(w, o); err != nil {
		return e, nil, err
	}
	c, after := &w.clients[o.client], *r
	e = effect{client: s.clientOf(*c, int(o.client)), monitor: s.monitorOf(w.monitor), suspects: w.monitor.suspects, timed: s.player.locals.clocks == absolute && w.read}
	if w.others {
		all := s.rowOf(w)
		return e, &all, nil
	}
	server := s.asked(&after, o)
	for i := range w.servers {
		if number := &after.servers[i]; w.servers[i].model != s.parts.servers.list[*number].model {
			if *number = s.serverOf(w.servers[i]); number != server {
				all := s.rowOf(w)
				return e, &all, nil
			}
		}
	}
	if server == &after.resource {
		after.resource = s.serverOf(w.resource)
	}
	if server != nil {
		e.server = *server
	}
	return e, nil, nil
}

// wait lets time pass. Each part does by itself.
func (s *Space) wait(r *State, o Choice) (State, Suspicions) {
	next, late := *r, false
	for i := range s.Clients {
		key := passing{number: r.clients[i], time: o.time, how: o.paused>>i&1 | o.busy>>i&1<<1}
		n, known := s.parts.aged.clients[key]
		if !known {
			c := s.parts.clients.list[r.clients[i]].c.clone()
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
			n = s.serverOf(s.parts.servers.list[r.servers[i]].passes(int(o.time)))
			s.parts.aged.servers[key] = n
		}
		next.servers[i] = n
	}
	m := s.parts.monitors.list[r.monitor]
	m.passes(int(o.time))
	if k := s.player.strikes(s.parts.strucks.list[r.struck], o); o.paused|o.busy != 0 {
		next.struck = of(&s.parts.strucks, k)
	}
	if late && !s.parts.strucks.list[next.struck].hurts {
		m.hangs()
	}
	next.monitor = s.monitorOf(m)
	if s.player.locals.clocks == absolute {
		next.now += o.time
	}
	return next, m.suspects
}

// passing is a part while time passes.
type passing struct {
	number, time int32
	how          uint8 // whether it is a client that is paused, or in a long hold
}

// numberFor is the number of the node that a choice makes; 0: it makes none that is numbered.
func (s *Space) numberFor(r *State, o Choice) int32 {
	if !s.player.sessions || o.kind != serves && o.kind != arrives {
		return 0
	}
	c := &s.parts.clients.list[r.clients[o.client]].c
	m := message{}
	if o.kind == serves {
		m.commands = c.at.wait(int(o.task)).Commands
	} else {
		m = c.travel[o.task]
	}
	if !m.isNumbered() {
		return 0
	}
	next := max(s.parts.servers.list[r.servers[0]].top, int(s.parts.monitors.list[r.monitor].fence))
	for i := range s.Clients {
		next = max(next, s.parts.clients.list[r.clients[i]].top)
	}
	return int32(next) + 1
}
