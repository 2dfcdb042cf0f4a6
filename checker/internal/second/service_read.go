package second

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// serviceHistory is what the service answered about one lock. It is read along with whose the lock is.
type serviceHistory struct {
	observed  [len(ServiceNames)][]observation
	stale     int           // index of the event since which the key may have changed unseen; zero: none
	sureOf    int           // the possession, by the command with which it began, of which
	sure      time.Duration // is the end of the lease of which its client was certainly told
	releasing int           // the possession whose client's release has not definitely returned
	resumed   int           // such a possession, if its client has called another acquire since
	idle      idleTime
	asks      []ownersAsk             // checks and releases under way
	left      []ownersAsk             // releases that have left their lock in place
	refusals  []refusal               // by such locks
	waits     []serviceWait           // acquires under way
	passed    []passing               // grants while another was waiting, of which an acquire is under way
	queued    [][]porcupine.Operation // those that count
	swapped   []keptFor               // acquires that were told ok though the lock was kept for another, whose acquire is under way
	counted   countedHolds
	unknown   map[int]bool // clients that do not know what became of their latest acquire or release
}

// serviceEvent takes in event i, a call, a return or a notice of loss, of a client; op is the operation, nil if it is not known.
func (r *ownerReader) serviceEvent(l *ownerHistory, c *asker, i int, e *history.Event, op *asking) {
	s := &l.service
	r.idles(l, e)
	switch e.Kind {
	case history.KindLost:
		r.noticed(l, c, i, e)
		if l.state.owner.client == c.number {
			s.releasing = 0
		}
		s.counted.unsure = s.counted.unsure || s.counted.client == c.number
	case history.KindValid:
		r.assured(l, c, e)
	case history.KindCall:
		r.asked(l, c, i, e, op)
	case history.KindReturn:
		if op != nil && op.lock == e.Lock {
			r.told(l, c, i, e, op)
		}
	}
}

func (s *serviceHistory) observe(what int, o observation) {
	s.observed[what] = append(s.observed[what], o)
}

// assured takes in that a client was told of a renewal.
func (r *ownerReader) assured(l *ownerHistory, c *asker, e *history.Event) {
	if r.mutex.On(e.Client, e.Lock) && l.state.owner.client == c.number {
		l.service.sureOf, l.service.sure = l.state.owner.began, l.state.owner.ends
	}
}

// releases says whether the owner is a client whose release has not definitely returned.
func (s *serviceHistory) releases(owner possession, client int) bool {
	return owner.client == client && s.releasing != 0 && s.releasing == owner.began
}

// asked takes in the call of an operation.
func (r *ownerReader) asked(l *ownerHistory, c *asker, i int, e *history.Event, op *asking) {
	s, h := &l.service, r.mutex.Known(e.Client, e.Lock)
	before := h != nil && h.Before
	releasing := s.releases(l.state.owner, c.number)
	// Who does not know the outcome of its release may ask for it again.
	askedAgain := h != nil && h.Ends > e.At && releasing && s.resumed != s.releasing
	switch e.Op {
	case history.OpAcquire:
		if releasing {
			s.resumed = s.releasing
		}
		s.waits = append(s.waits, serviceWait{op: op, client: e.Client})
		if !s.idle.asked {
			s.idle.asked, s.idle.asking = true, e.At
		}
		s.idle.first = min(s.idle.first, e.At)
	case history.OpRelease:
		if l.state.owner.client == c.number && !op.inner {
			s.releasing = l.state.owner.began
		}
		if n := &s.counted; n.made != 0 && n.client == c.number {
			n.released++
			n.unsure = n.unsure || !before
		}
		fallthrough
	case history.OpCheck:
		ask := ownersAsk{op: op, stale: s.stale, again: h != nil && h.Again}
		if (before || askedAgain && e.Op == history.OpRelease) && l.certainly(c.number, i) {
			ask.mine = l.state.owner
		}
		s.asks = append(s.asks, ask)
	}
}

// told takes in the return of an operation.
func (r *ownerReader) told(l *ownerHistory, c *asker, i int, e *history.Event, op *asking) {
	s := &l.service
	switch op.op {
	case history.OpAcquire:
		if op.outcome == history.OK && e.Valid == history.ValidityExpired && l.state.owner.client == c.number {
			s.releasing = 0
		}
		if op.outcome == history.OK && l.state.owner.acquire == op {
			s.sureOf, s.sure = l.state.owner.began, l.state.owner.ends
		}
		r.answered(l, c, i, e, op)
		s.refusedByLeft(r.mutex.Events, op)
		s.settleSwapped(r.mutex.Events, op)
		s.settlePassed()
	case history.OpRenew:
		if e.Outcome == history.OK {
			r.assured(l, c, e)
		}
	case history.OpRelease, history.OpCheck:
		if op.op == history.OpRelease {
			s.idleAfter(l, c, e, op)
		}
		if op.op == history.OpRelease && l.state.owner.client == c.number && e.Outcome != history.Unknown {
			s.releasing = 0
		}
		if n := slices.IndexFunc(s.asks, func(a ownersAsk) bool { return a.op == op }); n >= 0 {
			ask := s.asks[n]
			s.asks = slices.Delete(s.asks, n, n+1)
			r.answeredOwner(l, i, ask)
		}
	}
	r.counts(l, c, i, e, op)
}

// serviceTouch takes in a command that named the key of a lock. before is whose it was.
func (r *ownerReader) serviceTouch(l *ownerHistory, step *ownerStep, e *history.Event, c *history.Command, who *asker, op *asking, before possession, look keyLook) {
	s, i := &l.service, step.event
	r.idles(l, e)
	if step.unseen {
		before = possession{}
	}
	s.stale = 0
	if o := l.state.owner; o.client != 0 && o.began == i {
		s.sureOf, s.sure = i, 0
		if o.standing(i) == certain {
			s.sure = o.ends
		}
	}
	s.leftInPlace(l, step, op, before, look)
	for n := range s.asks {
		s.asks[n].note(l, step, op, before, look)
	}
	if op != nil && op.op == history.OpAcquire && (op.back != 0 || op.failed) && look.is && look.effect != history.EffectNone {
		s.goesIdle(e.At) // its client has its answer, and has a lease from now on all the same
	}
	for n := range s.waits {
		if w := &s.waits[n]; w.op == op {
			r.tries(l, w, step, e, c, before, look)
		}
	}
	r.queueTouch(l, step, c, op, look.effect)
	s.counted.touched(step, op, look.effect)
}

// unaskedService takes in a command around which the server was not asked.
func (r *ownerReader) unaskedService(i int, e *history.Event, c *history.Command, op *asking) {
	l := r.locks[e.Lock]
	if l != nil {
		l.service.stale = i
		l.spread.doubt(c.Server)
	} else if op != nil {
		l = r.locks[op.lock]
	}
	if l == nil {
		return
	}
	r.idles(l, e)
	l.service.left = nil
	for n := range l.service.waits {
		if w := &l.service.waits[n]; w.op == op {
			w.found = keptFor{}
		}
	}
}

// faultService takes in a fault of a server: what it holds may have changed without a command.
func (r *ownerReader) faultService(i int, e *history.Event) {
	r.disturbed(e)
	f := e.Fault()
	if f == nil {
		return
	}
	var targets []int
	for name, c := range r.clients {
		if name == f.Target || history.ProcessOf(name) == f.Target {
			targets = append(targets, c.number)
		}
	}
	for _, l := range r.order {
		l.service.queueFault(f, i, targets)
		if faults.Kind(f.Name).Changes() {
			l.service.stale = i
			l.spread.doubt(f.Target)
		}
	}
}

// exitService forgets what a client that has ended was doing. held: it had held the lock.
func (s *serviceHistory) exitService(client int, held bool, now time.Duration) {
	s.asks = slices.DeleteFunc(s.asks, func(a ownersAsk) bool { return a.op.client == client })
	waited := slices.ContainsFunc(s.waits, func(w serviceWait) bool { return w.op.client == client })
	s.waits = slices.DeleteFunc(s.waits, func(w serviceWait) bool { return w.op.client == client })
	if held || waited || s.unknown[client] {
		s.goesIdle(now)
	}
	delete(s.unknown, client)
}
