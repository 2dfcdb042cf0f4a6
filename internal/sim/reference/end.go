package reference

import (
	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// judgeEnd judges what is left when all clients have ended: the data must be right, and a fresh client must get the lock.
func (s *search) judgeEnd(at place) error {
	w := s.world(&at.row)
	var found suspicions
	if w.counter() < int64(w.monitor.acked) {
		found.add(checker.LostUpdate)
	}
	if err := s.ask(at, found, false); err != nil {
		return err
	}
	key := at.row
	key.monitor, key.resource, key.struck = 0, 0, 0
	stuck, known := s.reached.ends[key]
	if !known {
		var err error
		if stuck, err = s.stuck(w); err != nil {
			return err
		}
		s.reached.ends[key] = stuck
	}
	if !stuck {
		return nil
	}
	found = 0
	found.add(checker.StuckLock)
	return s.ask(at, found, true)
}

// trialLength is how long a fresh client tries: until every lease ends that was taken before, or by a client that asked meanwhile.
func (s *search) trialLength() int { return 2*ms(s.Lease) + ms(ownership.LeaseMargin(s.Lease)) }

// stuck has a fresh client try again and again, beside those that were refused, and says whether none of them ever gets the lock.
func (s *search) stuck(w *world) (bool, error) {
	fresh := len(w.clients)
	at, err := s.locals.start(fresh)
	if err != nil {
		return false, err
	}
	w.clients = append(w.clients, client{at: at, ends: never})
	if s.recorder != nil {
		s.recorder.trial = fresh
		s.recorder.opens(fresh)
	}
	tried := make([]bool, fresh+1)
	for end := s.trialLength() + 1; ; {
		for i := range w.clients {
			c := &w.clients[i]
			if c.active() || c.phase == holding {
				return false, nil
			}
			if c.phase == tired {
				c.phase, c.tries = waiting, 0
			}
		}
		o, there := s.first(w, tried)
		switch {
		case !there && end <= 0:
			if s.recorder != nil {
				s.recorder.closes(fresh, history.OpAcquire, history.Answer{Outcome: history.No})
			}
			return true, nil
		case !there:
			o = s.later(w, end)
			end -= int(o.time)
			clear(tried)
		case o.kind == calls:
			tried[o.client] = true
		}
		if err := s.make(w, o); err != nil {
			return false, err
		}
	}
}

// first is the first step that a client can make; none tries twice at the same time.
func (s *search) first(w *world, tried []bool) (choice, bool) {
	for i := range w.clients {
		for _, o := range s.ofClient(nil, &w.clients[i], i) {
			if o.kind != calls || !tried[i] {
				return o, true
			}
		}
	}
	return choice{}, false
}

// later lets time pass until the next try, or until a wait ends before it.
func (s *search) later(w *world, end int) choice {
	next := min(ms(s.Grid), end)
	for i := range w.clients {
		for _, d := range w.clients[i].due {
			next = min(next, max(d.at, 1))
		}
	}
	return choice{kind: passes, time: int32(next)}
}
