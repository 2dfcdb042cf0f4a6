package explore

import (
	"math/bits"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// command is a command of a client that names the lock.
type command struct {
	sending
	effect history.Effect
	before bool // the key was there
	server int8
	// unlimited: it had no expiry.
	unlimited bool
	after     history.State
	// sameValue: the key has the value from before; known of an unclear effect only.
	sameValue bool
	// Of a value that was replaced only, see history.Change.CountedBy.
	counts, prolongs bool
	// The key's values before and after it; see servers.value. Only where servers fail over: only there it can matter.
	found, left uint32
}

// commanded takes in a command.
func (j *judge) commanded(cmd command) {
	c, o := &j.s.clients[cmd.client], &j.s.owner
	if !cmd.unheard && (j.grants(cmd) || !j.several && j.declaresAfter(cmd)) {
		c.from = 0
	}
	if j.several {
		j.commandedOnOne(cmd)
		return
	}
	if !j.owners {
		j.followLease(cmd)
		j.noteTaken(cmd)
		return
	}
	j.observe(cmd)
	acquires := j.acquires(cmd)
	j.noteLeft(cmd, cmd.before && !o.foreign, acquires && cmd.op == history.OpAcquire)
	mine := j.mine(cmd, acquires)
	rule := ownership.Command{
		Effect: cmd.effect, ByOwner: int(o.client) == cmd.client+1, Live: j.claim(o.ends).Live(), Foreign: o.foreign,
		Unlimited: cmd.unlimited, Acquire: acquires || cmd.op == history.OpAcquire, Standing: mine.standing, Exists: cmd.after.Exists(), SameValue: cmd.sameValue,
		Counts: cmd.counts, Prolongs: cmd.prolongs, Pending: o.standing == ownership.Pending,
	}
	if o.client != 0 {
		j.against(cmd, rule)
	}
	if acquires && cmd.before && !o.foreign && cmd.effect == history.EffectNone {
		j.meetGhost(cmd)
	}
	j.noteKept(cmd, cmd.before && !o.foreign)
	if cmd.op == history.OpRelease && !cmd.ended {
		j.noteRelease(c, cmd)
	}
	j.countGrants(cmd)
	j.follow(cmd, rule, mine)
	o.there, o.foreign, o.value = cmd.after.Exists(), o.foreign && cmd.after.Exists(), cmd.left
	j.noteTaken(cmd)
}

// acquires says whether a command is part of an acquire that is under way.
func (j *judge) acquires(cmd command) bool {
	return !cmd.ended && j.s.clients[cmd.client].phase == acquiring && (cmd.op == history.OpAcquire || cmd.op == history.OpNone)
}

// grants says whether a command may have begun or prolonged the lease.
func (j *judge) grants(cmd command) bool {
	return cmd.effect != history.EffectNone && cmd.effect != history.EffectRemoved && cmd.effect != history.EffectShortened
}

// declaresAfter says whether what the client declares next counts from the reply to a command that grants nothing: the answer to the
// acquire whose command it is, or, from the background, a renewal that was refused.
func (j *judge) declaresAfter(cmd command) bool {
	c := &j.s.clients[cmd.client]
	if cmd.op == history.OpAcquire {
		return !cmd.ended && c.phase == acquiring
	}
	return cmd.op == history.OpNone && cmd.effect == history.EffectNone && c.has(on)
}

// observe takes in what a command has found.
func (j *judge) observe(cmd command) {
	o := &j.s.owner
	switch {
	case !cmd.before:
		o.foreign = false
	case !o.there:
		j.take(owner{})
	case o.stale && cmd.found != o.value:
		o.foreign = true
	}
	o.there, o.stale = cmd.before, false
}

// noteLeft notes whether an acquire finds the lock that a release has left in place.
func (j *judge) noteLeft(cmd command, found, acquires bool) {
	o := &j.s.owner
	switch {
	case o.left == 0:
	case !found && !j.several || o.ends <= o.margin || cmd.effect == history.EffectRemoved || cmd.effect == history.EffectReplaced:
		o.left = 0
	case found && acquires && cmd.effect == history.EffectNone:
		o.left |= 1 << cmd.client
	}
}

// mine is the claim that the command founds for its client if it took the lock.
func (j *judge) mine(cmd command, acquires bool) owner {
	c := &j.s.clients[cmd.client]
	mine := owner{client: uint8(cmd.client) + 1, standing: ownership.Dubious, margin: j.margin, sighting: sighting{there: true}}
	j.unlimited = j.unlimited || cmd.after.Exists() && cmd.after.TTL <= 0 && !j.Leaseless
	switch {
	case cmd.after.TTL > 0:
		mine.ends, mine.margin = fullMS(cmd.after.TTL), fullMS(ownership.LeaseMargin(cmd.after.TTL))
	case j.Leaseless:
		mine.ends = never
	case cmd.op != history.OpNone && !cmd.ended:
		mine.ends = j.lease - c.since
	case cmd.op != history.OpNone:
		mine.ends = j.lease - cmd.age
	default:
		mine.ends = j.lease
	}
	switch {
	case acquires:
		mine.standing = ownership.Pending
	case cmd.op == history.OpAcquire && cmd.ok:
		mine.standing, mine.sure, mine.over = ownership.Granted, mine.ends, !c.has(on)
	case cmd.op == history.OpAcquire:
		mine.standing, mine.early = ownership.Refused, cmd.early // it had been given up
	case c.has(on):
		mine.standing, mine.sure = ownership.Granted, mine.ends
	}
	return mine
}

// against judges what a command did to the lock of another client.
func (j *judge) against(cmd command, rule ownership.Command) {
	if rule.EarlyGrant() {
		j.flag(earlyGrant, cmd.client, true)
	}
	switch rule.Interference() {
	case history.EffectReplaced:
		j.flag(overwrite, cmd.client, false)
	case history.EffectRemoved:
		j.flag(wrongfulDelete, cmd.client, false)
	case history.EffectProlonged:
		j.flag(wrongfulRenew, cmd.client, false)
	}
}

// flag finds an anomaly, or keeps it as provisional while the acquires that it depends on are pending: the owner's, and that of the
// client whose command it is, if it counts only then.
func (j *judge) flag(what anomalies, by int, ifGranted bool) {
	if what&j.only == 0 {
		return
	}
	p := provisional{
		anomaly: uint8(bits.TrailingZeros32(uint32(what))) + 1, by: uint8(by), owner: j.s.owner.client - 1,
		byPending: ifGranted, ownerPending: j.s.owner.standing == ownership.Pending,
	}
	if !p.byPending && !p.ownerPending {
		j.found |= what
		return
	}
	for i := range j.s.provisional {
		if j.s.provisional[i] == p {
			return
		}
		if j.s.provisional[i].anomaly == 0 {
			j.s.provisional[i] = p
			return
		}
	}
	j.full = true
}

// settleProvisional takes in how a client's acquire has ended.
func (j *judge) settleProvisional(n int, ok bool) {
	kept := 0
	for _, p := range j.s.provisional {
		mine, hit := p.byPending && int(p.by) == n, p.ownerPending && int(p.owner) == n
		if p.anomaly == 0 || (mine || hit) && !ok {
			continue
		}
		p.byPending, p.ownerPending = p.byPending && !mine, p.ownerPending && !hit
		if !p.byPending && !p.ownerPending {
			j.found |= 1 << (p.anomaly - 1)
			continue
		}
		j.s.provisional[kept] = p
		kept++
	}
	clear(j.s.provisional[kept:])
}

// meetGhost notes whether an acquire found the lock held for a client that had been told before that it had not got it.
func (j *judge) meetGhost(cmd command) {
	o := &j.s.owner
	claim := j.claim(o.ends)
	claim.Holds = o.client != 0 && j.active(int(o.client)-1)
	if int(o.client) != cmd.client+1 && o.early&(1<<cmd.client) == 0 && claim.Ghost() {
		j.s.clients[cmd.client].set(metGhost)
	}
}

// follow records what a command did to the key; mine is the claim that it founds.
func (j *judge) follow(cmd command, rule ownership.Command, mine owner) {
	switch rule.Change() {
	case ownership.Take:
		j.take(mine)
	case ownership.Free:
		j.take(owner{})
	case ownership.Extend:
		j.extend(rule.Unlimited, mine)
	case ownership.Regain:
		j.extend(rule.Unlimited, mine)
		j.dropChallengers()
	case ownership.Shorten:
		j.s.owner.ends = min(j.s.owner.ends, mine.ends)
	case ownership.Challenge:
		j.challenges(cmd.client, mine.ends, j.acquires(cmd))
	}
}

// extend gives the owner the lease of a command.
func (j *judge) extend(unlimited bool, mine owner) {
	j.s.owner.ends = mine.ends
	if unlimited { // no longer than clients that count nominal leases can tell apart, or the search would not end
		j.s.owner.ends = min(mine.ends, 2*j.lease)
	}
}

// take gives what is under the key an owner, or none.
func (j *judge) take(o owner) {
	j.setOwner(o)
	j.dropChallengers()
}

// setOwner makes a claim the owner's. Challengers that came later may still be told that the lock is theirs.
func (j *judge) setOwner(o owner) {
	j.s.owner = o
	for i := range j.s.clients {
		j.s.clients[i].clear(tenure)
	}
}

// noteTaken remembers in which order pending acquires took the lock, and after which fence.
func (j *judge) noteTaken(cmd command) {
	c := &j.s.clients[cmd.client]
	if cmd.ended || cmd.op != history.OpAcquire || c.phase != acquiring {
		return
	}
	switch cmd.effect {
	case history.EffectCreated, history.EffectReplaced, history.EffectUnclear:
	default:
		return
	}
	if c.fence != sameGrant {
		c.fence = j.s.fence
	}
	if !j.owners { // then turns do not matter
		return
	}
	c.set(took)
	c.clear(late)
	c.after = 0
	for i := range j.s.clients {
		if i != cmd.client && j.s.clients[i].has(took) && j.s.clients[i].phase == acquiring {
			j.s.clients[i].after |= 1 << cmd.client
		}
	}
}

// countGrants follows a lock that counts, from the command that made it.
func (j *judge) countGrants(cmd command) {
	t := &j.s.tally
	if j.s.owner.foreign {
		*t = tally{} // it counts from another time
	}
	switch cmd.effect {
	case history.EffectCreated:
		*t = tally{}
		if j.counts && cmd.op == history.OpAcquire {
			t.client = uint8(cmd.client) + 1
		}
	case history.EffectReplaced:
		if int(t.client) != cmd.client+1 {
			*t = tally{}
		}
	case history.EffectRemoved, history.EffectUnclear:
		*t = tally{}
	}
}
