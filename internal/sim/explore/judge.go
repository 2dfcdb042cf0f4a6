package explore

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// The properties of a state are the anomalies of the checker's monitors. The rules are shared (package ownership); the evidence differs: it is
// complete here and must stay small, so where a monitor remembers events, the judge remembers clients and ages. The checker judges every
// counterexample again, and agree_test.go holds both judges to each other.

// anomalies is a set of the checker's anomalies, in the order of its definitions.
type anomalies uint32

const (
	doubleHolder anomalies = 1 << iota
	earlyGrant
	wrongfulDelete
	wrongfulRenew
	overwrite
	staleWrite
	lostUpdate
	stuckLock
	ghostLock
	unreleasable
	hungOperation
	falseAlarm
	fenceRegression
	unfair
)

// Anomalies are those that the search judges, in the order of the checker's definitions: all but dead-grant and missed-wakeup. The one goes by the time
// from an acquire's call to its last reply, for which states have no room: they remember ages up to a lease. The other is what a waiter does not do,
// which is no state.
func Anomalies() []checker.Name {
	var names []checker.Name
	for _, d := range checker.Definitions() {
		if d.Name != checker.DeadGrant && d.Name != checker.MissedWakeup {
			names = append(names, d.Name)
		}
	}
	return names
}

// ofOwners are the anomalies for which it matters whose the lock is.
const ofOwners = earlyGrant | wrongfulDelete | wrongfulRenew | overwrite | staleWrite | ghostLock | unreleasable | falseAlarm

func (a anomalies) names() []checker.Name {
	var names []checker.Name
	for i, name := range Anomalies() {
		if a&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// judge carries the state through what happens to the lock, and gathers the anomalies.
type judge struct {
	s       *state
	clients int
	lease   ms
	margin  ms // how much of a lease of the usual length must be left before it counts; the checker's
	history.Contract
	nominal   bool // a lock may have no expiry on its server: then its lease counts from the latest command of its operation
	unlimited bool // one has turned out to have none, see errNominal
	counts    bool // its holder can acquire it again
	queues    bool // clients wait in a queue
	again     bool // see Config.ReleaseAgain
	slow      slowRate
	sharing   *sharing  // of a lock on most of several servers; nil: it lives on one, or on all, or whose it is does not matter
	several   bool      // the lock lives on several servers
	only      anomalies // that are looked for
	owners    bool      // some of them are ofOwners, or the lock lives on several servers; see followLease
	found     anomalies
	coverage  coverage
	fences    []int64 // that were issued; states have their places here
	full      bool    // there was no room for what is provisional
}

// claim is what the rules of ownership need to know of the owner's claim, whose lease ends then.
func (j *judge) claim(ends ms) ownership.Claim {
	o := &j.s.owner
	if o.client == 0 {
		return ownership.Claim{}
	}
	c := &j.s.clients[o.client-1]
	return ownership.Claim{Standing: o.standing, Leased: ends > o.margin, Over: o.over, Dead: c.phase == crashed, Holds: c.has(on)}
}

// rightful says whether the lock is certainly the client's, with lease left.
func (j *judge) rightful(c int, ends ms) bool {
	o := &j.s.owner
	key := ownership.Key{There: o.there, Stale: o.stale, Foreign: o.foreign}
	return int(o.client) == c+1 && j.claim(ends).Rightful(key)
}

func (j *judge) active(c int) bool { return j.s.clients[c].holds() }

// called takes in that a client has called an operation.
func (j *judge) called(n int, op history.Op) {
	c := &j.s.clients[n]
	c.since = 0
	switch op {
	case history.OpAcquire:
		j.calledAcquire(n)
	case history.OpWork:
		c.phase, c.before, c.passed = working, j.s.highest, false
	case history.OpRelease:
		j.calledRelease(n)
	}
}

func (j *judge) calledAcquire(n int) {
	c := &j.s.clients[n]
	if c.phase == holding {
		c.entered++
	}
	j.callsInQueue(n)
	c.phase, c.after, c.from, c.fence = acquiring, 0, 0, j.s.fence
	if j.active(n) {
		c.fence = sameGrant
	}
	c.clear(unsure)
	j.s.owner.early &^= 1 << n
	j.calledAnother(n)
	for i := range j.clients {
		j.s.clients[i].makers.calls(n)
		for k := range j.s.clients[i].travel {
			j.s.clients[i].travel[k] &^= 1 << (travelEarly + n)
		}
	}
}

// endHold ends a client's hold.
func (j *judge) endHold(n int) {
	j.s.clients[n].clear(on)
	j.s.clients[n].ends, j.s.clients[n].count = never, 0
	if int(j.s.owner.client) == n+1 {
		j.s.owner.over, j.s.owner.leaving = true, false
	}
}

// returned takes in what an operation came to.
func (j *judge) returned(n int, op history.Op, a history.Answer) {
	switch op {
	case history.OpAcquire:
		j.acquired(n, a)
	case history.OpWork:
		j.worked(n, a)
	case history.OpRelease:
		j.released(n, a)
	}
	j.s.clients[n].since = 0
}

func (j *judge) acquired(n int, a history.Answer) {
	c, ok := &j.s.clients[n], a.Outcome == history.OK
	if o := &j.s.owner; o.left&(1<<n) != 0 {
		o.left &^= 1 << n
		if a.Outcome == history.No {
			j.found |= unreleasable
		}
	}
	j.returnsInQueue(n, a.Outcome)
	j.settleOwner(n, ok)
	j.settleProvisional(n, ok)
	j.settleKept(n, ok)
	if ok {
		j.granted(n, a)
	} else {
		j.refused(n, a.Outcome)
	}
	c.clear(metGhost | took | late)
	c.after, c.fence, c.from = 0, 0, 0
}

// refused: an acquire has failed, or its user does not know.
func (j *judge) refused(n int, outcome history.Outcome) {
	c := &j.s.clients[n]
	if outcome == history.No {
		j.coverage |= wasRefused
		if c.has(metGhost) {
			j.found |= ghostLock
		}
	}
	if c.entered > 0 && c.has(on) {
		c.phase = holding // it has the lock from before
		return
	}
	if outcome == history.No {
		c.set(futile)
	}
	c.phase, c.entered = waiting, 0
}

func (j *judge) granted(n int, a history.Answer) {
	c := &j.s.clients[n]
	j.coverage |= wasHeld
	if j.hadByAnother(n) {
		j.coverage |= handedOver
	}
	c.phase = holding
	if int(j.s.tally.client) == n+1 {
		j.s.tally.acquired++
	}
	if a.Limited && a.Valid <= 0 {
		c.clear(on)
		c.ends, c.count = never, 0
	} else {
		if !j.active(n) {
			c.count = 0
		}
		c.count++
		j.beginHold(n, a.Valid, a.Limited)
	}
	j.grantTurn(n)
	if a.Fence != 0 {
		j.fenced(c, a.Fence)
	}
}

// fenced takes in a grant's fence.
func (j *judge) fenced(c *client, fence int64) {
	notAbove := func(place uint32) bool { return place != 0 && fence <= j.fences[place-1] }
	if c.fence != sameGrant && (notAbove(c.fence) || notAbove(j.s.fence) && fence == j.fences[j.s.fence-1]) {
		j.found |= fenceRegression
	}
	if !notAbove(j.s.fence) {
		j.s.fence = j.fence(fence)
	}
}

// hadByAnother says whether another client than n, which has not crashed, has or had the lock.
func (j *judge) hadByAnother(n int) bool {
	for i := range j.clients {
		if c := &j.s.clients[i]; i != n && (c.round > 0 || c.phase >= holding && c.phase <= finished) {
			return true
		}
	}
	return false
}

// fence is the number of a fence, plus 1. States have no room for fences of any size.
func (j *judge) fence(value int64) uint32 {
	i := slices.Index(j.fences, value)
	if i < 0 {
		i = len(j.fences)
		j.fences = append(j.fences, value)
	}
	return uint32(i) + 1
}

// acquirers are the other clients that are acquiring.
func (j *judge) acquirers(n int) (set uint8) {
	if !j.owners {
		return 0
	}
	for i := range j.clients {
		if i != n && j.s.clients[i].phase == acquiring {
			set |= 1 << i
		}
	}
	return set
}

// beginHold begins a hold or prolongs it. Its end is what the lock has declared, as early as can be.
func (j *judge) beginHold(n int, valid time.Duration, limited bool) {
	c := &j.s.clients[n]
	was := j.active(n)
	c.set(on)
	if limited {
		c.ends = fullMS(j.slow.lasts(c, history.Declared(valid))-history.ExpiryMargin) - c.from
	} else if !was {
		c.ends = never
	}
	c.ends = max(c.ends, 0)
	if was || !j.active(n) {
		return
	}
	others := 0
	for i := range j.clients {
		if i != n && j.active(i) {
			others++
		}
	}
	if others >= max(j.Permits, 1) {
		j.found |= doubleHolder
	}
}

func (j *judge) worked(n int, a history.Answer) {
	c := &j.s.clients[n]
	c.phase = worked
	if a.Outcome == history.OK && j.only&lostUpdate != 0 {
		read := uint8(a.Read)
		if j.s.acked&(1<<read) != 0 || c.before > read {
			j.found |= lostUpdate
		}
		j.s.acked |= 1 << read
		j.s.highest = max(j.s.highest, read+1)
	}
	c.before, c.passed = 0, false
}

func (j *judge) released(n int, a history.Answer) {
	c := &j.s.clients[n]
	if a.Outcome == history.OK && int(j.s.turn) == n+1 && !c.has(inner) {
		j.s.over = true
	}
	o := &j.s.owner
	o.over = o.over && o.client != 0
	if int(o.client) == n+1 && a.Outcome != history.Unknown {
		o.leaving = false
	}
	j.judgeRelease(n, a.Outcome)
	j.countRelease(n, a.Outcome)
	if c.has(inner) && a.Outcome == history.No {
		j.endHold(n) // it was told that the lock is not its own
	}
	again := c.has(inner) && c.has(on)
	j.forgetRelease(c)
	c.waits = 0
	if again {
		c.phase = worked
		return
	}
	c.phase, c.entered = waiting, 0
	if c.has(unsure) {
		c.clear(unsure) // once is enough
		return
	}
	c.round++
	if j.again && a.Outcome == history.Unknown {
		c.set(unsure)
	}
}

// lost takes in that the lock has told its user that it is no longer held.
func (j *judge) lost(n int) {
	if j.active(n) && j.rightful(n, min(j.s.owner.ends, j.s.owner.sure)) {
		j.found |= falseAlarm
	}
	if int(j.s.tally.client) == n+1 {
		j.s.tally.unsure = true
	}
	j.endHold(n)
}

// renewed: a background task has declared how long the lock is held from now on.
func (j *judge) renewed(n int, valid time.Duration) {
	c := &j.s.clients[n]
	if !c.has(on) {
		return
	}
	if valid <= 0 {
		j.endHold(n)
		return
	}
	if int(j.s.owner.client) == n+1 {
		j.s.owner.sure = j.s.owner.ends
	}
	j.beginHold(n, valid, true)
	c.from = 0
}

// pass lets time pass for what the properties remember. session: the lock lasts as long as its client's session.
func (j *judge) pass(d ms, session bool) {
	s := j.s
	for i := range j.clients {
		c := &s.clients[i]
		if c.ends != never {
			c.ends = max(c.ends-d, 0)
		}
		c.claims = max(later(c.claims, d), 0)
		if j.nominal && (c.phase == acquiring || c.phase == working || c.phase == releasing) {
			c.since = min(c.since+d, j.lease)
		}
		if c.phase == acquiring || c.repliedBeside() {
			c.ageFrom(d, j.lease, session)
		}
	}
	if j.sharing != nil {
		s.shares = j.sharing.pass(s.shares, d)
	}
	s.owner.ends, s.owner.sure = max(later(s.owner.ends, d), 0), max(later(s.owner.sure, d), 0)
}

func later(t, d ms) ms {
	if t == never {
		return never
	}
	return t - d
}
