package timeline

import (
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// quorum is the ledger of a lock that lives on several servers, or under several keys of one, which count as servers here. The lock becomes a client's when one acquire of its has it on as many of
// them as it needs, a majority or all, and is the client's until others can have so many. What is left on fewer has no owner. The monitors
// see a command on one server as what it did to the lock as a whole.
type quorum struct {
	need  int    // to have the lock
	keep  int    // to keep others from having it
	parts []part // of the servers seen so far, at most as many as there are
	all   int
	// change is what the command in hand did to the lock as a whole.
	change history.Change
}

// Part says whose one server's part of a lock is, and by which acquire; zero if it is not known.
type Part struct {
	Client int
	Op     int64
}

// part is what one server has of the lock.
type part struct {
	Part
	server string
	there  bool          // the key existed when it was last seen
	value  string        // what it held then
	seen   time.Duration // when that was
	stale  bool          // it may have changed since, unseen
	lease  time.Duration
	ends   time.Duration // when its lease ends, as early as can be
	until  time.Duration // when what is there expires, whoever has made it last so long
}

// newQuorum is that of a lock that needs so many of its servers; zero: a majority.
func newQuorum(servers, need int) *quorum {
	if need <= 0 {
		need = servers/2 + 1
	}
	need = min(need, servers)
	return &quorum{need: need, keep: servers - need + 1, all: servers}
}

// doubt takes in that what a server, or one part there, has may have changed without a command.
func (q *quorum) doubt(server string) {
	if q == nil {
		return
	}
	for n := range q.parts {
		at := q.parts[n].server
		q.parts[n].stale = q.parts[n].stale || at == server || history.ServerOf(at) == server
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
	return p.there && !p.stale && client != 0 && p.Part == Part{client, op} &&
		(p.ends == Never || at+ownership.LeaseMargin(p.lease) < p.ends)
}

// votes is how many of the parts are the client's by that acquire.
func (q *quorum) votes(client int, op int64, at time.Duration) (n int) {
	for _, p := range q.parts {
		if p.mine(client, op, at) {
			n++
		}
	}
	return n
}

// ends is when others can have the lock, if nothing happens, by one of the ends that each part has.
func (q *quorum) ends(client int, op int64, end func(part) time.Duration) time.Duration {
	var ends []time.Duration
	for _, p := range q.parts {
		if p.there && p.Part == (Part{client, op}) {
			ends = append(ends, end(p))
		}
	}
	slices.Sort(ends)
	if len(ends) < q.keep {
		return 0
	}
	return ends[len(ends)-q.keep]
}

func (p part) leaseEnd() time.Duration { return p.ends }
func (p part) expiry() time.Duration   { return p.until }

// expires is when a key expires that is seen at a time.
func expires(s history.State, at time.Duration) time.Duration {
	switch {
	case !s.Exists():
		return 0
	case s.TTL == 0:
		return Never
	}
	return at + s.TTL
}

// blocked says since when at the latest so many servers have been seen to be taken by others that the client cannot have the lock; zero if
// they are not.
func (q *quorum) blocked(client int) time.Duration {
	var seen []time.Duration
	for _, p := range q.parts {
		if p.there && !p.stale && p.Client != client {
			seen = append(seen, p.seen)
		}
	}
	slices.Sort(seen)
	if len(seen) < q.keep {
		return 0
	}
	return seen[len(seen)-q.keep]
}

// observe brings the part up to what a command found before it did anything.
func (p *part) observe(before history.State) {
	if before.Exists() != p.there || p.stale && before.Value != p.value {
		p.Part = Part{} // gone by itself, or made by somebody whom we did not see, or an older lock that has come back
	}
	p.there, p.stale = before.Exists(), false
}

// apply records what a command did to the part. mine is the claim that it founds; again: its client has the lock already, and takes
// it once more.
func (p *part) apply(c history.Change, effect history.Effect, mine Claim, again bool, at time.Duration) {
	rule := ownership.Part{
		Effect: effect, Own: p.Client == mine.Client && p.there, Again: again, Acquire: mine.Op != 0, SameValue: sameValue(c),
	}
	switch rule.Change() {
	case ownership.Take:
		p.take(mine)
	case ownership.Extend:
		p.ends = mine.Ends
	case ownership.Shorten:
		p.ends = min(p.ends, mine.Ends)
	}
	p.there, p.value, p.seen, p.until = c.After.Exists(), c.After.Value, at, expires(c.After, at)
}

func (p *part) take(c Claim) { p.Part, p.lease, p.ends = Part{c.Client, c.Op}, c.Lease, c.Ends }

// touchQuorum is touch for a lock that lives on several servers.
func (v *Cursor) touchQuorum(f *Fact, c *history.Command) {
	k := &v.Locks[f.Lock]
	q, l, at := k.quorum, &k.Ledger, f.Event.At
	f.Hold = *v.hold(f.Client, f.Lock)
	if grants(c, f.Change) {
		v.hold(f.Client, f.Lock).from = v.arrives(f.Client, at)
	}
	mine := v.claim(f, c)
	p := q.part(c.Server)
	p.observe(f.Change.Before)
	p.until = expires(f.Change.Before, at)
	f.Owner, f.Live = l.Owner, v.live(l.Owner, f.Lock, at)
	f.Elsewhere = p.Part != Part{f.Owner.Client, f.Owner.Op}

	own := f.Client == f.Owner.Client
	keeps := func() bool { return q.votes(f.Owner.Client, f.Owner.Op, at) >= q.keep }
	has := func() bool { return q.votes(f.Client, mine.Op, at) >= q.need }
	had, got, until := keeps(), has(), q.ends(f.Owner.Client, f.Owner.Op, part.expiry)
	effect := f.Change.Effect(c.Asked)
	if effect == history.EffectRemoved {
		f.Removed = p.Part
	}
	p.apply(*f.Change, effect, mine, own && f.Live, at)
	gets := has()
	swing := ownership.Swing{
		Effect: effect, Own: own, Had: had, Has: keeps(), Wins: gets && !got && mine.Op != 0,
		Prolongs: effect == history.EffectProlonged && q.ends(f.Owner.Client, f.Owner.Op, part.expiry) > until+history.ExpiryMargin,
	}

	q.change = history.Change{Key: f.Change.Key}
	f.Change, f.Mine, f.Effect = &q.change, mine, swing.Whole()
	switch {
	case swing.Wins:
		f.Mine.Ends = q.ends(f.Client, mine.Op, part.leaseEnd)
		v.Ops.took(mine.Op, f.Client, f.Index)
	case swing.Extends():
		l.Owner.Ends = q.ends(f.Client, f.Owner.Op, part.leaseEnd)
	case effect == history.EffectNone:
		if f.BlockedSince = q.blocked(f.Client); f.BlockedSince > 0 {
			q.change.Before.Type, q.change.After.Type = taken, taken
		}
	}
	l.applyQuorum(f, own, gets)
	l.There, l.Stale = q.votes(l.Owner.Client, l.Owner.Op, at) >= q.need, false
}

// taken is the type of the state of a lock as a whole that is not free.
const taken = "taken"

// applyQuorum records what a command did to the lock as a whole. gets says whether its client has so many servers now as the lock needs.
func (l *Ledger) applyQuorum(f *Fact, own, gets bool) {
	switch ownership.WholeChange(f.Effect, own, f.Live, gets) {
	case ownership.Take:
		l.take(f.Mine)
	case ownership.Free:
		l.take(Claim{})
	case ownership.Challenge:
		l.Challengers = append(l.Challengers, f.Mine)
	}
}
