package second

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// The second judge of locks that nobody can get. A refusal shows one if it cannot have been the last that a holder, or a fault, has caused: two
// leases have passed since, and somebody has been asking all the time. Porcupine looks for an order in which what kept the lock ended after the
// refusal; it must have ended within that time.

// idleTime is how long a lock has been nobody's by what its clients say.
type idleTime struct {
	begin   time.Duration
	asked   bool          // somebody has waited for it, or been refused, since then
	asking  time.Duration // from when on
	first   time.Duration // when the first acquire was called since; never: none was
	release *asking       // with which it began, if that was answered ok
}

// goesIdle has a lock be nobody's from some time on.
func (s *serviceHistory) goesIdle(when time.Duration) {
	s.idle = idleTime{begin: when, asked: len(s.waits) > 0, asking: when, first: overlap.Never}
}

// idles brings the idle time up to an event of a client that may hold the lock.
func (r *ownerReader) idles(l *ownerHistory, e *history.Event) {
	lock := r.mutex.Locks[l.name]
	if lock == nil {
		return
	}
	over := lock.Lapsed
	for _, h := range lock.Holders {
		if h.Active && h.Ends <= e.At {
			over = max(over, h.Ends)
		}
	}
	if over > l.service.idle.begin {
		l.service.goesIdle(over)
	}
	others := r.holding(lock, e)
	if h := lock.Holders[e.Client]; others+1 >= lock.Permits && h != nil && (h.Active && h.Ends > e.At || h.Before && e.Kind != history.KindCommand) {
		l.service.goesIdle(e.At)
	}
}

// holding is how many clients but that of an event hold a lock.
func (r *ownerReader) holding(lock *overlap.Lock, e *history.Event) (n int) {
	for client, h := range lock.Holders {
		if client != e.Client && h.Active && h.Ends > e.At {
			n++
		}
	}
	return n
}

// idleAfter takes in the answer to an acquire or a release; w is the acquire. It says whether that was a refusal.
func (s *serviceHistory) idleAfter(l *ownerHistory, c *asker, e *history.Event, op *asking) (refused bool) {
	doubted := s.unknown[c.number]
	if s.unknown == nil {
		s.unknown = make(map[int]bool)
	}
	keeps := l.leaseless || l.opaque // whoever may have it may keep it
	s.unknown[c.number] = keeps && op.outcome == history.Unknown && (op.op == history.OpRelease || l.opaque || !op.gaveUp)
	if op.outcome == history.No && !doubted {
		return op.op == history.OpAcquire
	}
	held := s.idle.begin == op.called
	s.goesIdle(e.At)
	if op.op == history.OpRelease && op.outcome == history.OK && held && !op.inner {
		s.idle.release = op
	}
	return false
}

// stuck takes in the refusal of an acquire.
func (r *ownerReader) stuck(l *ownerHistory, i int, e *history.Event, w serviceWait) {
	s, events := &l.service, r.mutex.Events
	if l.lease == 0 || !s.idle.asked || r.occupied(l, e) {
		return
	}
	free := l.freedBy(s.idle.begin)
	if s.idle.release != nil {
		free = s.idle.begin
	}
	asleep := func(other serviceWait) bool { return other.spoke == 0 || other.spoke < free }
	asks := w.sought > 0 && w.soughtAt >= free && !(w.none && slices.ContainsFunc(s.waits, asleep))
	if l.opaque {
		asks = w.op.called >= free || e.At > max(s.idle.asking, free)+2*l.lease
	}
	if asks {
		s.observe(observedStuck, refusedAfter(events, i, s.idle.asking+2*l.lease))
	}
	if s.idle.release != nil && l.opaque && w.op.called >= events[s.idle.release.back].At {
		s.observe(observedInPlace, refusedAfter(events, i, s.idle.first+l.lease+clockRoom(l.lease)))
	}
}

// refusedAfter is a refusal, and what kept the lock, which ended at some time up to the latest.
func refusedAfter(events []history.Event, refusal int, latest time.Duration) (o observation) {
	o.add(serviceRefuses, overlap.At(refusal), overlap.At(refusal))
	o.add(serviceEnds, 0, overlap.BeforeTime(events, latest+1))
	return o
}

// occupied says whether the lock may be somebody's after all, or a fault may keep clients from it.
func (r *ownerReader) occupied(l *ownerHistory, e *history.Event) bool {
	if lock := r.mutex.Locks[l.name]; lock != nil && (r.holding(lock, e) >= lock.Permits || r.mutex.Holds(e.Client, l.name, e.At)) {
		return true
	}
	for _, c := range r.clients {
		if l.service.unknown[c.number] {
			return true
		}
		if slices.ContainsFunc(c.pending, func(a *asking) bool { return a.op == history.OpRelease && a.lock == l.name }) {
			return true
		}
	}
	return slices.ContainsFunc(r.lasting, func(f lastingFault) bool { return r.hinders(f) })
}

// lastingFault is a fault that was injected, or has taken effect, and is not over.
type lastingFault struct {
	kind   faults.Kind
	target string
}

// disturbed takes in a fault: whatever it kept from clients, it kept until now.
func (r *ownerReader) disturbed(e *history.Event) {
	f := e.Fault()
	if f == nil {
		return
	}
	this := lastingFault{faults.Kind(f.Name).Of().Kind, f.Target}
	if r.hinders(this) {
		for _, l := range r.order {
			l.service.goesIdle(e.At)
		}
	}
	once := this.kind.Of().OneShot || this.kind == faults.Stall || this.kind == faults.ReplyLost && f.Phase == history.PhaseEffective
	switch n := slices.Index(r.lasting, this); {
	case this.kind == faults.Crash && f.Phase == history.PhaseEffective:
		r.killed = append(r.killed, f.Target)
	case f.Phase == history.PhaseRecover && n >= 0:
		r.lasting = slices.Delete(r.lasting, n, n+1)
	case n < 0 && !once && f.Phase != history.PhaseRecover:
		r.lasting = append(r.lasting, this)
	}
}

// hinders says whether a fault may keep a client from the lock: not if its process is dead, if no operation of it waits for the message, or if only its
// clock is wrong.
func (r *ownerReader) hinders(f lastingFault) bool {
	switch f.kind {
	case faults.Skew, faults.Crash, faults.ThreadDeath:
		return false
	case faults.HoldRequest, faults.HoldReply, faults.Duplicate, faults.HoldCopy:
		c := r.clients[f.target]
		return c != nil && len(c.pending) > 0
	}
	return !slices.Contains(r.killed, history.ProcessOf(f.target))
}
