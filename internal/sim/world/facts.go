package world

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
)

// seen is what has happened at all, in any sequence so far.
type seen struct {
	held, refused, expired, handedOver bool
	named                              bool // something was under the lock's key
	beyond                             bool // something would have ended after the horizon
}

// Coverage is what has happened at all: a lock that no client ever got holds, and that shows nothing.
func (s *Space) Coverage() (words []string) {
	seen := &s.player.seen
	for _, what := range [...]struct {
		there bool
		word  string
	}{{seen.held, "held"}, {seen.refused, "refused"}, {seen.expired, "expired"}, {seen.handedOver, "handed over"}} {
		if what.there {
			words = append(words, what.word)
		}
	}
	return words
}

// Unnamed says whether nothing was ever under the lock's key, so whose the lock is was not judged.
func (s *Space) Unnamed() bool { return !s.player.seen.named && s.Lock.Needs != impls.NoServer }

// Beyond says whether time was not followed to where something would have ended, so that the horizon mattered.
func (s *Space) Beyond() bool { return s.player.seen.beyond }

// handsOver notes that a client has got the lock which another one has or had that has not crashed.
func (s *Space) handsOver(before, after *State, i int) {
	if s.player.seen.handedOver || s.parts.clients.list[before.clients[i]].c.phase > acquiring || s.parts.clients.list[after.clients[i]].c.phase != holding {
		return
	}
	for k := range s.Clients {
		c := &s.parts.clients.list[after.clients[k]].c
		s.player.seen.handedOver = s.player.seen.handedOver || k != i && (c.count.rounds > 0 || holding <= c.phase && c.phase <= finished)
	}
}

// waits are the methods by which the lab has a client wait for a lock.
var waits = []string{"Acquire", "Enter", "Leave", "Pause", "WaitedEnough", "Wakeups"}

// Uncalled are those that the lock has, and that no client calls.
func (s *Space) Uncalled() (names []string) {
	l := &s.player.locals
	p := process.New(&host{})
	defer p.Close()
	p.Open("lock", l.spec, l.opts, l.servers)
	made := p.Lock("lock")
	if waits, queues := made.(interface{ patient() impls.Lock }); queues {
		made = waits.patient()
	}
	for _, name := range waits {
		_, has := reflect.TypeOf(made).MethodByName(name)
		if called := s.Queue && (name == "Enter" || name == "Leave"); has && !called {
			names = append(names, name)
		}
	}
	return names
}

// judged are the anomalies that are suspected: the others speak of one owner, which a semaphore has not, or of tries, which in a queue are none.
func judged(config *Config) (list Suspicions) {
	switch {
	case config.Queue:
		list.add(checker.Unfair)
	case config.Lock.Permits > 1:
		list.add(checker.DoubleHolder)
		list.add(checker.StuckLock)
		list.add(checker.HungOperation)
	default:
		list = ^list
	}
	return list
}

// Symmetric says whether clients count as one that differ by their tokens only.
func (s *Space) Symmetric() bool { return len(s.parts.orders) > 1 }

// Declares says whether the lock says what it keeps. It is known once a search has begun.
func (s *Space) Declares() bool { return s.player.locals.declares || s.Without.Undeclared }

// Bytes is about how much memory it takes.
func (s *Space) Bytes() int { return s.parts.bytes }

// Noticed says what the lock does that no search follows; empty: nothing was noticed.
func (s *Space) Noticed() string {
	switch l := &s.player.locals; {
	case s.player.endless:
		return fmt.Sprintf("a client that came last is still in a try %d leases after all others had ended", mostSlept+2)
	case l.deadline:
		return "it asks for the deadline of its context, which in a search has none"
	case l.late:
		return "it asks whether a time-out of its own is over for which nothing waits, and in a search a time-out ends only what waits for it"
	}
	return ""
}

// Idle are the kinds of faults that might have struck and never did.
func (s *Space) Idle() (idle []faults.Kind) {
	for at, kind := range s.player.kinds {
		if !slices.ContainsFunc(s.parts.strucks.list, func(k struckPart) bool { return k.kinds[at] > 0 }) {
			idle = append(idle, kind)
		}
	}
	return idle
}

// Struck are the kinds of faults that have struck in a state.
func (s *Space) Struck(r *State) (list []faults.Kind) {
	for at, kind := range s.player.kinds {
		if s.parts.strucks.list[r.struck].kinds[at] > 0 {
			list = append(list, kind)
		}
	}
	return list
}

// Waited says whether time passed, in a sequence of choices, while a client waited for what was lost.
func Waited(path []Choice) bool {
	deaf := false
	for _, o := range path {
		switch o.kind {
		case strikes:
			deaf = deaf || o.unseen
		case notices:
			deaf = false
		case passes:
			if deaf {
				return true
			}
		}
	}
	return false
}
