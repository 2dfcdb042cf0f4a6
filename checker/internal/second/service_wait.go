package second

import (
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// serviceWait is an acquire under way.
type serviceWait struct {
	op       *asking
	sought   int           // index of the latest command by which it certainly asked; zero: none
	soughtAt time.Duration // when it did
	spoke    time.Duration // when its latest command about the lock was through
	none     bool          // that by which it asked found the lock free: it is refused for the sake of others
	found    keptFor       // what its latest command found
	met      []keptFor     // what its commands found that was kept for clients that had been refused
	client   string
	asked    int // of a lock that promises order: index of the command by which it has certainly asked
	left     int // index of the event from which it may no longer be waiting in the queue
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
		return overlap.Never
	case l.session: // ended at the tick after its time-out, of which it lasts two
		at += l.lease / 2
	}
	return at + l.lease + clockRoom(l.lease)
}

// unsettled says whether at an event nobody knows whether its client was told of the possession. Of one that rests on no acquire no client is told.
func (p possession) unsettled(event int) bool {
	is := p.standing(event)
	return p.acquire != nil && (is == awaited || is == doubtful)
}

// aboutToBeTold says whether at an event the possession may be one of whose beginning its client is told soon: it has just begun, or its client does
// not know the outcome of its acquire.
func (p possession) aboutToBeTold(events []history.Event, event int, lease time.Duration) bool {
	now := events[event].At
	if p.client == 0 || p.dead || !p.unsettled(event) || !p.runs(now) {
		return false
	}
	return p.standing(event) == doubtful || events[p.began].At+lease > now
}

// answered takes in the return of an acquire: whether it was refused, and what for.
func (r *ownerReader) answered(l *ownerHistory, c *asker, i int, e *history.Event, op *asking) {
	s := &l.service
	w := list.Take(&s.waits, func(w serviceWait) bool { return w.op == op })
	if s.idleAfter(l, c, e, op) && w.op != nil {
		r.stuck(l, i, e, w)
	}
	if w.op == nil {
		return
	}
	if w.found.op != nil && op.outcome == history.OK && op.took == 0 {
		s.swapped = append(s.swapped, w.found)
	}
	if op.outcome != history.No {
		return
	}
	for _, k := range w.met {
		var o observation
		o.add(serviceEnds, overlap.At(min(k.began, k.acquire.back)), overlap.At(k.acquire.back))
		o.lapses(r.mutex.Events, k.possession)
		o.add(serviceRefuses, overlap.At(op.call), overlap.At(k.event))
		s.observe(observedGhost, o)
	}
}

// settleSwapped takes in the end of an acquire for which the lock was kept from one that was told ok.
func (s *serviceHistory) settleSwapped(events []history.Event, op *asking) {
	s.swapped = slices.DeleteFunc(s.swapped, func(k keptFor) bool {
		if k.acquire.back == 0 {
			return false
		}
		if k.standing(k.acquire.back) == declined {
			var o observation
			o.add(serviceEnds, overlap.At(k.began), overlap.At(k.began))
			o.lapses(events, k.possession)
			o.add(serviceRefuses, overlap.At(k.event), overlap.At(k.event))
			s.observe(observedGhost, o)
		}
		return true
	})
}

// tries takes in a command of an acquire under way: whether it shows that the acquire is refused, and what for.
func (r *ownerReader) tries(l *ownerHistory, w *serviceWait, step *ownerStep, e *history.Event, c *history.Command, before possession, look keyLook) {
	w.found = keptFor{}
	if events := r.mutex.Events; !before.aboutToBeTold(events, step.event, l.lease) && (look.was || look.is || joinsQueue(c)) {
		w.sought, w.soughtAt, w.none = step.event, events[look.since].At, !look.was && !look.is
	}
	w.spoke = e.At
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
	if is == declined && !before.over && !r.mutex.Dead[client] && !r.mutex.Holds(client, w.op.lock, e.At) {
		w.meets(r.mutex.Events, kept)
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
