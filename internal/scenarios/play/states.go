package play

import (
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// clockGrain bounds the rounding of times of other clocks: servers and time stamps count in milliseconds.
const clockGrain = 2 * time.Millisecond

// States are the states of a lock's key on its servers.
type States []history.State

// Locked counts the servers that have the key.
func (all States) Locked() int {
	n := 0
	for _, state := range all {
		if state.Exists() {
			n++
		}
	}
	return n
}

// Free says whether a majority of the servers is free or, of a lock that is on one of them, all.
func (t Traits) Free(all States) bool {
	locked := all.Locked()
	if t.Library.Sharded {
		return locked == 0
	}
	return len(all)-locked > len(all)/2
}

// LeaseLeft is the longest time until the keys expire. byReader is the rest of the lease for a key without a TTL, whose expiry readers
// judge by their clocks.
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

// AfterLease is the state of a key without a TTL after a lease has passed by a reader's clock.
func (t Traits) AfterLease() scenarios.Result {
	if t.Leaseless {
		return scenarios.ResultLive
	}
	return scenarios.ResultExpired
}
