package explore

import (
	"hash/maphash"

	"github.com/locklab/locklab/internal/sim/learn"
)

// Of the millions of states, most show a client what thousands of others do: it is in the same place, and the servers are in the same states. What its next
// steps would come to if nobody else took one is found out once.

// rehearsed is what has come of rehearsals, by the client's situation.
type rehearsed struct {
	late, changes learn.Memo[bool] // see mayComeLate, wouldChange
	instants      learn.Memo[[]ms] // see instantsOfClient; also by the limit
}

// bytes is how much memory the tables take.
func (r *rehearsed) bytes() int { return r.late.Bytes() + r.changes.Bytes() + r.instants.Bytes() }

// situation is the fingerprint of all that a client's next steps depend on, as long as no other client takes one.
func (x *explorer) situation(s *state, i int) [2]uint64 {
	rest := learn.Blend(uint64(i)<<32|uint64(s.resource), uint64(s.now)<<32|uint64(x.tokensBeside(s, i)))
	for _, server := range s.servers[:x.serverCount] {
		rest = learn.Blend(rest, uint64(server))
	}
	return [2]uint64{max(1, maphash.Comparable(situationSeed, s.clients[i])), rest}
}

// tokensBeside are those of a client's that are in use, but for those that its own lock remembers.
func (x *explorer) tokensBeside(s *state, i int) uint16 {
	was := s.clients[i].node
	s.clients[i].node = uint32(i) // which has no tokens
	used := x.usedTokens(s).Of(i)
	s.clients[i].node = was
	return used
}

var situationSeed = maphash.MakeSeed()

// usedTokens are those that a client, a server or a message still has.
func (x *explorer) usedTokens(s *state) (used learn.Tokens) {
	for i := range x.clients {
		c := &s.clients[i]
		if c.phase != crashed {
			used |= x.automaton.Nodes[c.node].Tokens
		}
		for _, r := range c.replies {
			used |= x.texts.Replies[r].Tokens
		}
		for _, r := range c.travel {
			used |= x.texts.Requests[r&travelAll].Tokens
		}
	}
	for i := range x.serverCount {
		used |= x.servers.States[s.servers[i]].Tokens
		if r := s.replicas[i]; r != 0 {
			used |= x.replicas.Tokens(r)
		}
	}
	return used
}
