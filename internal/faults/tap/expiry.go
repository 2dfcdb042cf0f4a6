package tap

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/probe"
)

// Expiry says how long keys live that clients give no expiry. The zero Expiry puts none on keys.
type Expiry struct {
	Own func(key []byte) bool // whether a key is the lab's
	For time.Duration         // from the last write
	// Least is what such a key has left at any time while clients run: an expiry below it is somebody else's.
	Least time.Duration
}

// expiries are the expiries that the tap has put on keys, so that they end even if nobody is left to delete them. Clients must not notice:
// a command that could learn of the expiry is preceded by PERSIST, and a key that a client watches is not touched. It belongs to the
// holder of the turn.
type expiries struct {
	Expiry
	server  *prober
	put     map[string]bool // keys with such an expiry, unless a client has replaced it
	watched map[string]int  // how many connections WATCH a key
	noticed atomic.Bool     // clients are told what happens to keys, so the tap puts no more expiries on them
}

// covers says whether there is anything to do for a command.
func (e *expiries) covers(f *flight) bool {
	return e.For > 0 && !f.queued && (len(f.own) > 0 || endsWatch(f.Name))
}

// endsWatch says whether a command ends the WATCH of its connection.
func endsWatch(name string) bool {
	return name == "EXEC" || name == "DISCARD" || name == "UNWATCH" || name == "RESET"
}

// withdraw takes the tap's expiries off keys before a command that could see them.
func (e *expiries) withdraw(f *flight) {
	var put []string
	for _, key := range f.own {
		if e.put[key] && f.SeesExpiry() {
			put = append(put, key)
			delete(e.put, key)
		}
	}
	left, err := e.left(put)
	if err != nil {
		return
	}
	for i, key := range put {
		if left[i] >= e.Least {
			e.ask("PERSIST", key)
		}
	}
}

// renew puts an expiry on those of the keys that have none.
func (e *expiries) renew(keys []string) {
	if e.noticed.Load() {
		return
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return e.watched[key] > 0 })
	left, err := e.left(keys)
	if err != nil {
		return // the server is gone
	}
	for i, key := range keys {
		if left[i] == forever && e.ask("PEXPIRE", key, strconv.FormatInt(e.For.Milliseconds(), 10)) {
			e.put[key] = true
		}
	}
}

const forever = -1

// left is how long each key has left; forever: it has no expiry.
func (e *expiries) left(keys []string) ([]time.Duration, error) {
	left := make([]time.Duration, len(keys))
	if len(keys) == 0 {
		return left, nil
	}
	err := e.server.use(e.server.entry.DB, func(l *link) error {
		for _, key := range keys {
			l.Send("PTTL", key)
		}
		for i := range keys {
			answer, err := l.Receive()
			if err != nil {
				return err
			}
			left[i] = time.Duration(answer.Int()) * time.Millisecond
			if answer.Int() == -1 && !answer.IsError() {
				left[i] = forever
			}
		}
		return nil
	})
	return left, err
}

// ask sends a command of the tap's own, and says whether it had an effect.
func (e *expiries) ask(args ...string) bool {
	done := false
	// Whoever uses the server next meets the same error.
	_ = e.server.use(e.server.entry.DB, func(l *link) error {
		answer, err := probe.Ask(l, args...)
		done = err == nil && answer.Int() == 1
		return err
	})
	return done
}

// hide takes the tap's expiries out of what the server has answered.
func (e *expiries) hide(keys []string, states []history.State) {
	for i, key := range keys {
		if e.put[key] && states[i].TTL >= e.Least {
			states[i].TTL = 0
		}
	}
}

// Expiring returns those of the keys that have no expiry of the tap. Call it within Exclusively.
func (t *Tap) Expiring(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return t.expiries.put[key] })
}

// Adopt puts an expiry on keys that the lab has written by itself.
func (t *Tap) Adopt(keys []string) error {
	if t.expiries.For == 0 || len(keys) == 0 {
		return nil
	}
	return t.Exclusively(t.ctx, func() error {
		t.expiries.renew(keys)
		return nil
	})
}

// beforeExpiry prepares the keys of a command that is about to be sent with the turn.
func (s *session) beforeExpiry(f *flight) {
	e := &s.tap.expiries
	if !e.covers(f) || !f.turn {
		return
	}
	e.withdraw(f)
	if f.Name == "WATCH" {
		for _, key := range f.own {
			if !s.keep(len(key) + nameCost) {
				return
			}
			e.watched[key]++
			s.watches = append(s.watches, key)
		}
	}
}

// afterExpiry puts an expiry on the keys that a command has left without.
func (s *session) afterExpiry(f *flight) {
	if !s.tap.expiries.covers(f) {
		return
	}
	keys := f.own
	if endsWatch(f.Name) {
		keys = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(keys), s.unwatch()...))))
	}
	if f.Writes || f.SeesExpiry() || endsWatch(f.Name) {
		s.tap.expiries.renew(keys)
	}
}

// unwatch forgets what the connection watched, and returns it.
func (s *session) unwatch() []string {
	keys := s.watches
	s.watches = nil
	for _, key := range keys {
		s.account.Give(len(key) + nameCost)
		if s.tap.expiries.watched[key]--; s.tap.expiries.watched[key] == 0 {
			delete(s.tap.expiries.watched, key)
		}
	}
	return keys
}

// partExpiry is called when the connection has ended.
func (s *session) partExpiry() {
	if len(s.watches) == 0 || !s.tap.takeTurn() {
		return
	}
	defer s.tap.leaveTurn()
	s.tap.expiries.renew(s.unwatch())
}

// attend finds the lab's keys in a command that has arrived.
func (e *expiries) attend(f *flight, args [][]byte) {
	if e.For == 0 {
		return
	}
	f.own = f.OwnKeys(args, e.Own)
	if notices(f.Traits, args) {
		e.noticed.Store(true)
	}
}

// notices says whether a command asks the server to tell the client what happens to keys.
func notices(traits commands.Traits, args [][]byte) bool {
	switch traits.Name {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE":
		return slices.ContainsFunc(args[1:], func(arg []byte) bool { return strings.Contains(string(arg), "__key") })
	case "CLIENT":
		return len(args) > 1 && strings.EqualFold(string(args[1]), "TRACKING")
	}
	return false
}
