package checker

import (
	"fmt"
	"time"

	"github.com/locklab/locklab/history"
)

// stuckLock: nobody alive holds the lock, yet nobody can get it within the bound. An acquire with a bound was refused; from its
// call to its return no client was in a hold and the lock changed hands in no other way; and when every honest lease had ended,
// a command of the acquire still found the lock there. A lock that promises order may be stuck without being there: then it is
// refused for the sake of somebody who is gone.
type stuckLock struct {
	waiting []stuckWait
}

// stuckWait is a pending acquire with a bound.
type stuckWait struct {
	op        int64
	client    int
	lock      int
	contended bool // the lock was, or may have been, somebody's meanwhile
	owner     claim
	seen      int // index of the latest command that found the lock there though its lease had ended; 0: none
	seenAt    time.Duration
	free      bool // it found no lock there, and was refused all the same
}

func (m *stuckLock) step(f *fact, v *view) []Anomaly {
	if f.e.Kind == history.KindCall && f.op.kind == history.OpAcquire && f.op.bound > 0 && f.lock != 0 {
		m.waiting = append(m.waiting, stuckWait{op: f.op.id, client: f.client, lock: f.lock, contended: contended(f, v)})
		return nil
	}
	if len(m.waiting) == 0 || f.lock == 0 {
		return nil
	}
	if f.began || changesHands(f) {
		for n := range m.waiting {
			w := &m.waiting[n]
			w.contended = w.contended || w.lock == f.lock
		}
	}
	if f.op.kind != history.OpAcquire {
		return nil
	}
	switch f.e.Kind {
	case history.KindCommand:
		m.command(f, v)
	case history.KindReturn:
		return m.returned(f, v)
	}
	return nil
}

// contended says whether somebody has the lock, or may have it, when an acquire is called.
func contended(f *fact, v *view) bool {
	k := &v.keys[f.lock]
	for _, h := range k.holds {
		if h.active(f.e.At) {
			return true
		}
	}
	// A lease would bring the truth to light; without one, a client that does not know may have the lock for ever.
	o := k.ledger.owner
	return k.leaseless && o.client != 0 && !o.dead && (o.standing == pending || o.standing == dubious || o.releasing)
}

// changesHands says whether a command made the lock somebody's, or nobody's; or its owner renewed it by order of its user, who
// then wants it, whatever an earlier answer was.
func changesHands(f *fact) bool {
	switch f.effect {
	case history.EffectCreated, history.EffectRemoved, history.EffectReplaced, history.EffectUnclear:
		return !f.work
	case history.EffectProlonged:
		return f.op.kind == history.OpRenew && f.owner.client == f.client
	}
	return false
}

// command looks for the proof: the lock is still there when it should have been freed.
func (m *stuckLock) command(f *fact, v *view) {
	if f.change == nil || f.work || f.change.Before.Exists() != f.change.After.Exists() {
		return
	}
	if !f.change.Before.Exists() && !(v.keys[f.lock].fair && asks(f.e.Detail.Command) && v.ops.alone(f.client, f.lock)) {
		return
	}
	seen := f.e.At
	if f.found > 0 {
		seen = f.found
	}
	for n := range m.waiting {
		w := &m.waiting[n]
		if w.op != f.op.id || w.client != f.client {
			continue
		}
		o := f.owner
		maybe := o.client != 0 && !o.dead && (o.standing == pending || o.standing == dubious) && o.leased(f.e.At)
		if seen > v.keys[f.lock].freedBy(f.op.calledAt) && !maybe {
			w.owner, w.seen, w.seenAt, w.free = o, f.i, f.e.At, !f.change.Before.Exists()
		}
	}
}

// freedBy is when a lease that began before at has certainly ended; never if nobody said how long leases are.
func (k *lockView) freedBy(at time.Duration) time.Duration {
	switch {
	case k.leaseless:
		return at
	case k.lease == 0:
		return never
	}
	return at + k.lease + leaseMargin(k.lease)
}

func (m *stuckLock) returned(f *fact, v *view) []Anomaly {
	w := takeWaiting(&m.waiting, func(w stuckWait) bool { return w.op == f.op.id && w.client == f.client })
	waited := f.e.At - f.op.calledAt
	if w.op == 0 || w.contended || w.seen == 0 || f.op.outcome != history.No || waited < f.op.bound*3/4 {
		return nil
	}
	client := v.clients.name(f.client)
	clients, whose := []string{client}, ""
	if w.owner.client != 0 {
		owner := v.clients.name(w.owner.client)
		clients = append(clients, owner)
		whose = fmt.Sprintf(" (%s had taken it at %s)", owner, told(w.owner.at))
	}
	still := fmt.Sprintf("the lock was still there at %s%s", told(w.seenAt), whose)
	if w.free {
		still = fmt.Sprintf("the lock was free at %s", told(w.seenAt))
	}
	return []Anomaly{{
		Name: StuckLock, Lock: v.locks.name(f.lock), Clients: clients, At: f.e.At,
		Why: fmt.Sprintf("%s tried from %s to %s and was refused, and %s, though no client was in a hold.",
			client, told(f.op.calledAt), told(f.e.At), still),
		Events: inOrder(f.op.called, w.seen, f.i),
	}}
}
