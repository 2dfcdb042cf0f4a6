package reproduce

import (
	"slices"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// Reading is how a history is read.
type Reading struct {
	// Handles: what the other handles of the anomaly's processes did meanwhile is a part of it, also where it came to nothing. So it is
	// for a lock whose handles in one process share more than they should.
	Handles bool
	// Alone: only operations of the anomaly's own clients are a part of it, and of their acquires only what gave them the lock. So it is for
	// a lock on several servers, where other clients take a server and give it back all the time.
	Alone bool
	// Overdue: what arrives over the old connection of a client that has given an operation up belongs to that operation, not to the next.
	Overdue bool
	Renewal Renewal
}

// Renewal is what becomes of the renewal of a lease that ends though its owner lives.
type Renewal uint8

// What may become of a renewal.
const (
	RenewalPaused Renewal = iota // its process is paused
	RenewalFails                 // the reply to one is lost, and the connection with it
	RenewalStays                 // nothing: the lock itself does not renew it
)

// Readings are all ways to read a history. What handles of one process share makes stories longer, so it comes last.
func Readings(lock impls.Spec, events []history.Event) []Reading {
	renewals := []Renewal{RenewalPaused}
	if lock.Renews {
		renewals = append(renewals, RenewalFails, RenewalStays)
	}
	parts := []Reading{{}}
	if lock.Servers > 1 {
		parts = append(parts, Reading{Alone: true})
	}
	if slices.ContainsFunc(events, func(e history.Event) bool { return e.Client != history.ProcessOf(e.Client) }) {
		parts = append(parts, Reading{Handles: true})
	}
	if _, found := overdue(events); found {
		for _, how := range slices.Clone(parts) {
			how.Overdue = true
			parts = append(parts, how)
		}
	}
	var all []Reading
	for _, how := range parts {
		for _, how.Renewal = range renewals {
			all = append(all, how)
		}
	}
	return all
}
