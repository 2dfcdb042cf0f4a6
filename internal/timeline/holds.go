package timeline

import (
	"fmt"
	"time"

	"github.com/locklab/locklab/history"
)

// Hold is a client's hold of a lock by its own account: from the return of an acquire to the call of release, a notice of loss, or the
// end of the declared validity.
type Hold struct {
	On      bool // it was neither released nor lost; its validity may be over all the same, see Active
	Since   int  // index of the event that began it
	SinceAt time.Duration
	Ends    time.Duration // the earliest end of the declared validity; Never if none was declared
	Renewed int           // index of the event by which its client was told last that it is renewed; 0: none. Of one that a renewal began it is Since
	// RenewedAt is when that was.
	RenewedAt time.Duration
	from      time.Duration // the client's next declaration cannot have been made before; see validUntil
	Again     bool          // it was acquired again while it lasted
	by        int64         // the acquire that began it, or the latest; of a lock that counts, the first
	count     int           // how often it was acquired and not released; counts only where the lock does
}

// Active says whether the client holds the lock at a time.
func (h Hold) Active(at time.Duration) bool { return h.On && at < h.Ends }

// declare takes the validity that an event declares, if any. made is when the declaration can have been made at the earliest, by the
// operation that the event answers; zero if it answers none.
func (v *Cursor) declare(h *Hold, e *history.Event, made time.Duration) {
	h.from = max(h.from, made)
	if e.Valid <= 0 {
		return
	}
	h.Ends = validUntil(h.from, e.Valid, v.rate(history.ProcessOf(e.Client)))
	if v.Locks[v.lock(e.Lock)].Opaque {
		h.from = e.At // the next is made later than this one, and nothing else is known of when
	}
}

func (v *Cursor) hold(client, lock int) *Hold {
	holds := &v.Locks[lock].Holds
	for len(*holds) <= client {
		*holds = append(*holds, Hold{})
	}
	return &(*holds)[client]
}

func (v *Cursor) call(f *Fact) {
	o := Operation{ID: f.Event.ID, Kind: f.Event.Op, Client: f.Client, Lock: f.Lock, Called: f.Index, CalledAt: f.Event.At}
	if f.Event.Detail != nil {
		o.Bound = f.Event.Detail.Bound
	}
	if f.Client == 0 || f.Lock == 0 {
		return
	}
	o.Inner = o.Kind == history.OpRelease && v.Locks[f.Lock].Reentrant && f.Hold.Active(f.Event.At) && f.Hold.count > 1
	if !v.Ops.call(o) {
		v.Malformed = fmt.Sprintf("event %d calls operation %d, which is under way already", f.Index, o.ID)
		return
	}
	f.Op = o
	switch owner := &v.Locks[f.Lock].Ledger.Owner; {
	case o.Kind == history.OpAcquire:
		owner.Resumed = owner.Resumed || owner.Client == f.Client && owner.Releasing
	case o.Kind == history.OpWork:
		v.worksUnder[f.Client] = f.Lock
	case o.Inner:
		v.hold(f.Client, f.Lock).count--
	case o.Kind == history.OpRelease:
		v.end(f, true)
	}
}

func (v *Cursor) back(f *Fact) {
	f.Op = v.Ops.settle(f.Client, f.Index, f.Event)
	if f.Op.Lock == 0 {
		return // its client has exited before
	}
	if f.Op.Lock != f.Lock {
		v.Malformed = fmt.Sprintf("event %d returns from operation %d, which was called on another lock", f.Index, f.Op.ID)
		f.Op = Operation{}
		return
	}
	l := &v.Locks[f.Lock].Ledger
	switch f.Op.Kind {
	case history.OpAcquire:
		l.settle(f.Op)
		if f.Op.Outcome == history.OK {
			v.acquired(f)
		}
	case history.OpRenew:
		if f.Op.Outcome == history.OK {
			v.renewed(f)
		}
	case history.OpRelease:
		if f.Op.Inner && f.Op.Outcome == history.No {
			v.end(f, false) // it was told that the lock is not its own
		}
		if l.Owner.Client == f.Client && f.Op.Outcome != history.Unknown {
			l.Owner.Releasing = false
		}
	}
}

// acquired begins a hold, or takes it once more.
func (v *Cursor) acquired(f *Fact) {
	if v.Dead[f.Client] {
		return
	}
	if f.Event.Valid == history.ValidityExpired {
		v.end(f, false)
		return
	}
	h := v.hold(f.Client, f.Lock)
	h.Again = true
	h.count++
	if !v.Locks[f.Lock].Reentrant {
		h.by = f.Op.ID
	}
	if !f.Hold.Active(f.Event.At) {
		*h = Hold{On: true, Since: f.Index, SinceAt: f.Event.At, Ends: Never, from: h.from, count: 1, by: f.Op.ID}
		f.Began = true
	}
	v.declare(h, f.Event, v.answeredFrom(f.Op))
	f.Began = f.Began && h.Active(f.Event.At)
}

// renewed prolongs a hold, or begins it anew if its validity had ended meanwhile.
func (v *Cursor) renewed(f *Fact) {
	if f.Client == 0 || f.Lock == 0 || !f.Hold.On {
		return
	}
	if f.Event.Valid == history.ValidityExpired {
		v.end(f, false)
		return
	}
	if owner := &v.Locks[f.Lock].Ledger.Owner; owner.Client == f.Client {
		owner.Sure = owner.Ends
	}
	h := v.hold(f.Client, f.Lock)
	h.Renewed, h.RenewedAt = f.Index, f.Event.At
	v.declare(h, f.Event, v.answeredFrom(f.Op))
	if !f.Hold.Active(f.Event.At) && h.Active(f.Event.At) {
		// While it was over, it may have been lost, and taken once by an acquire whose answer was lost.
		h.Since, h.SinceAt, h.count = f.Index, f.Event.At, 1
		f.Began = true
	}
}

// lost takes in a notice of loss. One that names a hold before the present one is about nothing that lasts.
func (v *Cursor) lost(f *Fact) {
	if f.Event.ID != 0 && f.Event.ID < f.Hold.by {
		f.Lock, f.Hold, f.Owner = 0, Hold{}, Claim{}
		return
	}
	v.end(f, false)
}

// end ends the client's hold on the lock.
func (v *Cursor) end(f *Fact, releasing bool) {
	if f.Client == 0 || f.Lock == 0 {
		return
	}
	v.hold(f.Client, f.Lock).On = false
	if owner := &v.Locks[f.Lock].Ledger.Owner; owner.Client == f.Client {
		owner.Over, owner.Releasing = true, releasing
	}
}

func (v *Cursor) exit(client int) {
	if client == 0 {
		return
	}
	v.Dead[client] = true
	v.Ops.exit(client)
	for lock := 1; lock < len(v.Locks); lock++ {
		v.hold(client, lock).On = false
		if owner := &v.Locks[lock].Ledger.Owner; owner.Client == client {
			owner.Dead = true
		}
	}
}
