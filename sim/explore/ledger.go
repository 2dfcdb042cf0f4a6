package explore

import (
	"time"

	"github.com/locklab/locklab/history"
)

// deed is a command of a client to the lock.
type deed struct {
	sending
	effect history.Effect
	before bool // the key was there
	after  history.State
	// The key's values before and after it; see servers.value. Only where servers fail over: only there it can matter.
	found, left uint32
}

// command takes in a command that named the lock.
func (j *judge) command(d deed) {
	c, o := &j.s.clients[d.client], &j.s.owner
	if d.effect != history.EffectNone && d.effect != history.EffectRemoved && d.effect != history.EffectShortened && !d.unheard {
		c.from = 0
	}
	if j.quorum {
		j.took(d)
		return
	}
	j.observe(d)
	live := j.live()
	acquires := !d.ended && c.phase == acquiring && (d.op == history.OpAcquire || d.op == history.OpNone)
	mine := j.claim(d, acquires)
	if o.client != 0 && int(o.client) != d.client+1 && live {
		j.deed(d, acquires)
	}
	j.meetGhost(d, acquires)
	if d.op == history.OpRelease && !d.ended {
		j.release(c, d)
	}
	j.count(d)
	j.apply(d, mine, acquires, live)
	o.there, o.foreign, o.value = d.after.Exists(), o.foreign && d.after.Exists(), d.left
	j.took(d)
}

// observe takes in what a command has found.
func (j *judge) observe(d deed) {
	o := &j.s.owner
	switch {
	case !d.before:
		o.foreign = false
	case !o.there:
		j.take(owner{})
	case o.stale && d.found != o.value:
		o.foreign = true
	}
	o.there, o.stale = d.before, false
}

// release notes what a command of a client's release did.
func (j *judge) release(c *client, d deed) {
	c.set(looked)
	if int(j.s.owner.client) != d.client+1 || j.s.owner.foreign {
		return
	}
	switch d.effect {
	case history.EffectRemoved:
		c.set(removed)
	case history.EffectReplaced:
		c.set(changed)
	}
}

// claim is what the command founds for its client if it took the lock.
func (j *judge) claim(d deed, acquires bool) owner {
	c := &j.s.clients[d.client]
	mine := owner{client: uint8(d.client) + 1, standing: dubious, margin: j.margin, sighting: sighting{there: true}}
	switch {
	case d.after.TTL > 0:
		mine.ends, mine.margin = ms(d.after.TTL/time.Millisecond), ms(leaseMargin(d.after.TTL)/time.Millisecond)
	case j.leaseless:
		mine.ends = never
	case d.op != history.OpNone && !d.ended:
		mine.ends = j.lease - c.since
	default:
		mine.ends = j.lease
	}
	switch {
	case acquires:
		mine.standing = pending
	case d.op == history.OpAcquire && d.ok:
		mine.standing, mine.sure, mine.over = granted, mine.ends, !c.has(on)
	case d.op == history.OpAcquire:
		mine.standing, mine.early = refused, d.early // it had been given up
	case c.has(on):
		mine.standing, mine.sure = granted, mine.ends
	}
	return mine
}

// deed judges what a command did to the live lock of another.
func (j *judge) deed(d deed, acquires bool) {
	if acquires && (d.effect == history.EffectCreated || d.effect == history.EffectReplaced) {
		j.charge(earlyGrant, d.client, true)
	}
	if j.s.owner.foreign {
		return
	}
	switch d.effect {
	case history.EffectReplaced:
		j.charge(overwrite, d.client, false)
	case history.EffectRemoved:
		j.charge(wrongfulDelete, d.client, false)
	case history.EffectProlonged:
		j.charge(wrongfulRenew, d.client, false)
	}
}

// charge keeps an anomaly until it is known whether both were told that they had the lock, as far as that matters.
func (j *judge) charge(what anomalies, culprit int, ifCulprit bool) {
	if what&j.only == 0 {
		return
	}
	c := charge{culprit: uint8(culprit), victim: j.s.owner.client - 1, ifCulprit: ifCulprit, ifVic: j.s.owner.standing == pending}
	if !c.ifCulprit && !c.ifVic {
		j.found |= what
		return
	}
	for what > 1 {
		what >>= 1
		c.anomaly++
	}
	c.anomaly++
	for i := range j.s.charges {
		if j.s.charges[i] == c {
			return
		}
		if j.s.charges[i].anomaly == 0 {
			j.s.charges[i] = c
			return
		}
	}
	j.full = true
}

// settleCharges takes in how a client's acquire has ended.
func (j *judge) settleCharges(n int, ok bool) {
	kept := 0
	for _, c := range j.s.charges {
		mine, hit := c.ifCulprit && int(c.culprit) == n, c.ifVic && int(c.victim) == n
		if c.anomaly == 0 || (mine || hit) && !ok {
			continue
		}
		if mine {
			c.ifCulprit = false
		}
		if hit {
			c.ifVic = false
		}
		if !c.ifCulprit && !c.ifVic {
			j.found |= 1 << (c.anomaly - 1)
			continue
		}
		j.s.charges[kept] = c
		kept++
	}
	clear(j.s.charges[kept:])
}

// meetGhost notes that an acquire found the lock held for somebody who was told that it had not got it.
func (j *judge) meetGhost(d deed, acquires bool) {
	o, c := &j.s.owner, &j.s.clients[d.client]
	if acquires && d.before && !o.foreign && d.effect == history.EffectNone && o.client != 0 && int(o.client) != d.client+1 &&
		o.standing == refused && !o.over && !j.dead(int(o.client)-1) && o.leased(o.ends) && o.early&(1<<d.client) == 0 {
		c.set(metGhost)
	}
}

// apply records what a command did to the key.
func (j *judge) apply(d deed, mine owner, acquires, live bool) {
	o, own := &j.s.owner, int(j.s.owner.client) == d.client+1 && !j.s.owner.foreign
	switch d.effect {
	case history.EffectCreated:
		j.take(mine)
	case history.EffectRemoved:
		if !o.foreign {
			j.take(owner{})
		}
	case history.EffectReplaced:
		switch {
		case own && (live || !acquires && d.op != history.OpAcquire):
			o.ends = mine.ends
		case live && !o.foreign:
			j.s.clients[d.client].set(challenge)
			j.s.clients[d.client].claims = mine.ends
		case o.foreign && mine.standing != pending && mine.standing != granted: // it is still nobody's
		default:
			j.take(mine)
		}
	case history.EffectProlonged:
		if own {
			o.ends = mine.ends
		}
	case history.EffectShortened:
		if !o.foreign {
			o.ends = min(o.ends, mine.ends)
		}
	case history.EffectUnclear:
		if d.after.Exists() {
			j.take(mine)
		} else {
			j.take(owner{})
		}
	}
}

// take makes what is there somebody's lock.
func (j *judge) take(o owner) {
	j.owns(o)
	for i := range j.s.clients {
		j.s.clients[i].clear(challenge)
		j.s.clients[i].claims = 0
	}
}

// owns makes a claim the owner's: other challengers may still be told that the lock is theirs.
func (j *judge) owns(o owner) {
	if o.client != 0 && j.s.owner.client != 0 && o.client != j.s.owner.client {
		j.coverage |= handedOver
	}
	j.s.owner = o
	for i := range j.s.clients {
		j.s.clients[i].clear(tenure)
	}
}

// took remembers in which order pending acquires took the lock.
func (j *judge) took(d deed) {
	c := &j.s.clients[d.client]
	if d.ended || d.op != history.OpAcquire || c.phase != acquiring {
		return
	}
	switch d.effect {
	case history.EffectCreated, history.EffectReplaced, history.EffectUnclear:
	default:
		return
	}
	c.set(took)
	c.clear(late)
	c.after = 0
	for i := range j.s.clients {
		if i != d.client && j.s.clients[i].has(took) && j.s.clients[i].phase == acquiring {
			j.s.clients[i].after |= 1 << d.client
		}
	}
}

// count follows a lock that counts from the command that made it.
func (j *judge) count(d deed) {
	t := &j.s.tally
	if j.s.owner.foreign {
		*t = tally{} // it counts from another time
	}
	switch d.effect {
	case history.EffectCreated:
		*t = tally{}
		if j.counts && d.op == history.OpAcquire {
			t.client = uint8(d.client) + 1
		}
	case history.EffectReplaced:
		if int(t.client) != d.client+1 {
			*t = tally{}
		}
	case history.EffectRemoved, history.EffectUnclear:
		*t = tally{}
	}
}
