package timeline

import (
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// touch brings the ledger up to a command that named a lock's key.
func (v *Cursor) touch(f *Fact, c *history.Command) {
	if v.Locks[f.Lock].quorum != nil {
		v.touchQuorum(f, c)
		return
	}
	l := &v.Locks[f.Lock].Ledger
	l.observe(c.Server, f.Change.Before)
	f.Hold = *v.hold(f.Client, f.Lock)
	f.Effect, f.Owner, f.Foreign = f.Change.Effect(c.Asked), l.Owner, l.Foreign
	if grants(c, f.Change) || f.refusesRenewal(c) {
		v.hold(f.Client, f.Lock).from = v.arrives(f.Client, f.Event.At)
	}
	f.Live = !l.Off && v.live(l.Owner, f.Lock, f.Event.At)
	f.Mine = v.claim(f, c)
	l.apply(*f.Change, f.Command(), f.Mine)
	switch f.Effect {
	case history.EffectCreated, history.EffectReplaced, history.EffectUnclear:
		v.Ops.took(f.Mine.Op, f.Client, f.Index)
	}
	if l.Off {
		l.Owner, l.Challengers, f.Owner = Claim{}, nil, Claim{}
	}
}

// claim is what a command founds for its client if it took the lock.
func (v *Cursor) claim(f *Fact, c *history.Command) Claim {
	let := c.Sent
	if let == 0 {
		let = f.Event.At
	}
	mine := Claim{Client: f.Client, Command: f.Index, At: f.Event.At, Dead: v.Dead[f.Client]}
	mine.Lease, mine.Ends = v.lease(f, let)
	acquire := f.Op
	if acquire.ID == 0 {
		acquire = v.Ops.late(f.Client, f.Lock, connOf(c))
	}
	if acquire.ID == 0 {
		acquire = v.Ops.Acquiring(f.Client, f.Lock)
	}
	switch {
	case acquire.Kind == history.OpAcquire && acquire.Lock == f.Lock:
		mine.Op = acquire.ID
		if acquire.Outcome != history.OutcomeNone {
			mine.Settle(acquire)
			mine.Over = mine.Standing == Granted && !f.Hold.On
		}
	case f.Hold.On:
		mine.Standing, mine.Settled, mine.SettledAt, mine.Sure = Granted, f.Hold.Since, f.Hold.SinceAt, mine.Ends
	default:
		mine.Standing = Dubious // neither acquiring nor holding: whatever this command is for
	}
	return mine
}

// lease is the length of the lease that a command left on the key, and when it ends at the earliest. Without an expiry on the
// key the lease exists in its value only, and counts from when the client can have made it: after the operation's command
// before. Where its length is not on record, it counts as over, so no anomaly follows from it.
func (v *Cursor) lease(f *Fact, let time.Duration) (length, ends time.Duration) {
	k := &v.Locks[f.Lock]
	if ttl := f.Change.After.TTL; ttl > 0 {
		return ttl, let + ttl
	}
	if k.Leaseless {
		return 0, Never
	}
	if f.Op.ID != 0 {
		let = max(f.Op.CalledAt, f.Op.lastCommand)
	}
	return k.Lease, let + k.Lease
}

// live says whether a claim must be respected at a time.
func (v *Cursor) live(c Claim, lock int, at time.Duration) bool {
	return c.Client != 0 && c.Facts(at, v.hold(c.Client, lock).On).Live()
}

// Facts are what the rules of ownership need to know of a claim at a time; holds says whether its client believes that it has the lock.
func (c Claim) Facts(at time.Duration, holds bool) ownership.Claim {
	return ownership.Claim{Standing: c.Standing, Leased: c.Leased(at), Over: c.Over, Dead: c.Dead, Holds: holds}
}

// Key is what the rules of ownership need to know of the lock's key.
func (l *Ledger) Key() ownership.Key {
	return ownership.Key{There: l.There, Stale: l.Stale, Foreign: l.Foreign, Quorum: l.Off}
}

// Command is what the rules of ownership need to know of the command of a fact.
func (f *Fact) Command() ownership.Command {
	counts, prolongs := false, false
	if f.Effect == history.EffectReplaced {
		counts, prolongs = f.Change.CountedBy(f.Sent.Args, f.Sent.Asked)
	}
	return ownership.Command{
		Effect: f.Effect, ByOwner: f.Client == f.Owner.Client, Live: f.Live, Foreign: f.Foreign, Acquire: f.Mine.Op != 0,
		Unlimited: f.Change.Before.Exists() && f.Change.Before.TTL == 0, Standing: f.Mine.Standing, Exists: f.Change.After.Exists(), SameValue: sameValue(*f.Change),
		Counts: counts, Prolongs: prolongs, Pending: f.Owner.Standing == Pending,
	}
}
