package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/timeline"
)

// stuckLock: no living client holds the lock, yet an acquire does not get it within its bound. From the acquire's call to its return no
// client held the lock, and the lock did not change hands; and when every lease that had begun before had ended, a command of the acquire
// still found the lock there. A lock that promises order may be stuck without being there: then it is
// refused for the sake of somebody who is gone.
//
// Where no command is on record, it is the refusal at the end of the wait that says so. Then nobody else may have asked for the lock meanwhile, nor
// may the answer of a living client to its latest acquire or release be unknown.
type stuckLock struct {
	waiting []stuckWait
	unsure  []unsureClient
}

// unsureClient is a client that may have the lock, as far as its latest answer says.
type unsureClient struct{ client, lock int }

// stuckWait is a pending acquire with a bound.
type stuckWait struct {
	op        int64
	client    int
	lock      int
	contended bool // the lock was, or may have been, somebody's meanwhile
	owner     timeline.Claim
	seen      int // index of the latest command that found the lock there though its lease had ended; 0: none
	seenAt    time.Duration
	free      bool // it found no lock there, and was refused all the same
}

func (m *stuckLock) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Lock != 0 && v.Locks[f.Lock].Opaque {
		m.unread(f)
	}
	if f.Event.Kind == history.KindCall && f.Op.Kind == history.OpAcquire && f.Op.Bound > 0 && f.Lock != 0 {
		m.waiting = append(m.waiting, stuckWait{op: f.Op.ID, client: f.Client, lock: f.Lock, contended: contended(f, v) || m.doubted(f, v)})
		return nil
	}
	if len(m.waiting) == 0 || f.Lock == 0 {
		return nil
	}
	if f.Began || changesHands(f) {
		for n := range m.waiting {
			w := &m.waiting[n]
			w.contended = w.contended || w.lock == f.Lock
		}
	}
	if f.Op.Kind != history.OpAcquire {
		return nil
	}
	switch f.Event.Kind {
	case history.KindCommand:
		m.command(f, v)
	case history.KindReturn:
		return m.returned(f, v)
	}
	return nil
}

// unread follows a lock of which no command is on record.
func (m *stuckLock) unread(f *timeline.Fact) {
	switch {
	case f.Op.Kind != history.OpAcquire && f.Op.Kind != history.OpRelease:
	case f.Event.Kind == history.KindReturn:
		this := unsureClient{f.Client, f.Lock}
		m.unsure = slices.DeleteFunc(m.unsure, func(u unsureClient) bool { return u == this })
		if f.Op.Outcome == history.Unknown {
			m.unsure = append(m.unsure, this)
		}
	case f.Event.Kind == history.KindCall && f.Op.Kind == history.OpAcquire:
		for n := range m.waiting {
			w := &m.waiting[n]
			w.contended = w.contended || w.lock == f.Lock
		}
	}
}

// doubted says whether somebody else may have such a lock, or is about to, when an acquire is called.
func (m *stuckLock) doubted(f *timeline.Fact, v *timeline.Cursor) bool {
	return v.Locks[f.Lock].Opaque && (!v.Ops.Alone(f.Client, f.Lock) ||
		slices.ContainsFunc(m.unsure, func(u unsureClient) bool { return u.lock == f.Lock && !v.Dead[u.client] }))
}

// contended says whether somebody has the lock, or may have it, when an acquire is called.
func contended(f *timeline.Fact, v *timeline.Cursor) bool {
	k := &v.Locks[f.Lock]
	for _, h := range k.Holds {
		if h.Active(f.Event.At) {
			return true
		}
	}
	// A lease would bring the truth to light; without one, a client that does not know may have the lock for ever.
	o := k.Ledger.Owner
	return k.Leaseless && o.Client != 0 && !o.Dead && (mayHave(o) || o.Releasing)
}

// mayHave says whether the client of a claim may have the lock by it, as far as it has been told. What no acquire has put there gives the lock to nobody,
// such as a key that a watchdog makes anew after the release.
func mayHave(o timeline.Claim) bool {
	return o.Standing == timeline.Pending || o.Standing == timeline.Dubious && o.Op != 0
}

// changesHands says whether a command gave the lock an owner, or took it from one; or its owner renewed it by order of its user, who
// then wants it, whatever an earlier answer was.
func changesHands(f *timeline.Fact) bool {
	switch f.Effect {
	case history.EffectReplaced: // an acquire that only counts has it if it is answered ok
		counts, _ := f.Change.CountedBy(f.Sent.Args, f.Sent.Asked)
		return !counts || f.Op.Kind != history.OpAcquire
	case history.EffectCreated, history.EffectRemoved, history.EffectUnclear:
		return true
	case history.EffectProlonged:
		return f.Op.Kind == history.OpRenew && f.Owner.Client == f.Client
	}
	return false
}

// command looks for the proof: the lock is still there when it should have been freed.
func (m *stuckLock) command(f *timeline.Fact, v *timeline.Cursor) {
	if f.Change == nil || f.Change.Before.Exists() != f.Change.After.Exists() {
		return
	}
	if !f.Change.Before.Exists() && !(v.Locks[f.Lock].Fair && asks(f.Sent) && v.Ops.Alone(f.Client, f.Lock)) {
		return
	}
	seen := f.Event.At
	if f.BlockedSince > 0 {
		seen = f.BlockedSince
	}
	for n := range m.waiting {
		w := &m.waiting[n]
		if w.op != f.Op.ID || w.client != f.Client {
			continue
		}
		o := f.Owner
		maybe := o.Client != 0 && !o.Dead && mayHave(o) && o.Leased(f.Event.At)
		if seen > v.Locks[f.Lock].FreedBy(f.Op.CalledAt) && !maybe {
			w.owner, w.seen, w.seenAt, w.free = o, f.Index, f.Event.At, !f.Change.Before.Exists()
		}
	}
}

func (m *stuckLock) returned(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	w := takeWaiting(&m.waiting, func(w stuckWait) bool { return w.op == f.Op.ID && w.client == f.Client })
	waited := f.Event.At - f.Op.CalledAt
	if k := &v.Locks[f.Lock]; k.Opaque && f.Event.At > k.FreedBy(f.Op.CalledAt) {
		w.seen, w.seenAt = f.Index, f.Event.At
	}
	if w.op == 0 || w.contended || w.seen == 0 || f.Op.Outcome != history.No || waited < f.Op.Bound*3/4 {
		return nil
	}
	client := v.Clients.Name(f.Client)
	clients, whose := []string{client}, ""
	if w.owner.Client != 0 {
		owner := v.Clients.Name(w.owner.Client)
		clients = append(clients, owner)
		whose = fmt.Sprintf(" (acquired by %s at %s)", owner, seconds(w.owner.At))
	}
	still := fmt.Sprintf("the lock was still there at %s%s", seconds(w.seenAt), whose)
	if v.Locks[f.Lock].Opaque {
		still = fmt.Sprintf("every lease from before was over at %s", seconds(v.Locks[f.Lock].FreedBy(f.Op.CalledAt)))
	}
	if w.free {
		still = fmt.Sprintf("the lock was free at %s", seconds(w.seenAt))
	}
	return []Anomaly{{
		Name: StuckLock, Lock: v.LockNames.Name(f.Lock), Clients: clients, At: f.Event.At,
		Why: fmt.Sprintf("%s was refused from %s to %s, and %s, although no client held the lock.",
			client, seconds(f.Op.CalledAt), seconds(f.Event.At), still),
		Events: inOrder(f.Op.Called, w.seen, f.Index),
	}}
}
