package world

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/suspicion"
)

// symmetry names parts as they are called under orders of the clients.
type symmetry struct {
	orders []*order
	names  map[print]int32
	seeds  [2]maphash.Seed // of prints
}

// print is two hashes of what a part is called: that two which differ are one does not happen.
type print [2]uint64

// order is an order of the clients: the one with number i goes by number order.to[i].
type order struct {
	symmetry                   *symmetry
	to                         []int
	names                      *strings.Replacer // of tokens
	moments                    map[*past.Moment]int
	clients, servers, monitors []int32 // what the parts are called then, by number; 0: not known yet
}

// newSymmetry has the orders by which a state counts as the same: of clients that differ by their tokens only, all; else the one that they have.
func newSymmetry(clients int, all bool) *symmetry {
	y := &symmetry{names: map[print]int32{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for _, to := range permutations(clients) {
		var pairs []string
		for i, k := range to {
			if i != k {
				pairs = append(pairs, past.Tokens(i), past.Tokens(k), ofClient(i), ofClient(k))
			}
		}
		y.orders = append(y.orders, &order{symmetry: y, to: to, names: strings.NewReplacer(pairs...), moments: map[*past.Moment]int{}})
		if !all {
			break
		}
	}
	return y
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
	if len(s.parts.symmetry.orders) == 1 {
		return *r
	}
	for n, o := range s.parts.symmetry.orders {
		called := *r
		for i := range s.Clients {
			called.clients[o.to[i]] = s.parts.symmetry.called(&o.clients, r.clients[i], func(n int32) print { return o.client(&s.parts.clients.list[n].c) })
		}
		if n > 0 && slices.Compare(called.clients[:], least.clients[:]) > 0 {
			continue // the clients decide, unless two are called the same
		}
		server := func(n int32) print { return o.server(&s.parts.servers.list[n].server) }
		for i := range s.Servers {
			called.servers[i] = s.parts.symmetry.called(&o.servers, r.servers[i], server)
		}
		called.resource = s.parts.symmetry.called(&o.servers, r.resource, server)
		called.monitor = s.parts.symmetry.called(&o.monitors, r.monitor, func(n int32) print { return o.monitor(&s.parts.monitors.list[n]) })
		if n == 0 || called.less(&least) {
			least = called
		}
	}
	return least
}

func (r *State) less(other *State) bool {
	clients, servers := slices.Compare(r.clients[:], other.clients[:]), slices.Compare(r.servers[:], other.servers[:])
	return cmp.Or(clients, servers, cmp.Compare(r.resource, other.resource), cmp.Compare(r.monitor, other.monitor)) < 0
}

// called is what a part is called under an order.
func (y *symmetry) called(names *[]int32, part int32, name func(part int32) print) int32 {
	if int(part) < len(*names) && (*names)[part] != 0 {
		return (*names)[part]
	}
	for int(part) >= len(*names) {
		*names = append(*names, 0)
	}
	(*names)[part] = y.number(name(part))
	return (*names)[part]
}

func (y *symmetry) print(text string) print {
	return print{maphash.String(y.seeds[0], text), maphash.String(y.seeds[1], text)}
}

// number numbers what parts are called.
func (y *symmetry) number(name print) int32 {
	n, known := y.names[name]
	if !known {
		n = int32(len(y.names) + 1)
		y.names[name] = n
	}
	return n
}

func (o *order) client(c *client) print {
	return o.symmetry.print(o.names.Replace(string(c.appendTo(append(make([]byte, 0, 256), 'c', byte(o.to[c.at.Client])), o.moment(c.at)))))
}

func (o *order) server(v *server) print {
	return o.symmetry.print("s" + string(v.appendTo(nil, func(m model, b []byte) []byte { return m.AppendUnder(o, b) })))
}

// rename renames the client of a claim.
func (o *order) rename(c *claim) {
	if c.client >= 0 {
		c.client = o.to[c.client]
	}
}

func (o *order) monitor(before *monitor) print {
	m := *before
	m.key.value = o.names.Replace(m.key.value)
	o.rename(&m.owner)
	for i := range m.challengers {
		o.rename(&m.challengers[i])
	}
	if m.turn >= 0 {
		m.turn = o.to[m.turn]
	}
	for i, k := range o.to {
		l := before.clients[i]
		if l.kept > 0 {
			l.kept = o.to[l.kept-1] + 1
		}
		l.since = uint8(suspicion.Renumber(uint32(l.since), o.to))
		m.clients[k] = l
	}
	m.overtaken = uint8(suspicion.Renumber(uint32(m.overtaken), o.to))
	m.tally, m.charges, m.queue, m.shares = before.tally.Under(o.to), before.charges.Under(o.to), before.queue.Under(o.to), o.shares(before.shares)
	return print{maphash.Comparable(o.symmetry.seeds[0], m), maphash.Comparable(o.symmetry.seeds[1], m)}
}

// moment is what a moment is called under an order.
func (o *order) moment(m *past.Moment) int {
	n, known := o.moments[m]
	if !known {
		n = int(o.symmetry.number(o.symmetry.print(m.Under(o.to[m.Client], o.names.Replace, o.moment))))
		o.moments[m] = n
	}
	return n
}
