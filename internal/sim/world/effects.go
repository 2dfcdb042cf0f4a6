package world

import (
	"math/bits"
	"unsafe"

	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/suspicion"
)

// reads are what steps have read of a world beside the client that makes them. All that they read of time is what a clock shows.
type reads struct {
	servers uint8 // in bits; the lowest is the resource's
	monitor bool  // and what it sees of other clients
	turn    bool  // of the monitor
	clock   bool
	numbers bool // of nodes, of which other clients know
}

// with is what either has read.
func (a reads) with(b reads) reads {
	return reads{a.servers | b.servers, a.monitor || b.monitor, a.turn || b.turn, a.clock || b.clock, a.numbers || b.numbers}
}

// inputs are all that a step of a client depends on: what it is, the client, and what it reads. Numbers of what it reads are one more; 0: it
// does not. Without gaps between its fields it is hashed at once.
type inputs struct {
	choice                       Choice
	client, server, monitor, now int32
	number                       int32  // one more than the greatest that other clients know
	turn                         int32  // counted from turnOver
	seen                         uint32 // of other clients, by the monitor
}

// effect is what comes of such a step.
type effect struct {
	client, server, monitor int32
	suspects                suspicion.Set
	reads                   reads // more than the inputs have
}

// Make makes a choice. The suspicions are of what it shows.
func (s *Space) Make(r *State, o Choice) (State, suspicion.Set, error) {
	switch o.kind {
	case passes:
		if s.player.sessions {
			return s.makeWhole(r, o)
		}
		next, suspects := s.pass(r, o)
		return next, suspects, nil
	case strikesServer:
		return s.strikeServer(r, o)
	}
	next := *r
	if o.kind == strikes {
		next.struck = s.struckOf(s.player.budget.spend(s.parts.struck(r).struck, o))
	}
	first := inputs{choice: o, client: r.clients[o.client]}
	key := first
	e, known := s.parts.effects[key]
	reads := e.reads
	if known && reads != noReads {
		key = s.reading(first, r, reads)
		e, known = s.parts.effects[key]
	}
	if !known {
		w := s.world(r)
		if err := s.player.make(w, o); err != nil {
			return next, 0, err
		}
		reads = reads.with(w.reads)
		if w.others || bits.OnesCount8(reads.servers) > 1 {
			all := s.rowOf(w)
			s.handsOver(r, &all, int(o.client))
			return all, w.known.suspects & s.interest.suspicions, nil
		}
		if s.player.past.Clocks != past.Absolute {
			reads.clock = false // the client's part has what it shows
		}
		if e = (effect{client: s.clientOf(w.clients[o.client], int(o.client)), suspects: w.known.suspects & s.interest.suspicions}); reads.monitor {
			e.monitor = s.monitorOf(w.known)
		}
		if at := next.server(reads); at != nil {
			e.server = s.serverOf(*w.server(reads))
		}
		if reads != noReads {
			s.parts.effects[first] = effect{reads: reads}
			key = s.reading(first, r, reads)
		}
		s.parts.effects[key] = e
		s.parts.bytes += int(unsafe.Sizeof(key) + unsafe.Sizeof(e))
	}
	next.clients[o.client] = e.client
	if at := next.server(reads); at != nil {
		*at = e.server
	}
	if reads.monitor {
		next.monitor = e.monitor
	}
	s.handsOver(r, &next, int(o.client))
	return next, e.suspects, nil
}

// makeWhole makes a choice that is about all of a state.
func (s *Space) makeWhole(r *State, o Choice) (State, suspicion.Set, error) {
	w := s.world(r)
	if err := s.player.make(w, o); err != nil {
		return *r, 0, err
	}
	return s.rowOf(w), w.known.suspects & s.interest.suspicions, nil
}

var noReads reads

// reading adds what is read.
func (s *Space) reading(key inputs, r *State, reads reads) inputs {
	if at := r.server(reads); at != nil {
		key.server = 1 + *at
	}
	if reads.turn {
		m := s.parts.monitor(r)
		if key.turn = 1 + 2*int32(m.turn-turnOver); m.contested {
			key.turn++
		}
	}
	if reads.clock {
		key.now = 1 + r.now
	}
	if reads.monitor {
		key.monitor = 1 + r.monitor
	}
	for k := range s.Clients {
		p := s.parts.client(r, k)
		if reads.monitor && k != int(key.choice.client) {
			key.seen |= uint32(p.seen) << (seenBits * k)
		}
		if reads.numbers && k != int(key.choice.client) {
			key.number = max(key.number, int32(p.top))
		}
	}
	return key
}

// server is the one that is read; nil: none is.
func (r *State) server(reads reads) *int32 {
	switch reads.servers {
	case 0:
		return nil
	case 1:
		return &r.resource
	}
	return &r.servers[bits.TrailingZeros8(reads.servers)-1]
}

func (w *world) server(reads reads) *server {
	if reads.servers == 1 {
		return &w.resource
	}
	return &w.servers[bits.TrailingZeros8(reads.servers)-1]
}

// strikeServer spends a fault on a server. What it does to a client depends on that client and the server alone.
func (s *Space) strikeServer(r *State, o Choice) (next State, suspects suspicion.Set, err error) {
	next = *r
	next.struck = s.struckOf(s.player.budget.spend(s.parts.struck(r).struck, o))
	server := &next.servers[o.client]
	key := inputs{choice: o, server: 1 + *server}
	known := true
	for i := range s.Clients {
		var e effect
		key.client = r.clients[i]
		if e, known = s.parts.effects[key]; !known {
			break
		}
		next.clients[i], *server = e.client, e.server
	}
	if known {
		return next, 0, nil
	}
	w := s.world(r)
	if err := s.player.make(w, o); err != nil {
		return *r, 0, err
	}
	next = s.rowOf(w)
	for i := range s.Clients {
		if key.client = r.clients[i]; !w.reads.monitor {
			s.parts.effects[key] = effect{client: next.clients[i], server: next.servers[o.client]}
		}
	}
	return next, w.known.suspects & s.interest.suspicions, nil
}
