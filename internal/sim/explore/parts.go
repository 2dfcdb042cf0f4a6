package explore

import (
	"hash/maphash"
	"unsafe"

	"github.com/locklab/locklab/internal/sim/learn"
)

// A state is stored as the numbers of its parts: each client, each server, and what they have in common. There are millions of states, but
// only thousands of different parts, so what is true of a part is computed once.

// form is a state by the numbers of its parts: of the clients, the servers, their replicas, and what is common.
type form [learn.MostClients + 2*learn.MostServers + 1]uint32

// parts are all parts of states so far, and what is known of clients' parts, by number: each in a list of its own, as most of them are asked for one only.
type parts struct {
	clients  store[client]
	commons  store[common]
	shapes   []uint64     // see explorer.shape; 0: not known yet
	privates [4][]private // where time may pass before it, and where it cannot; from 2 on, where connections can still break
}

func newParts(orders int) parts {
	return parts{clients: newStore[client](orders), commons: newStore[common](orders)}
}

// entry is where a list has what is known of a part, or will have it.
func entry[T any](list *[]T, n uint32) *T {
	if missing := int(n) + 1 - len(*list); missing > 0 {
		*list = append(*list, make([]T, missing)...)
	}
	return &(*list)[n]
}

// bytes is how much memory the parts take.
func (p *parts) bytes() int {
	n := p.clients.bytes() + p.commons.bytes() + 8*cap(p.shapes)
	for _, list := range p.privates {
		n += cap(list) * int(unsafe.Sizeof(private{}))
	}
	return n
}

// store numbers values: equal ones alike.
type store[T comparable] struct {
	values []T
	orders int
	twins  []uint32 // by number and order: what the value becomes when clients change places, plus 1; 0: not known yet
	slots  []uint32 // by hash: number plus 1; 0: free
	seed   maphash.Seed
}

func newStore[T comparable](orders int) store[T] {
	return store[T]{orders: orders, slots: make([]uint32, 1<<10), seed: maphash.MakeSeed()}
}

func (s *store[T]) number(value *T) uint32 {
	i := s.find(value)
	if s.slots[i] != 0 {
		return s.slots[i] - 1
	}
	n := uint32(len(s.values))
	s.values, s.slots[i] = append(s.values, *value), n+1
	for range s.orders {
		s.twins = append(s.twins, 0)
	}
	if len(s.values)*2 > len(s.slots) {
		s.grow()
	}
	return n
}

func (s *store[T]) bytes() int {
	var value T
	return cap(s.values)*int(unsafe.Sizeof(value)) + 4*cap(s.twins) + 4*len(s.slots)
}

// twin is the place for a value's twin.
func (s *store[T]) twin(order int, n uint32) *uint32 { return &s.twins[int(n)*s.orders+order] }

// find is where a value is, or would be.
func (s *store[T]) find(value *T) uint64 {
	mask := uint64(len(s.slots) - 1)
	for i := maphash.Comparable(s.seed, *value) & mask; ; i = (i + 1) & mask {
		if n := s.slots[i]; n == 0 || s.values[n-1] == *value {
			return i
		}
	}
}

func (s *store[T]) grow() {
	s.slots = make([]uint32, 2*len(s.slots))
	for n := range s.values {
		s.slots[s.find(&s.values[n])] = uint32(n) + 1
	}
}

// pack numbers the parts of a state. Where it came from one that has a form, most are still the same; from may be nil.
func (x *explorer) pack(s, from *state, was *form) (f form) {
	for i := range x.clients {
		if from != nil && s.clients[i] == from.clients[i] {
			f[i] = was[i]
		} else {
			f[i] = x.parts.clients.number(&s.clients[i])
		}
	}
	at := x.clients
	at += copy(f[at:], s.servers[:x.serverCount])
	if x.failsOver() {
		at += copy(f[at:], s.replicas[:x.serverCount])
	}
	if from != nil && s.common == from.common {
		f[at] = was[at]
	} else {
		f[at] = x.parts.commons.number(&s.common)
	}
	return f
}

// unpack fills in the state that has a form.
func (x *explorer) unpack(s *state, f *form) {
	for i := range x.clients {
		s.clients[i] = x.parts.clients.values[f[i]]
	}
	at := x.clients
	at += copy(s.servers[:x.serverCount], f[at:])
	if x.failsOver() {
		at += copy(s.replicas[:x.serverCount], f[at:])
	}
	s.common = x.parts.commons.values[f[at]]
}
