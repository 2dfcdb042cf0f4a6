package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// serviceWait is an acquire under way.
type serviceWait struct {
	op     *asking
	used   bool          // somebody held the lock when it was called
	taken  int           // index of the first event since by which somebody got the lock, or lost it; zero: none
	freed  time.Duration // when every lease from before its call is over
	seen   int           // index of the latest command that showed that it is refused; zero: none
	found  keptFor       // what its latest command found
	met    []keptFor     // what its commands found that was kept for clients that had been refused
	client string
	asked  int // of a lock that promises order: index of the command by which it has certainly asked
	left   int // index of the event from which it may no longer be waiting in the queue
}

// keptFor is a possession that an acquire was refused for.
type keptFor struct {
	possession
	op    *asking // the acquire that was refused; nil: none was
	event int     // index of the command
}

// freedBy is when every lease that began before at is over.
func (l *ownerHistory) freedBy(at time.Duration) time.Duration {
	switch {
	case l.leaseless && !l.session:
		return at
	case l.lease == 0:
		return never
	case l.session: // ended at the tick after its time-out, of which it lasts two
		at += l.lease / 2
	}
	return at + l.lease + clockRoom(l.lease)
}

// inUse says whether somebody has the lock, or may have it for ever, when an acquire is called.
func (r *ownerReader) inUse(l *ownerHistory, i int, e *history.Event) bool {
	if lock := r.mutex.locks[l.name]; lock != nil {
		for _, h := range lock.holders {
			if h.active && h.ends > e.At {
				return true
			}
		}
	}
	o := l.state.owner
	if !l.leaseless || o.client == 0 || o.dead {
		return false
	}
	return l.service.releasing == o.began || o.unsettled(i)
}

// unsettled says whether at an event nobody knows whether its client was told of the possession. Of one that rests on no acquire no client is told.
func (p possession) unsettled(event int) bool {
	is := p.standing(event)
	return p.acquire != nil && (is == awaited || is == doubtful)
}

// refused takes in the return of an acquire: whether it was refused, and what for.
func (r *ownerReader) refused(l *ownerHistory, i int, e *history.Event, op *asking) {
	s := &l.service
	w := takeWaiting(&s.waits, func(w serviceWait) bool { return w.op == op })
	if w.op == nil {
		return
	}
	if w.found.op != nil && op.outcome == history.OK && op.took == 0 {
		s.swapped = append(s.swapped, w.found)
	}
	if op.outcome != history.No {
		return
	}
	if l.opaque {
		w.seen = i // that it was refused is all that shows it
	}
	s.stuck(r.mutex.events, i, e, w)
	for _, k := range w.met {
		var o observation
		o.add(serviceEnds, at(min(k.began, k.acquire.back)), at(k.acquire.back))
		o.lapses(r.mutex.events, k.possession)
		o.add(serviceRefuses, at(op.call), at(k.event))
		s.observe(observedGhost, o)
	}
}

// stuck takes in the return of an acquire that was refused for as long as it waited.
func (s *serviceHistory) stuck(events []history.Event, i int, e *history.Event, w serviceWait) {
	op := w.op
	if op.bound <= 0 || w.seen == 0 || w.used || e.At-op.called < op.bound*3/4 {
		return
	}
	var o observation
	if w.taken != 0 {
		o.add(serviceChanges, at(w.taken), at(w.taken))
	}
	o.add(serviceRefuses, at(w.seen), at(i))
	o.add(serviceEnds, at(op.call), beforeTime(events, w.freed+1))
	s.observe(observedStuck, o)
}

// settleSwapped takes in the end of an acquire for which the lock was kept from one that was told ok.
func (s *serviceHistory) settleSwapped(events []history.Event, op *asking) {
	s.swapped = slices.DeleteFunc(s.swapped, func(k keptFor) bool {
		if k.acquire.back == 0 {
			return false
		}
		if k.standing(k.acquire.back) == declined {
			var o observation
			o.add(serviceEnds, at(k.began), at(k.began))
			o.lapses(events, k.possession)
			o.add(serviceRefuses, at(k.event), at(k.event))
			s.observe(observedGhost, o)
		}
		return true
	})
}

// tries takes in a command of an acquire under way: whether it shows that the acquire is refused, and what for.
func (r *ownerReader) tries(l *ownerHistory, w *serviceWait, step *ownerStep, e *history.Event, c *history.Command, before possession, look keyLook) {
	w.found = keptFor{}
	notYet := before.client != 0 && !before.dead && before.unsettled(step.event) && before.runs(e.At)
	if look.was == look.is && !notYet && (look.was || r.mutex.fair[l.name] && joinsQueue(c) && r.alone(w)) {
		w.seen = look.since
	}
	if look.was && !look.elsewhere && look.effect == history.EffectNone {
		r.kept(w, step, e, before)
	}
}

// kept takes in for whom a command of an acquire found the lock kept.
func (r *ownerReader) kept(w *serviceWait, step *ownerStep, e *history.Event, before possession) {
	if before.acquire == nil || before.client == step.client {
		return
	}
	kept := keptFor{before, w.op, step.event}
	is := before.standing(step.event)
	if (is == awaited || is == declined) && before.runs(e.At) {
		w.found = kept
	}
	client := r.names[before.client]
	if is == declined && !before.over && !r.mutex.dead[client] && !r.mutex.holds(client, w.op.lock, e.At) {
		w.meets(r.mutex.events, kept)
	}
}

// meets notes a possession that was kept for a client that had been refused. Whether that client had been when the acquire was called differs from one
// to the next, so all count. Of each the first command counts that found it while its lease certainly ran.
func (w *serviceWait) meets(events []history.Event, kept keptFor) {
	n := slices.IndexFunc(w.met, func(k keptFor) bool { return k.began == kept.began })
	switch {
	case n < 0:
		w.met = append(w.met, kept)
	case !w.met[n].runs(events[w.met[n].event].At):
		w.met[n] = kept
	}
}

// alone says whether no other client has an acquire of the lock under way.
func (r *ownerReader) alone(w *serviceWait) bool {
	for name, c := range r.clients {
		if name == w.client {
			continue
		}
		if slices.ContainsFunc(c.pending, func(a *asking) bool { return a.op == history.OpAcquire && a.lock == w.op.lock }) {
			return false
		}
	}
	return true
}

// joinsQueue says whether a command has certainly asked for the lock: a script, or a ZooKeeper's create, that was carried out, and
// whose client knows the answer.
func joinsQueue(c *history.Command) bool {
	if len(c.Args) == 0 || c.ReplyDropped || c.Failed() {
		return false
	}
	switch strings.ToUpper(c.Args[0]) {
	case "EVAL", "EVALSHA", "FCALL", "EXEC", "CREATE":
		return true
	}
	return false
}
