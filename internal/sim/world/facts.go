package world

import (
	"reflect"

	"github.com/locklab/locklab/checker"
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
func judged(config Config) Suspicions {
	switch {
	case config.Queue:
		return Suspect(checker.Unfair)
	case config.Lock.Permits > 1:
		return Suspect(checker.DoubleHolder) | Suspect(checker.StuckLock) | Suspect(checker.HungOperation)
	}
	return ^Suspicions(0)
}
