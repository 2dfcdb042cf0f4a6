package second

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// ownersAsk is a check or a release.
type ownersAsk struct {
	op      *asking
	mine    possession // what certainly was its client's at the call; no client: nothing
	stale   int        // as it was then
	ended   int        // index of the event by which it was gone; zero: none
	looked  bool       // a command of it named the key
	removed int        // index of the command of it that removed its client's lock, from the last server that it takes; zero: none
	emptied []string   // of a lock on several servers: those from which a command of it has removed its client's share
	changed bool       // one replaced the value of its client's lock
	again   bool       // the client had acquired it more than once
	value   string     // of a silent release: what the lock held then
}

// countedHolds are the answers that the client which made a lock that counts has had since.
type countedHolds struct {
	client, made       int // index of the command that made it; zero: it is gone, or its owner is not known
	acquired, released int
	changed            int // index of the latest command of a release that changed the lock
	unsure             bool
}

// certainly says whether a lock is known to be a client's at an event, but for its lease.
func (l *ownerHistory) certainly(client, event int) bool {
	o := l.state.owner
	return client != 0 && o.client == client && o.standing(event) == certain && !o.dead && l.there
}

// noticed takes in a notice of loss. The lease counts as far as the client was told of it.
func (r *ownerReader) noticed(l *ownerHistory, c *asker, i int, e *history.Event) {
	if h := r.mutex.Known(e.Client, e.Lock); h == nil || !h.Before || !l.certainly(c.number, i) {
		return
	}
	mine := l.state.owner
	mine.ends = min(mine.ends, l.service.sureUntil(mine))
	var o observation
	o.lapses(r.mutex.Events, mine)
	l.service.mayHaveChanged(&o, l.service.stale)
	o.add(serviceDenies, overlap.At(i), overlap.At(i))
	l.service.observe(observedAlarm, o)
}

func (s *serviceHistory) mayHaveChanged(o *observation, stale int) {
	if stale != 0 {
		o.add(serviceChanges, overlap.At(stale), overlap.Open)
	}
}

// sureUntil is the end of the lease as far as its client was told.
func (s *serviceHistory) sureUntil(p possession) time.Duration {
	if s.sureOf != p.began {
		return 0
	}
	return s.sure
}

// answeredOwner takes in the return of a check or a release.
func (r *ownerReader) answeredOwner(l *ownerHistory, i int, a ownersAsk) {
	s, op := &l.service, a.op
	release := op.op == history.OpRelease
	if release && a.removed != 0 && op.outcome == history.No {
		var o observation
		o.add(serviceDenies, overlap.At(a.removed), overlap.At(a.removed))
		o.add(serviceEnds, overlap.At(a.removed)+1, overlap.At(i))
		s.observe(observedAlarm, o)
	}
	if a.mine.client == 0 || a.changed || op.outcome == history.Unknown || a.ended != 0 && !l.all { // in a long history, not what is legal anyway
		return
	}
	o := r.endsOf(l, a)
	if op.outcome == history.No {
		denied := slices.Clone(o)
		denied.add(serviceDenies, overlap.At(op.call), overlap.At(i))
		s.observe(observedAlarm, denied)
	}
	switch {
	case !release || op.inner:
	case a.looked && op.outcome == history.No:
		o.add(serviceDenies, overlap.At(i), overlap.At(i))
		s.observe(observedInPlace, o)
	case (a.looked || !a.again) && a.ended == 0 && a.stale == 0 && s.stale == 0 && l.state.rivals == nil: // a silent one may count by itself
		a.value = l.value
		s.left = append(s.left, a)
	}
}

// endsOf is what can have ended the lock of a check's, or a release's, client until it returned.
func (r *ownerReader) endsOf(l *ownerHistory, a ownersAsk) (o observation) {
	if !a.mine.runs(a.op.called) {
		o.lapses(r.mutex.Events, a.mine)
	}
	l.service.mayHaveChanged(&o, a.stale)
	l.service.mayHaveChanged(&o, l.service.stale)
	if a.ended != 0 {
		o.add(serviceEnds, overlap.At(a.ended), overlap.At(a.ended))
	} else {
		o.lapses(r.mutex.Events, l.state.owner)
	}
	if l.state.rivals != nil || a.ended == 0 && l.state.owner.began != a.mine.began {
		o.add(serviceChanges, overlap.At(a.op.call), overlap.Open)
	}
	return o
}

// leftInPlace takes in a command after releases that have left their lock in place: it may find it untouched.
func (s *serviceHistory) leftInPlace(l *ownerHistory, step *ownerStep, op *asking, before possession, look keyLook) {
	s.left = slices.DeleteFunc(s.left, func(a ownersAsk) bool {
		same := (l.spread != nil || look.was && look.value == a.value) && before.client == a.mine.client && before.began == a.mine.began && before.runs(step.at)
		if same && look.was && look.effect == history.EffectNone && op != nil && op.op == history.OpAcquire && op.back == 0 && !op.failed {
			s.refusals = append(s.refusals, refusal{a.op, op, before, step.event})
		}
		return !same || look.effect == history.EffectRemoved || look.effect == history.EffectReplaced
	})
}

// refusal is an acquire under way that has found a lock which a release has left in place.
type refusal struct {
	release, acquire *asking
	of               possession
	event            int // index of the command by which it did
}

// refusedByLeft takes in the answer to an acquire.
func (s *serviceHistory) refusedByLeft(events []history.Event, op *asking) {
	for _, r := range s.refusals {
		if r.acquire == op && op.outcome == history.No {
			var o observation
			o.lapses(events, r.of)
			o.add(serviceDenies, overlap.At(r.event), overlap.At(r.event))
			s.observe(observedInPlace, o)
		}
	}
	s.refusals = slices.DeleteFunc(s.refusals, func(r refusal) bool { return r.acquire == op })
}

// note takes in a command while the check, or the release, is under way.
func (a *ownersAsk) note(l *ownerHistory, step *ownerStep, op *asking, before possession, look keyLook) {
	switch gone := !l.there || l.state.owner.client == 0 || l.state.owner.began != a.mine.began; {
	case !gone:
		a.ended = 0
	case a.ended == 0:
		a.ended = step.event
	}
	if a.op != op {
		return
	}
	a.looked = true
	a.noteLost(l.spread, step.event, look)
	if before.client != step.client {
		return
	}
	switch look.effect {
	case history.EffectRemoved:
		a.removed = step.event
	case history.EffectReplaced:
		a.changed = true
	}
}

// noteLost takes in what a command of it removed from one server of several.
func (a *ownersAsk) noteLost(q *spreadLock, event int, look keyLook) {
	certain := a.mine.client != 0 && a.stale == 0 && a.mine.runs(a.op.called)
	if !certain || look.lost.client != a.mine.client || look.lost.acquire != a.mine.acquire || slices.Contains(a.emptied, look.server) {
		return
	}
	a.emptied = append(a.emptied, look.server)
	if len(a.emptied) == q.needs {
		a.removed = event
	}
}

// touched counts from the command that made the lock.
func (n *countedHolds) touched(step *ownerStep, op *asking, effect history.Effect) {
	switch effect {
	case history.EffectCreated:
		*n = countedHolds{}
		if step.mine.acquire != nil {
			n.client, n.made = step.client, step.event
		}
	case history.EffectReplaced:
		if n.made == 0 || n.client != step.client {
			*n = countedHolds{}
		} else if op != nil && op.op == history.OpRelease {
			n.changed = step.event
		}
	case history.EffectRemoved, history.EffectUnclear:
		*n = countedHolds{}
	}
}

// counts takes in the return of an operation: a lock that counts must be gone when it was released as often as it was acquired.
func (r *ownerReader) counts(l *ownerHistory, c *asker, i int, e *history.Event, op *asking) {
	n := &l.service.counted
	if n.made == 0 || n.client != c.number || !r.mutex.Counts[l.name] {
		return
	}
	switch op.op {
	case history.OpAcquire:
		if e.Outcome == history.OK {
			n.acquired++
		}
		n.unsure = n.unsure || e.Outcome == history.Unknown && !op.gaveUp
		return
	case history.OpRelease:
		n.unsure = n.unsure || e.Outcome != history.OK
	default:
		return
	}
	acquiring := slices.ContainsFunc(c.pending, func(a *asking) bool { return a.op == history.OpAcquire && a.lock == l.name })
	if n.unsure || acquiring || n.released != n.acquired || n.changed <= op.call || !l.there || l.state.owner.client != c.number {
		return
	}
	var o observation
	o.lapses(r.mutex.Events, l.state.owner)
	l.service.mayHaveChanged(&o, l.service.stale)
	o.add(serviceDenies, overlap.At(i), overlap.At(i))
	l.service.observe(observedInPlace, o)
}
