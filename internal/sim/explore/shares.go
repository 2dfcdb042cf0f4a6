package explore

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// A lock on several servers is a client's if one acquire of its has it on a majority of them. So it takes each server's share to say whose
// the lock is; of a single server, the owner says it.

// share is what one server has of a lock on several.
type share struct {
	client uint8 // whose it is, plus 1; 0: it is not known
	ago    uint8 // by which acquire of its; see acquireAgo
	there  bool  // the key was there when it was last seen
	stale  bool  // it may have changed since, unseen
	margin ms    // how much of the lease must be left before it counts
	ends   ms
	value  uint32 // see command.left
}

type shares [learn.MostServers]share

// Of a client's acquires only the latest ones are told apart: this many acquires ago.
const (
	longAgo   = 3
	noAcquire = 7 // it is part of none
)

// sharing numbers what the servers have. Number 0 is nothing.
type sharing struct {
	store store[shares]
	need  int // to have the lock: a majority
	keep  int // to keep others from having it: of an even number of servers, half
	all   int
}

func newSharing(servers, orders int) *sharing {
	need := servers/2 + 1
	q := &sharing{store: newStore[shares](orders), need: need, keep: servers - need + 1, all: servers}
	q.store.number(&shares{})
	return q
}

func (q *sharing) of(n uint32) shares { return q.store.values[n] }

// renamed is the number of what the servers would have if the clients had changed places from the start.
func (q *sharing) renamed(t *learn.Texts, o int, n uint32) uint32 {
	if twin := *q.store.twin(o, n); twin != 0 {
		return twin - 1
	}
	twin := q.of(n)
	for i := range twin {
		if twin[i].client != 0 {
			twin[i].client = t.Orders[o][twin[i].client-1] + 1
		}
		twin[i].value = t.RenameReply(o, twin[i].value)
	}
	number := q.store.number(&twin)
	*q.store.twin(o, n) = number + 1
	return number
}

// has says whether a majority of the servers is certainly the client's by one acquire, with lease left.
func (q *sharing) has(all *shares, client, ago uint8) bool {
	return q.votes(all, client, ago) >= q.need
}

// keeps says whether so many are that nobody else can have a majority.
func (q *sharing) keeps(all *shares, client, ago uint8) bool {
	return q.votes(all, client, ago) >= q.keep
}

// votes are the servers that are certainly the client's by one acquire, with lease left.
func (q *sharing) votes(all *shares, client, ago uint8) (n int) {
	for _, p := range all[:q.all] {
		if p.there && !p.stale && client != 0 && p.client == client && p.ago == ago && p.ends > p.margin {
			n++
		}
	}
	return n
}

// ends is when others can have a majority, if nothing happens.
func (q *sharing) ends(all *shares, client, ago uint8) ms {
	var ends []ms
	for _, p := range all[:q.all] {
		if p.there && p.client == client && p.ago == ago {
			ends = append(ends, p.ends)
		}
	}
	if len(ends) < q.keep {
		return 0
	}
	slices.Sort(ends)
	return ends[len(ends)-q.keep]
}

// blocks says whether so many servers have been seen to be others' that the client cannot have a majority.
func (q *sharing) blocks(all *shares, client uint8) bool {
	n := 0
	for _, p := range all[:q.all] {
		if p.there && !p.stale && p.client != client {
			n++
		}
	}
	return n >= q.keep
}

// pass lets time pass on what the servers have.
func (q *sharing) pass(n uint32, d ms) uint32 {
	if n == 0 {
		return 0
	}
	all := q.of(n)
	for i := range all {
		all[i].ends = max(later(all[i].ends, d), 0)
	}
	return q.store.number(&all)
}

// doubt: what a server has may have changed without a command.
func (q *sharing) doubt(n uint32, server uint8) uint32 {
	if n == 0 {
		return 0
	}
	all := q.of(n)
	all[server].stale = all[server].client != 0 || all[server].there
	return q.store.number(&all)
}

// anew: a client calls another acquire.
func (q *sharing) anew(n uint32, client uint8) uint32 {
	if n == 0 {
		return 0
	}
	all := q.of(n)
	for i := range all {
		if all[i].client == client {
			all[i].ago = older(all[i].ago)
		}
	}
	return q.store.number(&all)
}

// older is one acquire more ago.
func older(ago uint8) uint8 {
	if ago == noAcquire {
		return noAcquire
	}
	return min(ago+1, longAgo)
}

// observe brings a share up to what a command found before it did anything.
func (p *share) observe(cmd command) {
	if cmd.before != p.there || p.stale && cmd.found != p.value {
		p.client, p.ago = 0, 0
	}
	p.there, p.stale = cmd.before, false
}

// apply records what a command did to a share. mine is the claim that it founds; again: its client has the lock already.
func (p *share) apply(cmd command, mine owner, again bool) {
	rule := ownership.Part{
		Effect: cmd.effect, Own: p.client == mine.client && p.there, Again: again, Acquire: mine.ago != noAcquire, SameValue: cmd.sameValue,
	}
	switch rule.Change() {
	case ownership.Take:
		p.client, p.ago, p.margin, p.ends = mine.client, mine.ago, mine.margin, mine.ends
	case ownership.Extend:
		p.ends = mine.ends
	case ownership.Shorten:
		p.ends = min(p.ends, mine.ends)
	}
	if p.there, p.value = cmd.after.Exists(), cmd.left; !p.there {
		*p = share{}
	}
}

// whole is what a command on one server did to a lock on several.
type whole struct {
	command          // with its effect on the lock as a whole
	mine       owner // the claim that it founds if its client won the lock by it
	gets, wins bool  // its client has a majority now; and had none before
	live       bool  // the owner's claim must be respected
	found      bool  // it has seen that others have the lock
	theirs     bool  // what it found on its server is the owner's
	lost       share // what it removed from its server
}

// touch brings the shares up to a command that names the lock.
func (j *judge) touch(cmd command, acquires bool) whole {
	q, o := j.sharing, &j.s.owner
	all := q.of(j.s.shares)
	p := &all[cmd.server]
	p.observe(cmd)
	w := whole{command: cmd, mine: j.mine(cmd, acquires), live: j.claim(o.ends).Live()}
	w.mine.ago = cmd.acquireAgo(acquires)
	own := int(o.client) == cmd.client+1
	w.theirs = p.client == o.client && p.ago == o.ago
	if cmd.effect == history.EffectRemoved {
		w.lost = *p
	}
	had, got := q.keeps(&all, o.client, o.ago), q.has(&all, w.mine.client, w.mine.ago)
	p.apply(cmd, w.mine, own && w.live)
	w.gets = q.has(&all, w.mine.client, w.mine.ago)
	w.wins = w.gets && !got && w.mine.ago != noAcquire
	swing := ownership.Swing{Effect: cmd.effect, Own: own, Had: had, Has: q.keeps(&all, o.client, o.ago), Wins: w.wins}
	switch {
	case swing.Wins:
		w.mine.ends = q.ends(&all, w.mine.client, w.mine.ago)
	case swing.Extends():
		o.ends = q.ends(&all, o.client, o.ago)
	}
	w.effect, w.found = swing.Whole(), cmd.effect == history.EffectNone && q.blocks(&all, w.mine.client)
	j.s.shares = q.store.number(&all)
	return w
}

// acquireAgo is how many acquires ago its client called the one that a command is part of.
func (cmd command) acquireAgo(acquires bool) uint8 {
	switch {
	case acquires:
		return 0
	case cmd.op == history.OpAcquire:
		return cmd.ago
	}
	return noAcquire
}

// commandedOnOne takes in a command to one server of several.
func (j *judge) commandedOnOne(cmd command) {
	if j.sharing == nil {
		j.noteTaken(cmd)
		return
	}
	c, o := &j.s.clients[cmd.client], &j.s.owner
	acquires := j.acquires(cmd)
	w := j.touch(cmd, acquires)
	j.noteLeft(w.command, w.found, acquires && cmd.op == history.OpAcquire)
	rule := ownership.Command{
		Effect: w.effect, ByOwner: int(o.client) == cmd.client+1, Live: w.live, Acquire: w.mine.ago != noAcquire, Standing: w.mine.standing,
	}
	if o.client != 0 {
		j.against(w.command, rule)
	}
	if acquires && w.found && w.theirs {
		j.meetGhost(w.command)
	}
	j.noteKept(w.command, w.found && w.theirs)
	if cmd.op == history.OpRelease && !cmd.ended {
		j.noteRelease(c, w.command)
		j.noteFreed(c, cmd, w.lost)
	}
	j.countGrants(w.command)
	switch ownership.WholeChange(w.effect, rule.ByOwner, w.live, w.gets) {
	case ownership.Take:
		j.take(w.mine)
	case ownership.Free:
		j.take(owner{})
	case ownership.Challenge:
		j.challenges(cmd.client, w.mine.ends, acquires)
	}
	all := j.sharing.of(j.s.shares)
	o.there, o.stale = j.sharing.has(&all, o.client, o.ago), false
	if w.wins {
		j.noteTaken(cmd)
	}
}

// doubt: what a server has may have changed without a command.
func (j *judge) doubt(server uint8) {
	j.s.owner.stale = true
	if j.sharing != nil {
		j.s.shares = j.sharing.doubt(j.s.shares, server)
	}
}

// calledAnother: a client has called another acquire, so what it has by those before is of one more ago.
func (j *judge) calledAnother(n int) {
	if j.sharing == nil || j.queues {
		return
	}
	j.s.shares = j.sharing.anew(j.s.shares, uint8(n)+1)
	if o := &j.s.owner; int(o.client) == n+1 {
		o.ago = older(o.ago)
	}
	c := &j.s.clients[n]
	for k, r := range c.travel {
		if r != 0 && r&current == 0 && history.Op(r>>travelOp&7) == history.OpAcquire {
			c.agos[k] = older(c.agos[k])
		}
	}
	c.sortTravel()
}

// unjudged are the anomalies that were wanted and are not looked for: for how long a stranger's command has prolonged a majority is not followed,
// nor whose a lock is that needs all its servers. The checker judges both.
func (j *judge) unjudged() anomalies {
	switch {
	case !j.several:
		return 0
	case j.sharing != nil:
		return j.only & wrongfulRenew
	}
	return j.only & (ofOwners &^ staleWrite)
}
