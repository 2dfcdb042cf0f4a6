package timeline

import (
	"math"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// Never is the end of a lease, or of a hold, that does not end.
const Never = time.Duration(math.MaxInt64)

// The standings of a claim.
const (
	Pending = ownership.Pending
	Granted = ownership.Granted
	Refused = ownership.Refused
	Dubious = ownership.Dubious
)

// Claim is a client's claim on a lock, by one of its commands that the service carried out. The zero Claim is that of no client.
type Claim struct {
	Client  int
	Op      int64 // the acquire that it rests on; zero if not known
	Command int   // index of the command
	At      time.Duration
	Lease   time.Duration
	Ends    time.Duration // when the lease ends, as early as can be
	// Sure is the end of the lease as far as the client has certainly been told.
	Sure     time.Duration
	Standing ownership.Standing
	Settled  int // index of the event from which the standing is known
	// SettledAt is when that was.
	SettledAt time.Duration
	Over      bool // its client has called release, or was told that the lock was lost
	Releasing bool // that release has not definitely returned
	Resumed   bool // since that release its client has called another acquire, and so may go by another token
	Dead      bool // its client has exited
}

// Leased says whether the lease certainly has time left.
func (c Claim) Leased(at time.Duration) bool {
	return c.Ends == Never || at+ownership.LeaseMargin(c.Lease) < c.Ends
}

// Since is when the client had the lock as far as it knew, or got it.
func (c Claim) Since() time.Duration {
	if c.Standing == Granted {
		return c.SettledAt
	}
	return c.At
}

// Ledger is the service's side of one lock: whose it is by the commands that it carried out.
type Ledger struct {
	server string // the only server that has the key
	Off    bool   // the key lives on several servers: nothing is concluded from one of them
	There  bool   // the key existed when it was last seen
	Value  string // what it held then
	Stale  bool   // it may have changed since, unseen
	// Foreign: what is there is none of the owner's. Something that we did not see has put another value in its place, such as a
	// fail-over to a replica that still had an older lock.
	Foreign bool
	Owner   Claim
	// Challengers replaced the value of a live owner. The owner stays the owner until one of them is told that it has the lock, and
	// altogether once it has replaced theirs. Those whose value had been replaced by then no longer are.
	Challengers []Claim
}

// settle records the outcome of an acquire.
func (l *Ledger) settle(o Operation) {
	if l.Owner.Op == o.ID && l.Owner.Client == o.Client {
		l.Owner.Settle(o)
	}
	n := len(l.Challengers) - 1
	for n >= 0 && l.Challengers[n].Op != o.ID { // the latest counts: what it wrote before has been replaced
		n--
	}
	if n < 0 {
		return
	}
	c := l.Challengers[n]
	l.Challengers = slices.DeleteFunc(l.Challengers, func(other Claim) bool { return other.Op == o.ID })
	if o.Outcome == history.OK {
		c.Settle(o)
		l.Owner = c
		l.Challengers = slices.DeleteFunc(l.Challengers, func(other Claim) bool { return other.Command < c.Command })
	}
}

// Settle takes in the outcome of the acquire on which the claim rests.
func (c *Claim) Settle(o Operation) {
	c.Settled, c.SettledAt = o.Returned, o.ReturnedAt
	switch {
	case o.Outcome == history.OK:
		c.Standing, c.Sure = Granted, c.Ends
	case o.Refused():
		c.Standing = Refused
	default:
		c.Standing = Dubious
	}
}

// observe brings the ledger up to what a command found before it did anything.
func (l *Ledger) observe(server string, before history.State) {
	if l.server == "" {
		l.server = server
	}
	if l.server != server {
		l.Off = true
	}
	switch {
	case !before.Exists():
		l.Foreign = false
	case !l.There:
		l.take(Claim{}) // left over, or made by somebody whom we did not see
	case l.Stale && before.Value != l.Value:
		l.Foreign = true
	}
	l.There, l.Stale = before.Exists(), false
}

// apply records what a command did to the key. mine is the claim that the command would found.
func (l *Ledger) apply(c history.Change, cmd ownership.Command, mine Claim) {
	switch cmd.Change() {
	case ownership.Take:
		l.take(mine)
	case ownership.Free:
		l.take(Claim{})
	case ownership.Extend:
		l.Owner.Ends = mine.Ends
	case ownership.Regain:
		l.Owner.Ends, l.Challengers = mine.Ends, nil
	case ownership.Shorten:
		l.Owner.Ends = min(l.Owner.Ends, mine.Ends)
	case ownership.Challenge:
		l.Challengers = append(l.Challengers, mine)
	}
	l.There, l.Value = c.After.Exists(), c.After.Value
	l.Foreign = l.Foreign && l.There
}

func sameValue(c history.Change) bool {
	return c.Before.Value == c.After.Value && c.Before.Type == c.After.Type
}

// take makes what is there the lock of a claim.
func (l *Ledger) take(c Claim) { l.Owner, l.Challengers, l.Foreign = c, nil, false }
