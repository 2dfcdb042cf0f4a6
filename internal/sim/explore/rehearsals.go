package explore

import "hash/maphash"

// Of the millions of states, most show a client what thousands of others do: it is in the same place, and the servers are in the same states. What its next
// steps would come to if nobody else took one is found out once.

// rehearsed is what has come of rehearsals, by the client's situation.
type rehearsed struct {
	late, changes memo[bool] // see mayComeLate, wouldChange
	instants      memo[[]ms] // see instantsOfClient; also by the limit
}

// bytes is how much memory the tables take.
func (r *rehearsed) bytes() int { return r.late.bytes() + r.changes.bytes() + r.instants.bytes() }

// situation is the fingerprint of all that a client's next steps depend on, as long as no other client takes one.
func (x *explorer) situation(s *state, i int) [2]uint64 {
	rest := blend(uint64(i)<<32|uint64(s.resource), uint64(s.now)<<32|uint64(x.tokensBeside(s, i)))
	for _, server := range s.servers[:x.serverCount] {
		rest = blend(rest, uint64(server))
	}
	return [2]uint64{max(1, maphash.Comparable(situationSeed, s.clients[i])), rest}
}

// tokensBeside are those of a client's that are in use, but for those that its own lock remembers.
func (x *explorer) tokensBeside(s *state, i int) uint16 {
	was := s.clients[i].node
	s.clients[i].node = uint32(i) // which has no tokens
	used := x.usedTokens(s).of(i)
	s.clients[i].node = was
	return used
}

var situationSeed = maphash.MakeSeed()
