package play

import (
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// clockGrain is how much later than computed a time by another clock may come: servers and time stamps count in milliseconds.
const clockGrain = 2 * time.Millisecond

// States are what a lock's servers have under its key.
type States []history.State

// Locked counts the servers on which the key is.
func (all States) Locked() int {
	n := 0
	for _, state := range all {
		if state.Exists() {
			n++
		}
	}
	return n
}

// Free says whether a majority of the servers is free.
func (all States) Free() bool { return len(all)-all.Locked() > len(all)/2 }

// LeaseLeft is how long the keys will last yet. One without a time to live lasts until its lease is over by the clock of a reader,
// which has so much left.
func (all States) LeaseLeft(byReader time.Duration) (longest time.Duration) {
	for _, state := range all {
		switch {
		case !state.Exists():
		case state.TTL == 0:
			longest = max(longest, byReader+clockGrain)
		default:
			longest = max(longest, state.TTL+time.Millisecond)
		}
	}
	return longest
}

// AfterLease judges a key that the server will never expire after a lease has passed by the clock of a reader.
func (t Traits) AfterLease() scenarios.Result {
	if t.Leaseless {
		return scenarios.ResultLive
	}
	return scenarios.ResultExpired
}
