package world

import "github.com/locklab/locklab/history"

// standing is what became of the acquire by which a client took the lock.
type standing uint8

const (
	pending standing = iota
	granted
	refused
	unclear // there is none
)

// counts says whether an acquire may give its client the lock. dead: the client has crashed; on: it believes that it has the lock.
func (s standing) counts(dead, on bool) bool {
	return s == granted && (dead || on) || s == pending && !dead
}

// claim is the lock on the server: whose it is, by its commands, and until when.
type claim struct {
	client   int // negative: nobody's
	standing standing
	over     bool // its client has called release, or was told that it is lost
	dead     bool
	ends     int    // when its lease does; not positive: it has
	value    string // of the lock's key
}

// nobodys is no claim.
var nobodys = claim{client: -1, ends: never}

// live says whether a claim counts.
func (c claim) live(on bool) bool {
	return c.client >= 0 && c.ends > 0 && !c.over && c.standing.counts(c.dead, on)
}

// claim is what a command founds if it took the lock; acquires: it is of an acquire.
func (m *monitor) claim(w *world, i int, q message, change history.Change) (mine claim, acquires bool) {
	c := &w.clients[i]
	mine = claim{client: i, ends: never, value: change.After.Value, standing: unclear}
	switch {
	case change.After.TTL > 0:
		mine.ends = max(ms(change.After.TTL), 1)
	case !w.config.leaseless():
		if mine.ends = ms(w.config.Lease); q.op != history.OpNone && !q.ended {
			mine.ends = max(mine.ends-c.ago.asked, 0) // the lease is in the value, which may have been made so long ago
		}
	}
	switch {
	case q.op == history.OpAcquire && !q.ended, q.op == history.OpNone && c.phase == acquiring:
		mine.standing = pending
	case q.op == history.OpAcquire && q.ok, q.op != history.OpAcquire && c.on:
		mine.standing, mine.over = granted, !c.on
	case q.op == history.OpAcquire:
		mine.standing = refused
	}
	mine.dead = c.phase == crashed
	return mine, mine.standing == pending || q.op == history.OpAcquire
}

// follow notes whose the lock is after a command.
func (m *monitor) follow(effect history.Effect, own, live, foreign bool, mine claim, change history.Change) {
	o := &m.owner
	switch effect {
	case history.EffectCreated:
		m.take(mine)
	case history.EffectRemoved:
		if !foreign {
			m.take(nobodys)
		}
	case history.EffectReplaced:
		switch {
		case own && (live || mine.standing != pending):
			o.ends, m.challenger = mine.ends, nobodys // whose value it had been is gone
		case live:
			m.challenger = mine
		default:
			m.take(mine)
		}
	case history.EffectProlonged, history.EffectShortened:
		if own {
			o.ends = mine.ends
		} else if effect == history.EffectShortened && !foreign {
			o.ends = min(o.ends, mine.ends)
		}
	case history.EffectUnclear:
		same := change.Before.Value == change.After.Value
		switch {
		case !change.After.Exists():
			m.take(nobodys)
		case own && same:
			o.ends = mine.ends
		case !same, mine.standing == pending:
			m.take(mine)
		}
	}
	if o.client >= 0 && !foreign {
		o.value = change.After.Value
	}
}

// count notes that an acquire has counted what is another's. It has the lock if it is told so; of several the first is.
func (m *monitor) count(mine claim) {
	if ch := &m.challenger; mine.standing == pending && (ch.client < 0 || ch.client == mine.client) {
		*ch = mine
	}
	if m.owner.client >= 0 {
		m.owner.value = mine.value
	}
}

func (m *monitor) take(c claim) {
	m.owner, m.challenger = c, nobodys
	m.left = false
	for i := range m.clients {
		m.clients[i].rightful, m.clients[i].after = false, false
	}
}

// ghost says whether a claim is of a client that was told that it has not got the lock, and keeps it from another one.
func (c *claim) ghost(from int) bool {
	return c.client >= 0 && c.client != from && c.standing == refused && c.ends > 0 && !c.over && !c.dead
}

// keeps says whether a claim keeps the lock from a client, and its own client has not been told that it has it.
func (c *claim) keeps(from int) bool {
	return c.client >= 0 && c.client != from && (c.standing == pending || c.standing == refused) && c.ends > 0
}
