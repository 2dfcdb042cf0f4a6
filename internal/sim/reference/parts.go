package reference

import (
	"github.com/locklab/locklab/faults"
)

// What a state has room for.
const (
	mostClients = 5 // one of them comes when the others have ended
	mostServers = 5
	mostKinds   = 16
)

// row is a state: the numbers of its parts, each of which is known once.
type row struct {
	clients                   [mostClients - 1]int32
	servers                   [mostServers]int32
	resource, monitor, struck int32
	now                       int32 // if it matters what a clock shows
}

// clientPart is a client, and what is asked of one again and again.
type clientPart struct {
	client
	main, beside bool               // see ready
	user         bool               // it is its user's turn
	soon         bool               // some message of its arrives before time passes
	over         bool               // see search.over
	late         bool               // see client.late
	due          int                // when its next wait ends
	times        []int              // when something of it ends
	choices      map[int32][]choice // by the faults so far
	seen         uint8              // by other clients' steps
}

type serverPart struct {
	server
	times []int
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
func (s *search) world(r *row) *world {
	w := &world{
		now: int(r.now), lease: ms(s.Lease), leaseless: s.Lock.Leaseless, resource: s.servers.list[r.resource].server,
		struck: s.strucks.list[r.struck], monitor: s.monitors.list[r.monitor],
	}
	for i := range s.Clients {
		w.clients = append(w.clients, s.clients.list[r.clients[i]].clone())
	}
	for i := range s.Servers {
		w.servers = append(w.servers, s.servers.list[r.servers[i]].server)
	}
	return w
}

// rowOf is a world as a state.
func (s *search) rowOf(w *world) (r row) {
	if s.locals.clocks == absolute {
		r.now = int32(w.now)
	}
	for i := range w.clients {
		r.clients[i] = s.clientOf(w.clients[i], i)
	}
	for i := range w.servers {
		r.servers[i] = s.serverOf(w.servers[i])
	}
	r.resource, r.monitor, r.struck = s.serverOf(w.resource), s.monitorOf(w.monitor), of(&s.strucks, w.struck)
	return r
}

func (s *search) clientOf(c client, i int) int32 {
	c = s.plain(c, i)
	s.text = c.appendTo(append(s.text[:0], byte(i)), c.at.number)
	if n, known := s.clients.numbers[string(s.text)]; known {
		return n
	}
	p := clientPart{client: c.clone(), due: never, choices: map[int32][]choice{}, over: s.over(&c), late: c.late(ms(s.Lease))}
	p.main, p.beside = s.ready(&c)
	p.user = !c.at.busy && (c.phase == holding || c.phase == worked)
	for _, m := range c.travel {
		p.soon = p.soon || m.soon
	}
	for _, d := range c.due {
		if p.times = append(p.times, d.at); d.at > 0 {
			p.due = min(p.due, d.at)
		}
	}
	if c.on && c.ends != never {
		around(func(t int) { p.times = append(p.times, t) }, c.ends)
	}
	if c.active() {
		p.seen |= 1
	}
	if c.on {
		p.seen |= 2
	}
	return s.clients.add(string(s.text), p)
}

func (s *search) serverOf(v server) int32 {
	s.text = v.appendTo(s.text[:0])
	if n, known := s.servers.numbers[string(s.text)]; known {
		return n
	}
	p := serverPart{server: v}
	for _, left := range v.model.Expiries() {
		around(func(t int) { p.times = append(p.times, t) }, ms(left))
	}
	return s.servers.add(string(s.text), p)
}

func (s *search) monitorOf(m monitor) int32 {
	m.suspects = 0
	return of(&s.monitors, m)
}

// inputs are all that a step of a client depends on: what it is, the client, the server that it asks, the monitor, what is seen of the other
// clients, and the time if it reads a clock that shows more than a difference.
type inputs struct {
	choice                       choice
	client, server, monitor, now int32
	seen                         uint16
}

// effect is what comes of such a step.
type effect struct {
	client, server, monitor int32
	suspects                suspicions
	timed                   bool // it depends on the time
}

// step makes a choice.
func (s *search) step(r *row, o choice) (row, suspicions, error) {
	switch {
	case o.kind == passes:
		next, suspects := s.wait(r, o)
		return next, suspects, nil
	case o.kind == strikes && s.onServer[o.fault]:
		w := s.world(r)
		err := s.make(w, o)
		return s.rowOf(w), w.monitor.suspects, err
	}
	i := o.client
	next := *r
	key := inputs{choice: o, client: r.clients[i], monitor: r.monitor}
	server := s.asked(&next, o)
	if server != nil {
		key.server = *server
	}
	for k := range s.Clients {
		if k != int(i) {
			key.seen |= uint16(s.clients.list[r.clients[k]].seen) << (2 * k)
		}
	}
	e, known := s.effects[key]
	if e.timed {
		key.now = r.now
		e, known = s.effects[key]
	}
	if !known {
		var whole *row
		var err error
		if e, whole, err = s.stepAnew(r, o); err != nil {
			return next, 0, err
		} else if whole != nil {
			return *whole, e.suspects, nil
		}
		if e.timed {
			s.effects[key] = e // to know it
			key.now = r.now
		}
		s.effects[key] = e
	}
	if next.clients[i], next.monitor = e.client, e.monitor; server != nil {
		*server = e.server
	}
	if o.kind == strikes {
		next.struck = of(&s.strucks, s.strikes(s.strucks.list[r.struck], o))
	}
	return next, e.suspects, nil
}

// asked is the server that a choice of a client is about; nil: there is none.
func (s *search) asked(r *row, o choice) *int32 {
	c := &s.clients.list[r.clients[o.client]]
	server := 0
	switch {
	case o.kind == serves, o.kind == strikes && s.kinds[o.fault] == faults.Duplicate:
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
func (s *search) stepAnew(r *row, o choice) (e effect, next *row, err error) {
	w := s.world(r)
	s.read = false
	if err := s.make(w, o); err != nil {
		return e, nil, err
	}
	c, after := &w.clients[o.client], *r
	e = effect{client: s.clientOf(*c, int(o.client)), monitor: s.monitorOf(w.monitor), suspects: w.monitor.suspects, timed: s.locals.clocks == absolute && s.read}
	server := s.asked(&after, o)
	for i := range w.servers {
		if number := &after.servers[i]; w.servers[i].model != s.servers.list[*number].model {
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
func (s *search) wait(r *row, o choice) (row, suspicions) {
	next, late := *r, false
	for i := range s.Clients {
		key := passing{number: r.clients[i], time: o.time, how: o.paused>>i&1 | o.busy>>i&1<<1}
		n, known := s.aged.clients[key]
		if !known {
			c := s.clients.list[r.clients[i]].clone()
			c.passes(int(o.time), o.paused>>i&1 != 0, o.busy>>i&1 != 0)
			n = s.clientOf(c, i)
			s.aged.clients[key] = n
		}
		next.clients[i] = n
		late = late || s.clients.list[n].late
	}
	for i := range s.Servers {
		key := passing{number: r.servers[i], time: o.time}
		n, known := s.aged.servers[key]
		if !known {
			n = s.serverOf(s.servers.list[r.servers[i]].passes(int(o.time)))
			s.aged.servers[key] = n
		}
		next.servers[i] = n
	}
	m := s.monitors.list[r.monitor]
	m.passes(int(o.time))
	if k := s.strikes(s.strucks.list[r.struck], o); o.paused|o.busy != 0 {
		next.struck = of(&s.strucks, k)
	}
	if late && !s.strucks.list[next.struck].hurts {
		m.hangs()
	}
	next.monitor = s.monitorOf(m)
	if s.locals.clocks == absolute {
		next.now += o.time
	}
	return next, m.suspects
}

// passing is a part while time passes.
type passing struct {
	number, time int32
	how          uint8 // whether it is a client that is paused, or in a long hold
}
