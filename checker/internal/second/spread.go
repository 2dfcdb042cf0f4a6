package second

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// spreadLock is a lock on several servers, as the second judge reads it: it is somebody's from when one acquire has it on all that it needs,
// until those that are left could be another's. A command on one server is, for the model, what it made of that.
type spreadLock struct {
	servers int
	needs   int // servers, for an acquire
	spare   int // servers that can be others' while it is somebody's
	shares  []share
}

// spreadOver is a lock on so many servers, of which it needs some; zero: more than half.
func spreadOver(servers, needs int) *spreadLock {
	if needs < 1 {
		needs = (servers + 2) / 2
	}
	needs = min(needs, servers)
	return &spreadLock{servers: servers, needs: needs, spare: needs - 1}
}

// share is what one server has of the lock.
type share struct {
	server  string
	client  int // whose it is; 0: it is not known
	acquire *asking
	there   bool // the key was there when it was last seen,
	value   string
	seen    int  // at which event that was, and
	unsure  bool // whether it may have changed since
	lease   time.Duration
	ends    time.Duration
	lasts   time.Duration // when the key expires, as it was seen last
}

// on is the share of a server. The first command that it gets makes it known.
func (q *spreadLock) on(server string) *share {
	for n := range q.shares {
		if q.shares[n].server == server {
			return &q.shares[n]
		}
	}
	q.shares = append(q.shares, share{server: server})
	return &q.shares[len(q.shares)-1]
}

// doubt notes that a server may have changed what it has, in any of its parts, without a command.
func (q *spreadLock) doubt(server string) {
	if q == nil {
		return
	}
	for n := range q.shares {
		s := &q.shares[n]
		s.unsure = s.unsure || s.server == server || history.ServerOf(s.server) == server
	}
}

// certain is on how many servers a possession has the lock at a time, each for some time more.
func (q *spreadLock) certain(p possession, now time.Duration) (votes int) {
	for _, s := range q.shares {
		left := possession{lease: s.lease, ends: s.ends}
		if p.client != 0 && s.client == p.client && s.acquire == p.acquire && s.there && !s.unsure && left.runs(now) {
			votes++
		}
	}
	return votes
}

// has says whether these are all that an acquire needs.
func (q *spreadLock) has(p possession, now time.Duration) bool { return q.certain(p, now) >= q.needs }

// keeps says whether, without them, nobody else can have as many.
func (q *spreadLock) keeps(p possession, now time.Duration) bool {
	return q.servers-q.certain(p, now) <= q.spare
}

// until is when others can have the lock by themselves, and when they can by what was last seen of the keys.
func (q *spreadLock) until(p possession) (ends, lasts time.Duration) {
	var leases, keys []time.Duration
	for _, s := range q.shares {
		if s.there && s.client == p.client && s.acquire == p.acquire {
			leases, keys = append(leases, s.ends), append(keys, s.lasts)
		}
	}
	last := q.servers - q.spare - 1 // so many that last longer keep it
	if len(leases) <= last {
		return 0, 0
	}
	longestFirst := func(a, b time.Duration) int { return int(max(-1, min(1, b-a))) }
	slices.SortFunc(leases, longestFirst)
	slices.SortFunc(keys, longestFirst)
	return leases[last], keys[last]
}

// refusedSince is the index of the event since which so many servers have been seen to be others' that a client cannot get what it needs; zero:
// they are not.
func (q *spreadLock) refusedSince(client int) int {
	var seen []int
	for _, s := range q.shares {
		if s.there && !s.unsure && s.client != client {
			seen = append(seen, s.seen)
		}
	}
	without := q.servers - q.needs // it can do
	if len(seen) <= without {
		return 0
	}
	slices.SortFunc(seen, func(a, b int) int { return b - a })
	return seen[without]
}

// finds brings a share up to what a command has found.
func (s *share) finds(was history.State, now time.Duration) {
	if was.Exists() != s.there || s.unsure && was.Value != s.value {
		s.client, s.acquire = 0, nil
	}
	s.there, s.unsure, s.lasts = was.Exists(), false, lastsUntil(was, now)
}

// lastsUntil is when a key expires by itself.
func lastsUntil(key history.State, now time.Duration) time.Duration {
	if key.Type != "" && key.TTL == 0 {
		return overlap.Never
	}
	return now + key.TTL
}

// becomes brings it up to what the command has left; renews: its client has the lock, and takes it again.
func (s *share) becomes(step *ownerStep, is history.State, renews bool) {
	mine := &step.mine
	own := s.there && s.client == mine.client
	takes, lasts := false, false
	switch step.effect {
	case history.EffectCreated:
		takes = true
	case history.EffectReplaced:
		lasts = own && (renews || mine.acquire == nil)
		takes = !lasts
	case history.EffectProlonged:
		lasts = own
	case history.EffectShortened:
		s.ends = min(s.ends, mine.ends)
	case history.EffectUnclear:
		lasts = own && step.same
		takes = !lasts && (!step.same || mine.acquire != nil)
	}
	switch {
	case takes:
		s.client, s.acquire, s.lease, s.ends = mine.client, mine.acquire, mine.lease, mine.ends
	case lasts:
		s.ends = mine.ends
	}
	s.there, s.value, s.seen, s.lasts = is.Exists(), is.Value, step.event, lastsUntil(is, step.at)
}

// swing is what a command on one server made of what the owner and its client have.
type swing struct {
	own, live bool // its client is the owner; the owner must be left alone
	had, has  bool // the owner kept others from the lock before it, and after it
	wins      bool // its client has all that it needs after it only
	gets      bool // its client has that after it
	longer    bool // the owner keeps others from it for longer
	effect    history.Effect
}

// touchSpread has a command on one server change the lock as a whole.
func (l *ownerHistory) touchSpread(step *ownerStep, server string, change *history.Change) (look keyLook) {
	q, owner, now := l.spread, l.state.owner, step.at
	s := q.on(server)
	s.finds(change.Before, now)
	w := swing{own: owner.client == step.client, effect: step.effect}
	w.live = owner.client != 0 && l.state.mustRespect(owner, step)
	look.elsewhere, look.since = s.client != owner.client || s.acquire != owner.acquire, step.event
	if step.effect == history.EffectRemoved {
		look.lost, look.server = possession{client: s.client, acquire: s.acquire}, server
	}
	w.had = q.keeps(owner, now)
	_, lasted := q.until(owner)
	got := q.has(step.mine, now)
	s.becomes(step, change.After, w.own && w.live)
	w.has, w.gets = q.keeps(owner, now), q.has(step.mine, now)
	w.wins = w.gets && !got && step.mine.acquire != nil
	ends, lasts := q.until(owner)
	w.longer = w.effect == history.EffectProlonged && lasts-lasted > overlap.ProbeRoom

	look.effect, look.wins = w.onWhole(), w.wins
	step.effect, step.there, step.same, step.unlimited, step.unseen = w.onOwner(look.effect), false, false, false, false
	switch {
	case w.wins:
		step.mine.ends, _ = q.until(step.mine)
	case step.effect == history.EffectProlonged:
		step.mine.ends = ends
	case w.effect == history.EffectNone:
		if since := q.refusedSince(step.client); since != 0 {
			look.was, look.is, look.since = true, true, since
		}
	}
	return look
}

// onWhole is the effect on the lock as a whole, as it is seen.
func (w swing) onWhole() history.Effect {
	loses := w.had && !w.has
	switch {
	case w.wins && w.had && !w.own:
		return history.EffectReplaced
	case w.wins:
		return history.EffectCreated
	case loses && w.own: // what it finds on the other servers may show that it had lost the lock before
		return history.EffectUnclear
	case loses && (w.effect == history.EffectRemoved || w.effect == history.EffectReplaced):
		return w.effect
	case w.own && w.has && w.effect == history.EffectReplaced: // a lock that counts
		return w.effect
	case !w.own && w.has && w.longer:
		return history.EffectProlonged
	}
	return history.EffectNone
}

// onOwner is the effect on whose the lock is.
func (w swing) onOwner(seen history.Effect) history.Effect {
	switch {
	case !w.wins && w.own && w.has && w.effect != history.EffectNone:
		return history.EffectProlonged
	case seen == history.EffectReplaced && !w.live && !w.gets:
		return history.EffectRemoved // what is left is nobody's
	}
	return seen
}
