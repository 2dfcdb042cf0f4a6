package overlap

import (
	"cmp"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// Replies is the second judge's reading of when replies reach their clients: a reply is sent when its command is on record, and arrives
// later if a fault keeps it.
type Replies struct {
	kept []keptReplies
	last map[string]time.Duration // by client: when the latest reply to it was sent
	held map[string]bool          // clients of which a message is held
}

// keptReplies are the replies that a fault in effect keeps from a client, or from all of a process.
type keptReplies struct {
	fault      faults.Kind
	whose      string
	first      time.Duration // those sent from then on
	late, Over time.Duration // how late each is, if that is known; when the fault was over
}

func (k keptReplies) of(client string) bool {
	return cmp.Or(client == k.whose, k.fault != faults.HoldReply && history.ProcessOf(client) == k.whose)
}

// Sent takes in that a reply was sent, and says when it arrives if nothing else happens.
func (r *Replies) Sent(client string, when time.Duration) time.Duration {
	if r.last == nil {
		r.last = map[string]time.Duration{}
	}
	r.last[client] = when
	return r.Expected(client, when)
}

func (r *Replies) Expected(client string, when time.Duration) time.Duration {
	for _, k := range r.kept {
		if k.late != 0 && k.of(client) {
			when += k.late
		}
	}
	return when
}

// Fault takes in a fault. ok: one is over that kept replies.
func (r *Replies) Fault(e *history.Event) (over keptReplies, ok bool) {
	f := e.Fault()
	if f == nil {
		return over, false
	}
	kind := faults.Kind(f.Name).Of().Kind
	if kind.Holds() && f.Phase != history.PhaseInject {
		if r.held == nil {
			r.held = map[string]bool{}
		}
		r.held[f.Target] = f.Phase == history.PhaseEffective
	}
	n := slices.IndexFunc(r.kept, func(k keptReplies) bool { return k.fault == kind && k.whose == f.Target })
	switch {
	case !kind.WithholdsReplies():
	case f.Phase == history.PhaseEffective && n < 0:
		k := keptReplies{fault: kind, whose: f.Target, first: e.At, late: faults.DelayOf(f.What)}
		if kind == faults.HoldReply { // it keeps the one that was sent last
			k.first = r.last[f.Target]
		}
		r.kept = append(r.kept, k)
	case (f.Phase == history.PhaseEnding || f.Phase == history.PhaseRecover) && n >= 0:
		over = r.kept[n]
		over.Over = e.At
		r.kept = slices.Delete(r.kept, n, n+1)
		return over, true
	}
	return over, false
}

// GoesOn says whether an operation of a client goes on only when a fault is over, whatever replies it has had: one that is held at a message, which need
// not be on record.
func (r *Replies) GoesOn(over keptReplies, client string) bool {
	return over.of(client) && (over.fault == faults.HoldReply || over.fault == faults.Pause && r.held[client])
}

// Arrived is when a reply arrived, of which that was expected earlier.
func (r *Replies) Arrived(k keptReplies, client string, expected time.Duration) time.Duration {
	switch {
	case !k.of(client) || expected == 0:
		return expected
	case k.late != 0:
		return min(expected, k.Over)
	case expected < k.first:
		return expected
	}
	return r.Expected(client, k.Over)
}

// fault takes in that a fault is over that kept replies: its clients have them now, at the earliest.
func (r *Reader) fault(e *history.Event) {
	over, ok := r.replies.Fault(e)
	if !ok {
		return
	}
	for _, lock := range r.order {
		for client, h := range lock.Holders {
			if !over.of(client) || r.session[lock.Name] {
				continue
			}
			h.from = r.replies.Arrived(over, client, h.from)
			for n := range h.asked {
				a := &h.asked[n]
				now := r.replies.Arrived(over, client, a.reply)
				if r.replies.GoesOn(over, client) {
					now = r.replies.Expected(client, over.Over)
				}
				if now != a.reply {
					a.reply, a.freed = now, now
				}
			}
		}
	}
}

// replied notes that a client got a reply in an operation under way.
func (r *Reader) replied(e *history.Event, arrives time.Duration) {
	for _, lock := range r.order {
		if h := lock.Holders[e.Client]; h != nil {
			if n := h.pending(e.ID); n >= 0 {
				h.asked[n].reply = arrives
			}
		}
	}
}

// made is when the answer to an operation can have been made at the earliest. Of a lock on several servers the replies say little: those of the others
// may come later, when the client has its answer already. It goes on with what was kept from it all the same.
func (r *Reader) made(lock string, a asked) time.Duration {
	if r.spread[lock] {
		return max(r.Events[a.call].At, a.freed)
	}
	return max(r.Events[a.call].At, a.reply)
}
