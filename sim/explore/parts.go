package explore

import "hash/maphash"

// A state is kept by the numbers of its parts: of what each client is, of each server's state and of what they have in common. There
// are millions of states, but only thousands of parts, so what is true of a part is found out once.

// form is a state by the numbers of its parts: of the clients, the servers, what they would fall back to, and what is common.
type form [mostClients + 2*mostServers + 1]uint32

// parts are all parts of states that have been met, and what is known of them.
type parts struct {
	clients store[client]
	commons store[common]
	// by number:
	shapes      []uint64   // of clients; 0: not known yet
	clientTwins [][]uint32 // by order: its twin's number plus 1
	commonTwins [][]uint32
}

func newParts(orders int) parts {
	return parts{
		clients: newStore[client](), commons: newStore[common](),
		clientTwins: make([][]uint32, orders), commonTwins: make([][]uint32, orders),
	}
}

// bytes is the memory that the parts take.
func (p *parts) bytes() int { return p.clients.bytes(128) + p.commons.bytes(128) }

// store numbers values: equal ones alike.
type store[T comparable] struct {
	values []T
	slots  []uint32 // number plus 1; 0: free
	seed   maphash.Seed
}

func newStore[T comparable]() store[T] {
	return store[T]{slots: make([]uint32, 1<<10), seed: maphash.MakeSeed()}
}

func (s *store[T]) number(value *T) uint32 {
	i := s.find(value)
	if s.slots[i] != 0 {
		return s.slots[i] - 1
	}
	s.values = append(s.values, *value)
	s.slots[i] = uint32(len(s.values))
	n := s.slots[i] - 1
	if len(s.values)*2 > len(s.slots) {
		s.grow()
	}
	return n
}

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

func (s *store[T]) bytes(each int) int { return each*cap(s.values) + 4*len(s.slots) }

// noted is the place for what is known of a number.
func noted[T any](list *[]T, n uint32) *T {
	for int(n) >= len(*list) {
		*list = append(*list, *new(T))
	}
	return &(*list)[n]
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
	if x.config.Budget[FailOver] > 0 {
		at += copy(f[at:], s.former[:x.serverCount])
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
	if x.config.Budget[FailOver] > 0 {
		at += copy(s.former[:x.serverCount], f[at:])
	}
	s.common = x.parts.commons.values[f[at]]
}
