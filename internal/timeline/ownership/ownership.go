// Package ownership is the rules of locks on one server: who owns a lock after a command has changed its key, which claim must be
// respected, and what a client must not do to another client's lock.
//
// The rules are functions of plain facts and of no evidence. The timeline derives the facts from a history, the explorer from a state, so
// checker and explorer judge by the same definitions. It must not know histories, states, clocks or names of anomalies. To change what an
// anomaly means, change the rule here.
package ownership

import (
	"time"

	"github.com/locklab/locklab/history"
)

// LeaseMargin is how much of a lease must be left before it counts as running: clocks are read at different places.
func LeaseMargin(lease time.Duration) time.Duration { return max(5*time.Millisecond, lease/50) }

// Standing is what is known about the acquire on which a claim rests.
type Standing uint8

// The standings.
const (
	Pending Standing = iota // it has not returned
	Granted                 // it returned ok
	Refused                 // it returned no, or its client gave it up
	Dubious                 // it ended unknown, or there is none
)

// Claim is what the rules need to know of the owner's claim.
type Claim struct {
	Standing Standing
	Leased   bool // its lease certainly has time left
	Over     bool // its client has called release, or was told that the lock was lost
	Dead     bool // its client has exited
	Holds    bool // its client believes that it holds the lock
}

// Live says whether a claim must be respected: its lease has time left, and its client was told that it has the lock, or is about to be, and
// has not given it up. The lease protects what the client is doing, also when its declared validity is over and also when it has crashed:
// what it sent may still be on its way.
func (c Claim) Live() bool {
	if !c.Leased || c.Over {
		return false
	}
	return c.Standing == Granted && (c.Dead || c.Holds) || c.Standing == Pending && !c.Dead
}

// Ghost says whether the lock is held for a client that was told, or concluded, that it did not get it. What a crashed client leaves behind
// is no ghost, nor what its client has by another acquire that still counts.
func (c Claim) Ghost() bool {
	return c.Standing == Refused && c.Leased && !c.Over && !c.Dead && !c.Holds
}

// Key is what is known of the lock's key.
type Key struct {
	There   bool // it existed when it was last seen
	Stale   bool // it may have changed since, unseen
	Foreign bool // what is there is not the owner's: something unseen has put another value in its place
	Quorum  bool // the lock lives on several servers: nothing is concluded from one of them
}

// Rightful says whether the lock is certainly the claim's. That its client has called release does not matter.
func (c Claim) Rightful(k Key) bool {
	return c.Standing == Granted && c.Leased && !c.Dead && k.There && !k.Stale && !k.Foreign && !k.Quorum
}

// Command is what the rules need to know of a command that names the lock's key.
type Command struct {
	Effect  history.Effect
	ByOwner bool // its client is the owner's
	Live    bool // the owner's claim must be respected
	Foreign bool // see Key
	// Unlimited: the key had no expiry. The service's own lease begins with the first that it gets, after the nominal one.
	Unlimited bool
	// Acquire: it is part of an acquire, whether that has returned or not. Standing is that of its client's claim if it took the lock.
	Acquire  bool
	Standing Standing
	// Of an unclear effect only: the key exists after it, and with the value from before.
	Exists, SameValue bool
	// Of a value that was replaced only: the command counted, see history.Change.CountedBy, and there is more time left than before.
	Counts, Prolongs bool
	// Pending: the acquire on which the owner's claim rests has not returned.
	Pending bool
}

// OnlyCounts says whether the command is one of an acquire that counts, such as an INCR that is answered 2: the lock is refused by it, or granted once it is
// answered ok. Until then nobody's lock is lost by it.
func (c Command) OnlyCounts() bool {
	return c.Effect == history.EffectReplaced && c.Counts && c.Acquire && !c.ByOwner && !c.Foreign
}

// Change is what becomes of the ownership of a lock.
type Change uint8

// The changes.
const (
	Keep      Change = iota
	Take             // the claim of the command's client is the owner's
	Free             // the lock has no owner
	Extend           // the owner's lease ends when the command says
	Regain           // so it does, and what others have put in the place of the owner's value is gone: they will not own the lock
	Shorten          // it ends when the command says, if that is sooner
	Challenge        // the owner stays the owner until the command's client is told that it has the lock
)

// Change is what the command makes of the ownership.
func (c Command) Change() Change {
	own := c.ByOwner && !c.Foreign
	switch c.Effect {
	case history.EffectCreated:
		return Take
	case history.EffectRemoved:
		if !c.Foreign {
			return Free
		}
	case history.EffectReplaced:
		return c.replaced(own)
	case history.EffectProlonged:
		if own {
			return Extend
		}
	case history.EffectShortened:
		switch {
		case own && c.Unlimited:
			return Extend
		case !c.Foreign:
			return Shorten
		}
	case history.EffectUnclear:
		return c.unclear(own)
	}
	return Keep
}

// replaced: the command put another value in the place of the lock's.
func (c Command) replaced(own bool) Change {
	switch {
	case own && (c.Live || !c.Acquire):
		return Regain
	case c.OnlyCounts() && c.Standing == Pending:
		return Challenge
	case c.OnlyCounts():
		return Keep
	case c.Live && !c.Foreign:
		return Challenge
	case c.Foreign && c.Standing != Pending && c.Standing != Granted: // it still has no owner
		return Keep
	}
	return Take
}

// unclear: the change may be the key's own expiry. Still, the client that wrote what is there now has the lock.
func (c Command) unclear(own bool) Change {
	switch {
	case !c.Exists:
		return Free
	case own && c.SameValue:
		return Extend
	case !c.SameValue, c.Acquire:
		return Take
	}
	return Keep
}

// EarlyGrant says whether the service let another client have the lock while the owner's claim had to be respected. It counts if the
// acquire returns ok in the end. (If a command had removed the lock before, that was a wrongful delete.) Of two acquires that count what neither has
// yet, the one that is answered ok first has not got another's.
func (c Command) EarlyGrant() bool {
	return !(c.Pending && c.OnlyCounts()) && c.Live && !c.ByOwner && c.Standing == Pending && (c.Effect == history.EffectCreated || c.Effect == history.EffectReplaced)
}

// Interference is what the command did to the live lock of another client: it replaced its value, removed it or prolonged it. While that client's acquire is
// pending, it counts if the acquire returns ok in the end.
func (c Command) Interference() history.Effect {
	if !c.Live || c.ByOwner || c.Foreign {
		return history.EffectNone
	}
	switch {
	case c.OnlyCounts() && c.Prolongs:
		return history.EffectProlonged
	case c.OnlyCounts():
		return history.EffectNone
	}
	switch c.Effect {
	case history.EffectReplaced, history.EffectRemoved, history.EffectProlonged:
		return c.Effect
	}
	return history.EffectNone
}

// Release is what the rules need to know of a release that has returned.
type Release struct {
	Outcome  history.Outcome
	Inner    bool // it is not the last: the lock was acquired more than once
	Changed  bool // a command of it replaced the value: a lock that counts
	Removed  bool // its commands removed the client's own lock; of one on several servers, see Freed
	Rightful bool // the lock is the client's after it as certainly as before
}

// Unreleasable says whether the release leaves its own lock in place. That a command has seen the lock there is for the caller to show.
func (r Release) Unreleasable() bool {
	definite := r.Outcome == history.OK || r.Outcome == history.No
	return definite && !r.Inner && !r.Changed && r.Rightful
}

// FalseAlarm says whether the release was answered no, though the lock was its client's.
func (r Release) FalseAlarm() bool {
	return r.Outcome == history.No && (r.Removed || r.Rightful && !r.Changed)
}

// LatestGrant is the latest grant of a lock.
type LatestGrant struct {
	Client   int // 0: there was none
	Released bool
}

// Write is a write that the resource accepted.
type Write struct {
	Client int
	MayOwn bool // its client may own the lock by now, without having been told
	Same   bool // it wrote what was there
	Passed bool // another client has been granted the lock since the work was called that the write is part of
}

// Stale says whether a write is of a client that no longer holds the lock. A copy of what the client wrote while it held the lock is not, if no other
// client has had one since: nothing has happened.
func (t LatestGrant) Stale(w Write) bool {
	if t.Client == 0 || t.Client == w.Client {
		return t.Client != 0 && t.Released && !(w.Same && !w.Passed)
	}
	return !w.MayOwn
}
