package second

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// The model of a waiter of a lock that was freed: the second judge of wake-ups that are missed. A fault may strike at any time while it is in
// effect. Porcupine looks for an order in which one has struck since the lock was freed, the waiter tried again, or less than
// a lease, or than five seconds, has passed.

// wakeInput is what can happen after a lock was freed.
type wakeInput uint8

const (
	wakeHindered wakeInput = iota // a fault strikes a server or a waiter, or a waiter ends
	wakeTried                     // the waiter sends a command
	wakeOver                      // a lease, or five seconds, has passed
	wakeLeft                      // the waiter ends without the lock
)

// wakeState is what has happened so far.
type wakeState struct{ excused, over bool }

func wakeModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return wakeState{} },
		Step: func(state, input, _ any) (bool, any) {
			s := state.(wakeState)
			switch input.(wakeInput) {
			case wakeHindered, wakeTried:
				s.excused = true
			case wakeOver:
				s.over = true
			case wakeLeft:
				return s.excused || !s.over, s
			}
			return true, s
		},
	}
}

// freeLock is a lock since a command freed it.
type freeLock struct {
	event int      // index of the command; zero: it is not known to be free
	who   []string // clients that have waited since
	ended []int    // indexes of the exits of such
}

// key takes in what a command did to the key of a lock.
func (r *hungReader) key(i int, e *history.Event, c *history.Command) {
	for n := range r.waiting {
		if w := &r.waiting[n]; e.ID != 0 && w.id == e.ID && w.client == e.Client {
			w.sent = i
		}
	}
	if len(c.Changes) == 0 { // nobody asked what it did
		for _, l := range r.locks {
			l.free = freeLock{}
		}
		return
	}
	for n := range c.Changes {
		ch := &c.Changes[n]
		l := r.locks[ch.Key]
		if l == nil {
			continue
		}
		if ch.After.Exists() {
			l.free = freeLock{}
		} else if ch.Effect(c.Asked) == history.EffectRemoved {
			l.free = freeLock{event: i}
			for _, w := range r.waiting {
				if w.waits(l.name) {
					l.free.who = append(l.free.who, w.client)
				}
			}
		}
		for m := range r.waiting {
			if w := &r.waiting[m]; w.sent == i && w.waits(l.name) {
				w.refused = ch.Before.Exists() && ch.After.Exists() && !c.ReplyDropped
			}
		}
	}
}

// waits says whether it is an acquire that waits for a lock.
func (w *pendingWait) waits(lock string) bool { return w.acquire && w.bound > 0 && w.lock == lock }

// gone takes in the exit of a client.
func (r *hungReader) gone(i int, client string) {
	for _, w := range r.waiting {
		if l := r.of(w.lock); w.client == client && w.waits(w.lock) && l.free.event != 0 {
			l.free.ended = append(l.free.ended, i)
		}
	}
}

// wakeup is the wait of an acquire that ended without the lock at event i, while the lock was free; false: it had not been refused before, or its
// bound was not over.
func (r *hungReader) wakeup(l *hungHistory, w *pendingWait, i int) (overlap.Window, bool) {
	free, back := &l.free, &r.events[i]
	forsaken := back.Outcome == history.No || back.Outcome == history.Unknown && back.Detail != nil && back.Detail.GaveUp
	bounded := back.At-r.events[w.call].At >= w.bound
	if !w.waits(l.name) || free.event == 0 || !w.refused || !forsaken || !bounded || l.spread || l.session || l.lease == 0 {
		return overlap.Window{}, false
	}
	p := overlap.Window{Model: wakeModel()}
	add := func(what wakeInput, call, done int64) {
		p.Operations = append(p.Operations, porcupine.Operation{Input: what, Call: call, Return: done})
	}
	for _, h := range r.faults {
		if h.to > overlap.At(free.event) && h.strikes(free.who) {
			add(wakeHindered, h.from, h.to)
		}
	}
	for _, exit := range free.ended {
		add(wakeHindered, overlap.At(exit), overlap.At(exit))
	}
	if w.sent > free.event {
		add(wakeTried, overlap.At(w.sent), overlap.At(w.sent))
	}
	enough := min(l.lease+clockRoom(l.lease), 5*time.Second)
	over := overlap.BeforeTime(r.events, r.events[free.event].At+enough+time.Nanosecond)
	add(wakeOver, over, over)
	add(wakeLeft, overlap.At(i), overlap.At(i))
	return p, true
}

// strikes says whether a fault may keep one of some clients from acting, or all of them.
func (h hindrance) strikes(who []string) bool {
	if h.kind == faults.Skew {
		return false
	}
	if h.kind.OnServer() {
		return true
	}
	for _, client := range who {
		if history.ProcessOf(h.target) == history.ProcessOf(client) {
			return true
		}
	}
	return false
}
