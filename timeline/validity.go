package timeline

import (
	"time"

	"github.com/locklab/locklab/history"
)

// A client declares how long its hold is good from now on, and the lab hears of it later. What is certain is that the client
// declared after it had the reply of the command by which it got or prolonged the lease. So the hold lasts at least from that
// reply for the time declared; where no such command was seen, from the call of the operation that was answered.

// validUntil is when a hold ends at the earliest, of which so much validity was declared no earlier than at from. Servers count
// leases in whole milliseconds, and clients may round.
func validUntil(from, valid time.Duration) time.Duration { return from + valid - history.ExpiryMargin }

// grants says whether a command may have begun or prolonged the lease on a key, and its client acts on the reply. change is what
// it did to the key; nil without state probes.
func grants(c *history.Command, change *history.Change) bool {
	if c.Late || c.ReplyDropped {
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
