package timeline

import (
	"cmp"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// A client declares how long its hold is good from now on, and the lab hears of it later. What is certain is that the client
// declared after it had got a certain reply, so the hold lasts at least from the arrival of that reply (see withholding) for the time
// declared. Which reply:
//
//   - An answer is made after the last reply that its operation got, whatever that reply said; without one, after the call.
//   - A declaration from the background is made after the reply of the last command by which the client got or prolonged the lease, or
//     tried to: a client that takes a refusal for a renewal believes that it holds the lock from that refusal on.
//
// Where no command is on record, a declaration from the background is made after the one before it.
//
// A lock on several servers sends its commands side by side, so there only commands that may have granted count.
//
// The client measures what it declares by its own clock. If that runs at another rate, the hold ends when the client's clock says so:
// at half the rate it lasts twice as long.

// validUntil is when a hold ends at the earliest, of which so much validity was declared no earlier than at from, by a clock that runs at
// that rate. Servers count leases in whole milliseconds, and clients may round.
func validUntil(from, valid time.Duration, rate float64) time.Duration {
	return from + byClock(valid, rate) - history.ExpiryMargin
}

// byClock is how long d takes by a clock that runs at a rate.
func byClock(d time.Duration, rate float64) time.Duration {
	if rate == 1 {
		return d // to the nanosecond
	}
	return time.Duration(min(float64(d)/rate, float64(Never/2)))
}

// noteRate takes in that a client's clock runs at another rate from now on, and that the holds which it measures end sooner or later.
// Between the order and its effect the faster of the two rates counts, so that no hold is taken to last too long.
func (v *Cursor) noteRate(e *history.Event) {
	f := e.Fault()
	if f == nil || faults.Kind(f.Name).Of().Kind != faults.Skew || f.Phase == history.PhaseRecover {
		return
	}
	was, is := v.rate(f.Target), faults.ClockRate(f.What)
	if is == was || is < was && f.Phase == history.PhaseInject {
		return
	}
	if v.rates == nil {
		v.rates = make(map[string]float64)
	}
	v.rates[f.Target] = is
	for lock := range v.Locks {
		for client := range v.Locks[lock].Holds {
			h := &v.Locks[lock].Holds[client]
			if client != 0 && h.Ends != Never && h.Active(e.At) && history.ProcessOf(v.Clients.Name(client)) == f.Target {
				h.Ends = e.At + byClock(time.Duration(float64(h.Ends-e.At)*was), is)
			}
		}
	}
}

// rate is that of a process's clock.
func (v *Cursor) rate(process string) float64 { return cmp.Or(v.rates[process], 1) }

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
		return max(o.CalledAt, o.letGo)
	}
	return max(o.CalledAt, o.heard)
}
