package timeline

import (
	"time"

	"github.com/locklab/locklab/history"
)

// A client declares how long its hold is good from now on, and the lab hears of it later. What is certain is that the client
// declared after it had a certain reply, so the hold lasts at least from that reply for the time declared. Which reply:
//
//   - An answer is made after the last reply that its operation got, whatever that reply said; without one, after the call.
//   - A declaration from the background is made after the reply of the last command by which the client got or prolonged the lease, or
//     tried to: a client that takes a refusal for a renewal believes that it holds the lock from that refusal on.
//
// A lock on several servers sends its commands side by side, so there only commands that may have granted count.

// validUntil is when a hold ends at the earliest, of which so much validity was declared no earlier than at from. Servers count
// leases in whole milliseconds, and clients may round.
func validUntil(from, valid time.Duration) time.Duration { return from + valid - history.ExpiryMargin }

// heard says whether the command's client acts on the reply.
func heard(c *history.Command) bool { return !c.Late && !c.ReplyDropped }

// grants says whether a command may have begun or prolonged the lease on a key, and its client acts on the reply. change is what
// it did to the key; nil without state probes.
func grants(c *history.Command, change *history.Change) bool {
	if !heard(c) {
		return false
	}
	if change == nil {
		return true
	}
	switch change.Effect(c.Asked) {
	case history.EffectCreated, history.EffectReplaced, history.EffectProlonged, history.EffectUnclear:
		return true
	}
	return false
}

// refusesRenewal says whether a command that changed nothing may have been its client's try to prolong the lease from the background,
// and the client acts on the reply.
func (f *Fact) refusesRenewal(c *history.Command) bool {
	if !heard(c) || !f.Hold.On || f.Effect != history.EffectNone {
		return false
	}
	return f.Op.Kind != history.OpAcquire && f.Op.Kind != history.OpCheck && f.Op.Kind != history.OpRelease
}

// answeredFrom is when the answer to a settled operation can have been made at the earliest.
func (v *Cursor) answeredFrom(o Operation) time.Duration {
	if v.Locks[o.Lock].quorum != nil {
		return o.CalledAt
	}
	return max(o.CalledAt, o.heard)
}
