package checker

import (
	"math"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
)

// never is the end of a lease that does not end.
const never = time.Duration(math.MaxInt64)

// leaseMargin is how much of a lease must be left before it counts as running: clocks are read at different places.
func leaseMargin(lease time.Duration) time.Duration { return max(5*time.Millisecond, lease/50) }

// standing is what is known about the acquire on which a claim rests.
type standing uint8

const (
	pending standing = iota // it has not returned
	granted                 // it returned ok
	refused                 // it returned no, or its client gave it up
	dubious                 // it ended unknown, or there is none
)

// claim is a client's claim on a lock by a command of its that the service carried out. The zero claim is nobody's.
type claim struct {
	client  int
	op      int64 // the acquire that it rests on; zero if not known
	command int   // index of the command
	at      time.Duration
	lease   time.Duration
	ends    time.Duration // when the lease ends, as early as can be
	// sure is the end of the lease as far as the client has certainly been told.
	sure     time.Duration
	standing standing
	settled  int // index of the event from which the standing is known
	// settledAt is when that was.
	settledAt time.Duration
	over      bool // its client has called release, or was told that the lock was lost
	releasing bool // that release has not definitely returned
	dead      bool // its client has exited
}

// leased says whether the lease certainly has time left.
func (c claim) leased(at time.Duration) bool {
	return c.client != 0 && (c.ends == never || at+leaseMargin(c.lease) < c.ends)
}

// since is when the client had the lock as far as it knew, or got it.
func (c claim) since() time.Duration {
	if c.standing == granted {
		return c.settledAt
	}
	return c.at
}

// ledger is the service's side of one lock: whose it is by the commands that it carried out.
type ledger struct {
	server string // the only server that has the key
	off    bool   // the key lives on several servers: nothing is concluded from one of them
	there  bool   // the key existed when it was last seen
	value  string // what it held then
	stale  bool   // it may have changed since, unseen
	// foreign: what is there is none of the owner's. Something that we did not see has put another value in its place, such as a
	// fail-over to a replica that still had an older lock.
	foreign bool
	owner   claim
	// challengers replaced the value of a live owner. The owner stays the owner until one of them is told that it has the lock.
	challengers []claim
}

// settle records the outcome of an acquire.
func (l *ledger) settle(o op) {
	if l.owner.op == o.id && l.owner.client == o.client {
		l.owner.settle(o)
	}
	n := slices.IndexFunc(l.challengers, func(c claim) bool { return c.op == o.id })
	if n < 0 {
		return
	}
	c := l.challengers[n]
	l.challengers = slices.Delete(l.challengers, n, n+1)
	if o.outcome == history.OK {
		c.settle(o)
		l.owner = c
	}
}

func (c *claim) settle(o op) {
	c.settled, c.settledAt = o.returned, o.returnedAt
	switch {
	case o.outcome == history.OK:
		c.standing, c.sure = granted, c.ends
	case o.refused():
		c.standing = refused
	default:
		c.standing = dubious
	}
}

// observe brings the ledger up to what a command found before it did anything.
func (l *ledger) observe(server string, before history.State) {
	if l.server == "" {
		l.server = server
	}
	if l.server != server {
		l.off = true
	}
	switch {
	case !before.Exists():
		l.foreign = false
	case !l.there:
		l.take(claim{}) // left over, or made by somebody whom we did not see
	case l.stale && before.Value != l.value:
		l.foreign = true
	}
	l.there, l.stale = before.Exists(), false
}

// apply records what a command did to the key. mine is the claim that the command would found; live says whether the owner's
// claim must be respected.
func (l *ledger) apply(c history.Change, effect history.Effect, mine claim, live bool) {
	own := mine.client == l.owner.client && !l.foreign
	switch effect {
	case history.EffectCreated:
		l.take(mine)
	case history.EffectRemoved:
		if !l.foreign {
			l.take(claim{})
		}
	case history.EffectReplaced:
		switch {
		case own && (live || mine.op == 0):
			l.owner.ends = mine.ends
		case live && !l.foreign:
			l.challengers = append(l.challengers, mine)
		case l.foreign && mine.standing != pending && mine.standing != granted: // it is still nobody's
		default:
			l.take(mine)
		}
	case history.EffectProlonged:
		if own {
			l.owner.ends = mine.ends
		}
	case history.EffectShortened:
		if !l.foreign {
			l.owner.ends = min(l.owner.ends, mine.ends)
		}
	case history.EffectUnclear:
		// Nobody's deed, but whoever wrote what is there now has the lock.
		switch {
		case !c.After.Exists():
			l.take(claim{})
		case c.Before.Value != c.After.Value || c.Before.Type != c.After.Type:
			l.take(mine)
		case own:
			l.owner.ends = mine.ends
		case mine.op != 0:
			l.take(mine)
		}
	}
	l.there, l.value = c.After.Exists(), c.After.Value
	l.foreign = l.foreign && l.there
}

// take makes what is there the lock of a claim.
func (l *ledger) take(c claim) { l.owner, l.challengers, l.foreign = c, nil, false }
