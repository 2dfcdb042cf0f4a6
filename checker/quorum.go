package checker

import (
	"slices"
	"time"

	"github.com/locklab/locklab/history"
)

// quorum is the ledger of a lock that lives on several servers. The lock is a client's if one acquire of its has it on a majority
// of them: what is left on fewer is nobody's lock. The monitors see a command on one server as what it did to the majority.
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
	// client and op are whose it is, and by which acquire; zero if nobody knows.
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
		(p.ends == never || at+leaseMargin(p.lease) < p.ends)
}

// count is how many parts are the client's by that acquire.
func (q *quorum) count(client int, op int64, at time.Duration) int {
	n := 0
	for _, p := range q.parts {
		if p.mine(client, op, at) {
			n++
		}
	}
	return n
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
func (p *part) apply(c history.Change, effect history.Effect, mine claim, again bool, at time.Duration) {
	own := p.client == mine.client && p.there
	switch effect {
	case history.EffectCreated:
		p.take(mine)
	case history.EffectReplaced:
		if own && (again || mine.op == 0) {
			p.ends = mine.ends
		} else {
			p.take(mine)
		}
	case history.EffectProlonged:
		if own {
			p.ends = mine.ends
		}
	case history.EffectShortened:
		p.ends = min(p.ends, mine.ends)
	case history.EffectUnclear:
		changed := c.Before.Value != c.After.Value || c.Before.Type != c.After.Type
		switch {
		case own && !changed:
			p.ends = mine.ends
		case changed || mine.op != 0:
			p.take(mine)
		}
	}
	p.there, p.value, p.seen = c.After.Exists(), c.After.Value, at
	if !p.there {
		p.client, p.op = 0, 0
	}
}

func (p *part) take(c claim) { p.client, p.op, p.lease, p.ends = c.client, c.op, c.lease, c.ends }

// touchQuorum is touch for a lock that lives on several servers.
func (v *view) touchQuorum(f *fact, c *history.Command) {
	k := &v.keys[f.lock]
	q, l, at := k.quorum, &k.ledger, f.e.At
	f.hold = *v.hold(f.client, f.lock)
	if grants(c, f.change) {
		v.hold(f.client, f.lock).from = at
	}
	mine := v.claim(f, c)
	p := q.part(c.Server)
	p.observe(f.change.Before)
	f.owner, f.live = l.owner, v.live(l.owner, f.lock, at)
	f.elsewhere = p.client != f.owner.client || p.op != f.owner.op

	own := f.client == f.owner.client
	had, got := q.count(f.owner.client, f.owner.op, at) >= q.need, q.count(f.client, mine.op, at) >= q.need
	effect := f.change.Effect(c.Asked)
	p.apply(*f.change, effect, mine, own && f.live, at)
	has, gets := q.count(f.owner.client, f.owner.op, at) >= q.need, q.count(f.client, mine.op, at) >= q.need

	q.change = history.Change{Key: f.change.Key}
	f.change, f.mine, f.effect = &q.change, mine, history.EffectNone
	switch {
	case gets && !got && mine.op != 0:
		f.effect = history.EffectCreated
		if had && !own {
			f.effect = history.EffectReplaced
		}
		f.mine.ends = q.ends(f.client, mine.op)
		v.ops.took(mine.op, f.client, f.i)
	case had && !has && own:
		f.effect = history.EffectUnclear // what it finds on the other servers may show that it had lost the lock before
	case had && !has && (effect == history.EffectRemoved || effect == history.EffectReplaced):
		f.effect = effect
	case own && has && effect != history.EffectNone:
		l.owner.ends = q.ends(f.client, f.owner.op)
		if effect == history.EffectReplaced {
			f.effect = effect // a lock that counts
		}
	case effect == history.EffectNone:
		if f.found = q.blocked(f.client); f.found > 0 {
			q.change.Before.Type, q.change.After.Type = taken, taken
		}
	}
	l.applyQuorum(f, own, gets)
	l.there, l.stale = q.count(l.owner.client, l.owner.op, at) >= q.need, false
}

// taken is the type of the state of a lock as a whole that is not free.
const taken = "taken"

// applyQuorum records what a command did to the lock as a whole. majority says whether its client has it now.
func (l *ledger) applyQuorum(f *fact, own, majority bool) {
	switch f.effect {
	case history.EffectReplaced:
		switch {
		case own:
		case f.live:
			l.challengers = append(l.challengers, f.mine)
		case majority:
			l.take(f.mine)
		default:
			l.take(claim{})
		}
	case history.EffectCreated:
		l.take(f.mine)
	case history.EffectRemoved, history.EffectUnclear:
		l.take(claim{})
	}
}
