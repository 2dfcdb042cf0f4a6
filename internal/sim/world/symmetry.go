package world

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// order is an order of the clients: the one with number i goes by number order.to[i].
type order struct {
	to                         []int
	names                      *strings.Replacer // of tokens
	moments                    map[*moment]int
	clients, servers, monitors []int32 // what the parts are called then, by number; 0: not known yet
}

// orders are those by which a state counts as the same: of clients that differ by their tokens only, all; else the one that they have.
func orders(clients int, all bool) (list []*order) {
	for _, to := range permutations(clients) {
		var pairs []string
		for i, k := range to {
			pairs = append(pairs, token(i, ""), token(k, ""), ofClient(i), ofClient(k))
		}
		list = append(list, &order{to: to, names: strings.NewReplacer(pairs...), moments: map[*moment]int{}})
		if !all {
			break
		}
	}
	return list
}

// permutations begin with the one that changes nothing.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var list [][]int
	for k := n - 1; k >= 0; k-- {
		for _, p := range permutations(n - 1) {
			list = append(list, slices.Insert(slices.Clone(p), k, n-1))
		}
	}
	return list
}

// Same is a state that stands for all that are the same but for the order of the clients.
func (s *Space) Same(r *State) (least State) {
	if len(s.parts.orders) == 1 {
		return *r
	}
	for n, o := range s.parts.orders {
		called := *r
		for i := range s.Clients {
			called.clients[o.to[i]] = s.called(&o.clients, r.clients[i], func(n int32) print { return s.clientIn(o, n) })
		}
		if n > 0 && slices.Compare(called.clients[:], least.clients[:]) > 0 {
			continue // the clients decide, unless two are called the same
		}
		for i := range s.Servers {
			called.servers[i] = s.called(&o.servers, r.servers[i], func(n int32) print { return s.serverIn(o, n) })
		}
		called.resource = s.called(&o.servers, r.resource, func(n int32) print { return s.serverIn(o, n) })
		called.monitor = s.called(&o.monitors, r.monitor, func(n int32) print { return s.monitorIn(o, n) })
		if n == 0 || called.less(&least) {
			least = called
		}
	}
	return least
}

func (r *State) less(other *State) bool {
	if c := slices.Compare(r.clients[:], other.clients[:]); c != 0 {
		return c < 0
	}
	if c := slices.Compare(r.servers[:], other.servers[:]); c != 0 {
		return c < 0
	}
	return r.resource < other.resource || r.resource == other.resource && r.monitor < other.monitor
}

// called is what a part is called under an order.
func (s *Space) called(names *[]int32, part int32, name func(part int32) print) int32 {
	if int(part) < len(*names) && (*names)[part] != 0 {
		return (*names)[part]
	}
	for int(part) >= len(*names) {
		*names = append(*names, 0)
	}
	(*names)[part] = s.named(name(part))
	return (*names)[part]
}

// print is two hashes of what a part is called: that two which differ are one does not happen.
type print [2]uint64

func (s *Space) print(text string) print {
	return print{maphash.String(s.parts.seeds[0], text), maphash.String(s.parts.seeds[1], text)}
}

// named numbers what parts are called.
func (s *Space) named(name print) int32 {
	n, known := s.parts.names[name]
	if !known {
		n = int32(len(s.parts.names) + 1)
		s.parts.names[name] = n
	}
	return n
}

func (s *Space) clientIn(o *order, n int32) print {
	c := &s.parts.clients.list[n].c
	return s.print("c" + o.names.Replace(string(c.appendTo([]byte{byte(o.to[c.at.client])}, s.momentIn(o, c.at)))))
}

func (s *Space) serverIn(o *order, n int32) print {
	return s.print("s" + string(s.parts.servers.list[n].appendUnder(o, nil)))
}

func (s *Space) monitorIn(o *order, n int32) print {
	before := s.parts.monitors.list[n]
	m := before
	for _, c := range []*claim{&m.owner, &m.challenger} {
		if c.value = o.names.Replace(c.value); c.client >= 0 {
			c.client = o.to[c.client]
		}
	}
	if m.tally.client > 0 {
		m.tally.client = o.to[m.tally.client-1] + 1
	}
	if m.turn >= 0 {
		m.turn = o.to[m.turn]
	}
	for i, k := range o.to {
		l := before.clients[i]
		if l.kept > 0 {
			l.kept = o.to[l.kept-1] + 1
		}
		m.clients[k] = l
	}
	m.overtaken = uint8(o.set(uint32(m.overtaken)))
	m.charges, m.queue, m.shares = charges{}, o.queue(before.queue), o.shares(before.shares)
	for harm, sets := range before.charges {
		for set := range uint32(1) << mostClients {
			if sets>>set&1 != 0 {
				m.charges[harm] |= 1 << o.set(set)
			}
		}
	}
	return print{maphash.Comparable(s.parts.seeds[0], m), maphash.Comparable(s.parts.seeds[1], m)}
}

// set is a set of clients, in bits.
func (o *order) set(of uint32) (set uint32) {
	for i, k := range o.to {
		set |= of >> i & 1 << k
	}
	return set
}

// momentIn is what a moment is called under an order. It counts what the client was given, or what its lock has declared since.
func (s *Space) momentIn(o *order, m *moment) int {
	n, known := o.moments[m]
	switch {
	case known:
		return n
	case m.rest == m:
		n = int(s.named(s.print(fmt.Sprint("rest ", o.to[m.client], " ", m.tokens, o.names.Replace(m.kept)))))
	case m.before == nil:
		n = int(s.named(s.print(fmt.Sprint("start ", o.to[m.client]))))
	default:
		text := fmt.Sprint("moment ", s.momentIn(o, m.before), o.names.Replace(m.given.name()))
		if m.reads {
			text += fmt.Sprint(m.shown)
		}
		n = int(s.named(s.print(text)))
	}
	o.moments[m] = n
	return n
}
