package timeline

import (
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/timeline/ownership"
)

// quorum is the ledger of a lock that lives on several servers. The lock is a client's if one acquire of its has it on a majority
// of them: what is left on fewer has no owner. The monitors see a command on one server as what it did to the majority.
//
// A wrongful-renew is not judged here: no single command prolongs a majority.
type quorum struct {
	need  int    // a majority
	parts []part // of the servers seen so far, at most as many as there are
	all   int
	// change is what the command in hand did to the lock as a whole.
	change history.Change
}

// part is what one server has of the lock.
type part struct {
	server string
	there  bool          // the key existed when it was last seen
	value  string        // what it held then
	seen   time.Duration // when that was
	stale  bool          // it may have changed since, unseen
	// client and op are its owner, and the acquire by which it is; zero if they are not known.
	client int
	op     int64
	lease  time.Duration
	ends   time.Duration // when its lease ends, as early as can be
}

func newQuorum(servers int) *quorum { return &quorum{need: servers/2 + 1, all: servers} }

// doubt takes in that what a server has may have changed without a command.
func (q *quorum) doubt(server string) {
	if q == nil {
		return
	}
	for n := range q.parts {
		q.parts[n].stale = q.parts[n].stale || q.parts[n].server == server
	}
}

// part is the server's part; the one that a command names is always known from then on.
func (q *quorum) part(server string) *part {
	n := slices.IndexFunc(q.parts, func(p part) bool { return p.server == server })
	if n < 0 {
		n = len(q.parts)
		q.parts = append(q.parts, part{server: server})
	}
	return &q.parts[n]
}

// mine says whether the part is certainly the client's by that acquire, with lease left.
func (p part) mine(client int, op int64, at time.Duration) bool {
	return p.there && !p.stale && client != 0 && p.client == client && p.op == op &&
		(p.ends == Never || at+ownership.LeaseMargin(p.lease) < p.ends)
}

// majority says whether a majority of the parts is the client's by that acquire.
func (q *quorum) majority(client int, op int64, at time.Duration) bool {
	n := 0
	for _, p := range q.parts {
		if p.mine(client, op, at) {
			n++
		}
	}
	return n >= q.need
}

// ends is when the client has a majority no longer, if nothing happens.
func (q *quorum) ends(client int, op int64) time.Duration {
	var ends []time.Duration
	for _, p := range q.parts {
		if p.there && p.client == client && p.op == op {
			ends = append(ends, p.ends)
		}
	}
	slices.Sort(ends)
	if len(ends) < q.need {
		return 0
	}
	return ends[len(ends)-q.need]
}

// blocked says since when at the latest so many servers have been seen to be taken by others that the client cannot have a
// majority; zero if they are not.
func (q *quorum) blocked(client int) time.Duration {
	var seen []time.Duration
	for _, p := range q.parts {
		if p.there && !p.stale && p.client != client {
			seen = append(seen, p.seen)
		}
	}
	slices.Sort(seen)
	enough := q.all - q.need + 1
	if len(seen) < enough {
		return 0
	}
	return seen[len(seen)-enough]
}

// observe brings the part up to what a command found before it did anything.
func (p *part) observe(before history.State) {
	if before.Exists() != p.there || p.stale && before.Value != p.value {
		p.client, p.op = 0, 0 // gone by itself, or made by somebody whom we did not see, or an older lock that has come back
	}
	p.there, p.stale = before.Exists(), false
}

// apply records what a command did to the part. mine is the claim that it founds; again: its client has the lock already, and takes
// it once more.
func (p *part) apply(c history.Change, effect history.Effect, mine Claim, again bool, at time.Duration) {
	rule := ownership.Part{
		Effect: effect, Own: p.client == mine.Client && p.there, Again: again, Acquire: mine.Op != 0, SameValue: sameValue(c),
	}
	switch rule.Change() {
	case ownership.Take:
		p.take(mine)
	case ownership.Extend:
		p.ends = mine.Ends
	case ownership.Shorten:
		p.ends = min(p.ends, mine.Ends)
	}
	p.there, p.value, p.seen = c.After.Exists(), c.After.Value, at
}

func (p *part) take(c Claim) { p.client, p.op, p.lease, p.ends = c.Client, c.Op, c.Lease, c.Ends }

// touchQuorum is touch for a lock that lives on several servers.
func (v *Cursor) touchQuorum(f *Fact, c *history.Command) {
	k := &v.Locks[f.Lock]
	q, l, at := k.quorum, &k.Ledger, f.Event.At
	f.Hold = *v.hold(f.Client, f.Lock)
	if grants(c, f.Change) {
		v.hold(f.Client, f.Lock).from = at
	}
	mine := v.claim(f, c)
	p := q.part(c.Server)
	p.observe(f.Change.Before)
	f.Owner, f.Live = l.Owner, v.live(l.Owner, f.Lock, at)
	f.Elsewhere = p.client != f.Owner.Client || p.op != f.Owner.Op

	own := f.Client == f.Owner.Client
	had, got := q.majority(f.Owner.Client, f.Owner.Op, at), q.majority(f.Client, mine.Op, at)
	effect := f.Change.Effect(c.Asked)
	p.apply(*f.Change, effect, mine, own && f.Live, at)
	gets := q.majority(f.Client, mine.Op, at)
	swing := ownership.Swing{
		Effect: effect, Own: own, Had: had, Has: q.majority(f.Owner.Client, f.Owner.Op, at), Wins: gets && !got && mine.Op != 0,
	}

	q.change = history.Change{Key: f.Change.Key}
	f.Change, f.Mine, f.Effect = &q.change, mine, swing.Whole()
	switch {
	case swing.Wins:
		f.Mine.Ends = q.ends(f.Client, mine.Op)
		v.Ops.took(mine.Op, f.Client, f.Index)
	case swing.Extends():
		l.Owner.Ends = q.ends(f.Client, f.Owner.Op)
	case effect == history.EffectNone:
		if f.BlockedSince = q.blocked(f.Client); f.BlockedSince > 0 {
			q.change.Before.Type, q.change.After.Type = taken, taken
		}
	}
	l.applyQuorum(f, own, gets)
	l.There, l.Stale = q.majority(l.Owner.Client, l.Owner.Op, at), false
}

// taken is the type of the state of a lock as a whole that is not free.
const taken = "taken"

// applyQuorum records what a command did to the lock as a whole. majority says whether its client has it now.
func (l *Ledger) applyQuorum(f *Fact, own, majority bool) {
	switch ownership.WholeChange(f.Effect, own, f.Live, majority) {
	case ownership.Take:
		l.take(f.Mine)
	case ownership.Free:
		l.take(Claim{})
	case ownership.Challenge:
		l.Challengers = append(l.Challengers, f.Mine)
	}
}
