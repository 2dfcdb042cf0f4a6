package world

import (
	"slices"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// The standings of an acquire by which a client took the lock.
const (
	pending = ownership.Pending
	granted = ownership.Granted
	refused = ownership.Refused
	unclear = ownership.Dubious // there is none
)

// claim is the lock on the server: whose it is, by its commands, and until when.
type claim struct {
	client   int // negative: nobody's
	standing ownership.Standing
	over     bool // its client has called release, or was told that it is lost
	dead     bool
	ends     int // when its lease does; not positive: it has
	margin   int // with less left, the lease no longer certainly runs
}

// key is the lock's key as it was seen last.
type key struct {
	there   bool
	value   string
	foreign bool // what is there is not the owner's: something unseen has put another value in its place
}

// nobodys is no claim.
var nobodys = claim{client: -1, ends: never}

// live says whether a claim counts; on: its client believes that it has the lock.
func (c claim) live(on bool) bool {
	return c.client >= 0 && ownership.Claim{Standing: c.standing, Leased: c.ends > c.margin, Over: c.over, Dead: c.dead, Holds: on}.Live()
}

// challengers have replaced the value of a live owner, one after another, and have not been told yet that they have the lock. The first that is nobody's
// ends the list.
type challengers [mostClients - 1]claim

var noChallengers = challengers(slices.Repeat([]claim{nobodys}, len(challengers{})))

// add adds the latest, which has replaced what its client wrote before. A late one does not take the place of one whose acquire is pending.
func (list *challengers) add(c claim) {
	if was, at := list.remove(c.client); at >= 0 && was.standing == pending && c.standing != pending {
		c = was
	}
	for i := range list {
		if list[i].client < 0 {
			list[i] = c
			return
		}
	}
}

// remove takes the claim of a client out. at is where it was; negative: it is none.
func (list *challengers) remove(client int) (c claim, at int) {
	at = slices.IndexFunc(list[:], func(c claim) bool { return c.client == client })
	if at < 0 {
		return nobodys, at
	}
	c = list[at]
	list.drop(at, at+1)
	return c, at
}

// drop takes out those from one to another.
func (list *challengers) drop(from, to int) {
	for n := copy(list[from:], list[to:]) + from; n < len(list); n++ {
		list[n] = nobodys
	}
}

// claimOf is the claim of a command's client if the command took the lock; acquires: it is of an acquire.
func (m *monitor) claimOf(w *world, i int, q message, change history.Change) (mine claim, acquires bool) {
	c := &w.clients[i]
	mine = claim{client: i, ends: never, standing: unclear}
	switch {
	case change.After.TTL > 0:
		mine.ends, mine.margin = max(ms(change.After.TTL), 1), ms(ownership.LeaseMargin(change.After.TTL))
	case !w.config.leaseless():
		mine.margin = ms(ownership.LeaseMargin(w.config.Lease))
		if mine.ends = ms(w.config.Lease); q.op != history.OpNone && !q.ended {
			mine.ends = max(mine.ends-c.ago.asked, 0) // the lease is in the value, which may have been made so long ago
		}
	}
	switch {
	case c.phase == crashed && !q.ended: // nobody will know
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

// follow notes whose the lock is after a command, as the checker's timeline does.
func (m *monitor) follow(command ownership.Command, mine claim, change history.Change) {
	o := &m.owner
	switch command.Change() {
	case ownership.Take:
		m.take(mine)
	case ownership.Free:
		m.take(nobodys)
	case ownership.Extend:
		o.ends = mine.ends
	case ownership.Regain:
		o.ends, m.challengers = mine.ends, noChallengers
	case ownership.Shorten:
		o.ends = min(o.ends, mine.ends)
	case ownership.Challenge:
		m.challengers.add(mine)
	}
	m.key = key{change.After.Exists(), change.After.Value, m.key.foreign && change.After.Exists()}
}

// observe brings the owner up to what a command found before it did anything.
func (m *monitor) observe(before history.State) {
	switch {
	case !before.Exists():
		m.key.foreign = false
	case !m.key.there:
		m.take(nobodys) // a fail-over has brought it back
	case before.Value != m.key.value:
		m.key.foreign = true
	}
}

func (m *monitor) take(c claim) {
	m.owner, m.challengers, m.key.foreign = c, noChallengers, false
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
