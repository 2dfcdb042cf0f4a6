package world

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/past"
)

// seen is what has happened at all, in any sequence so far.
type seen struct {
	held, refused, expired, handedOver bool
	named                              bool // something was under the lock's key
	endless                            bool // a fresh client's try did not end
	beyond                             bool // something would have ended after the horizon
}

// Facts are what is known of a lock whose states have been searched.
type Facts struct {
	Runs      int           // how often its code was run
	Idle      []faults.Kind // faults that might have struck and never did
	Coverage  []string      // what has happened at all: a lock that no client ever got holds, and that shows nothing
	Unnamed   bool          // nothing was ever under its key, so whose it is was not judged
	Uncalled  []string      // the methods by which the lab has a client wait, and that no client has called
	Symmetric bool          // clients count as one that differ by their tokens only
	Beyond    bool          // time was not followed to where something would have ended, so the horizon mattered
	Clocks    bool          // it reads clocks, so at any later time it may do something else
	Noticed   string        // what the lock does that no search follows; empty: nothing was noticed
}

// Facts are what is known so far.
func (s *Space) Facts() Facts {
	p := &s.player
	f := Facts{
		Runs: p.past.Runs, Coverage: p.seen.coverage(), Unnamed: !p.seen.named && s.Lock.Needs != impls.NoServer, Uncalled: p.past.Uncalled(),
		Symmetric: len(s.parts.symmetry.orders) > 1, Beyond: p.seen.beyond, Clocks: p.past.Clocks != past.Unread, Noticed: p.past.Noticed(),
	}
	if p.seen.endless {
		f.Noticed = fmt.Sprintf("a client that came last is still in a try %d leases after all others had ended", mostSlept+2)
	}
	for at, kind := range p.budget.kinds {
		if !slices.ContainsFunc(s.parts.strucks.list, func(k struckPart) bool { return k.kinds[at] > 0 }) {
			f.Idle = append(f.Idle, kind)
		}
	}
	return f
}

// coverage names what has happened.
func (s *seen) coverage() (words []string) {
	there := [...]bool{s.held, s.refused, s.expired, s.handedOver}
	for i, word := range [...]string{"held", "refused", "expired", "handed over"} {
		if there[i] {
			words = append(words, word)
		}
	}
	return words
}

// handsOver notes that a client has got the lock which another one has or had that has not crashed.
func (s *Space) handsOver(before, after *State, i int) {
	if s.player.seen.handedOver || s.parts.client(before, i).c.phase > acquiring || s.parts.client(after, i).c.phase != holding {
		return
	}
	for k := range s.Clients {
		c := &s.parts.client(after, k).c
		s.player.seen.handedOver = s.player.seen.handedOver || k != i && (c.count.rounds > 0 || holding <= c.phase && c.phase <= finished)
	}
}

// Declares says whether the lock says what it keeps. It is known once a search has begun.
func (s *Space) Declares() bool { return s.player.past.Declares || s.Without.Undeclared }

// Bytes is about how much memory it takes.
func (s *Space) Bytes() int { return s.parts.bytes }

// Struck are the kinds of faults that have struck in a state.
func (s *Space) Struck(r *State) (list []faults.Kind) {
	for at, kind := range s.player.budget.kinds {
		if s.parts.struck(r).kinds[at] > 0 {
			list = append(list, kind)
		}
	}
	return list
}

// Waited says whether time passed, in a sequence of choices, while a client waited for what was lost.
func Waited(path []Choice) bool {
	deaf := false
	for _, o := range path {
		switch {
		case o.kind == passes && deaf:
			return true
		case o.kind == strikes:
			deaf = deaf || o.unseen
		case o.kind == notices:
			deaf = false
		}
	}
	return false
}
