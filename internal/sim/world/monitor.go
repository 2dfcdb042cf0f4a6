package world

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/suspicion"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// Suspect suspects one, if it is looked for.
func (s *Space) Suspect(name checker.Name) (suspects suspicion.Set) {
	suspects.Add(name)
	return suspects & s.interest.suspicions
}

// looks is what a client's operation has seen and done.
type looks struct {
	after                    bool  // its acquire was called after the owner had been told that it has not got the lock
	since                    uint8 // the clients, in bits, that had been told so when its acquire was called, and whose late command may yet take the lock
	took, passed             bool  // its acquire has taken the lock; and since then another client was told that it has it
	left                     bool  // its acquire was refused by a lock that a release had left in place
	ghost                    bool  // its acquire met the lock of a client that was told that it has not got it
	kept                     int   // the client, plus 1, for whose acquire its own found the lock kept
	keptRefused              bool  // that acquire has ended without the lock
	swapped                  bool  // another was told ok, though the lock was kept from it for this client's acquire
	freed                    uint8 // the servers, in bits, from which its release has removed its client's part
	rightful                 bool  // the lock was its own when its release was called, and since
	looked, changed, removed bool  // by its release
	inner                    bool  // its release leaves it the lock, which it has acquired more often
}

// monitor is what a state remembers of what has happened, so that a step can be suspected of an anomaly. The checker's monitors read the whole history.
type monitor struct {
	suspects    suspicion.Set // since the last choice
	key         key
	owner       claim
	challengers challengers
	charges     suspicion.Charges
	clients     [mostClients]looks
	turn        int   // the client that was told last that it has the lock, or nobody, or turnOver
	contested   bool  // another may have taken it later
	overtaken   uint8 // the clients, in bits, that write for work since whose call another was granted the lock: the checker asks for it, so such states differ
	fence       int64
	acked       int   // how many updates were acknowledged
	greatest    int64 // of what they had read
	hung        bool
	left        bool // the owner's release has left the lock in place
	tally       suspicion.Tally
	queue       suspicion.Queue // if clients queue
	shares      shares          // of a lock on several servers
}

// Turns that are no client's.
const (
	nobody   = -1 // there has been none
	turnOver = -2 // the latest one has ended
)

func newMonitor(config *Config) monitor {
	return monitor{owner: nobodys, challengers: noChallengers, turn: nobody, shares: newShares(config)}
}

func (m *monitor) called(w *world, i int, op history.Op) {
	c, l := &w.clients[i], &m.clients[i]
	switch op {
	case history.OpAcquire:
		if c.phase = acquiring; w.config.Queue {
			m.queue.Calls(i)
		}
		*l = looks{after: m.owner.client >= 0 && m.owner.standing == refused || m.shares.ghosts(i)}
		for k := range w.clients {
			if w.clients[k].refusedLate() {
				l.since |= 1 << k
			}
		}
	case history.OpWork:
		if c.phase = working; !c.writesLate() {
			m.overtaken &^= 1 << i
		}
	case history.OpRelease:
		c.phase = releasing
		*l = looks{rightful: (c.active() || c.unsure) && m.rightful(i), inner: w.reenters() && c.active() && c.count.holds > 1}
		if m.tally.Releases(i, c.active()); l.inner {
			c.count.holds--
			return
		}
		m.ends(i)
		c.on = false
	}
}

// rightful says whether the lock is the client's, with time left.
func (m *monitor) rightful(i int) bool {
	if m.shares.need > 0 {
		return m.shares.rightful(i)
	}
	return m.owner.client == i && m.owner.standing == granted && m.owner.ends > 0
}

// ends: a client's hold has ended.
func (m *monitor) ends(i int) {
	if m.owner.client == i {
		m.owner.over = true
	}
	m.shares.holdEnds(i)
}

// holds: a client holds the lock from now, or goes on.
func (m *monitor) holds(w *world, i, until int, limited bool) {
	c := &w.clients[i]
	was := c.active()
	c.on = true
	if limited {
		c.ends = max(until, -1)
	} else if !was {
		c.ends = never
	}
	if was || !c.active() {
		return
	}
	others := 0
	for k := range w.clients {
		if k != i && w.clients[k].active() {
			others++
		}
	}
	if others >= max(w.config.Lock.Permits, 1) {
		m.suspects.Add(checker.DoubleHolder)
	}
}

func (m *monitor) returned(w *world, i int, op history.Op, a history.Answer) {
	l, ok := &m.clients[i], a.Outcome == history.OK
	switch op {
	case history.OpAcquire:
		m.settle(i, ok)
		m.settleKept(i, ok)
		if w.config.Queue {
			m.queue.Returned(i, a.Outcome, &m.suspects)
		}
		if ok {
			m.grant(w, i, a)
		} else if a.Outcome == history.No {
			if l.ghost {
				m.suspects.Add(checker.GhostLock)
			}
			if l.left {
				m.suspects.Add(checker.Unreleasable)
			}
		}
		*l = looks{}
	case history.OpWork:
		if !w.clients[i].writesLate() {
			m.overtaken &^= 1 << i
		}
		if ok {
			if m.acked > 0 && m.greatest >= a.Read {
				m.suspects.Add(checker.LostUpdate)
			}
			m.acked, m.greatest = m.acked+1, max(m.greatest, a.Read)
		}
	case history.OpRelease:
		m.released(w, i, a.Outcome)
	}
}

func (m *monitor) grant(w *world, i int, a history.Answer) {
	c := &w.clients[i]
	again := c.active()
	m.tally.Acquired(i)
	if a.Limited && a.Valid <= 0 {
		c.on = false
		m.ends(i)
	} else {
		if c.count.holds++; !again {
			c.count.holds = 1
		}
		m.holds(w, i, ms(c.lasts(a.Valid)-history.ExpiryMargin)-c.heard, a.Limited)
	}
	m.turn, m.contested = i, m.clients[i].passed
	for k := range w.clients {
		if k == i {
			continue
		}
		m.clients[k].passed = m.clients[k].passed || m.clients[k].took
		if c := &w.clients[k]; c.phase == working || c.writesLate() {
			m.overtaken |= 1 << k
		}
	}
	if a.Fence != 0 {
		if a.Fence <= m.fence && !again {
			m.suspects.Add(checker.FenceRegression)
		}
		m.fence = max(m.fence, a.Fence)
	}
}

// settle notes how an acquire has ended.
func (m *monitor) settle(i int, ok bool) {
	end := refused
	if ok {
		end = granted
	}
	if o := &m.owner; o.client == i && o.standing == pending {
		o.standing = end
	}
	m.shares.settle(i, end)
	if ch, at := m.challengers.remove(i); at >= 0 && ok && ch.standing == pending {
		ch.standing = end
		m.owner = ch
		m.challengers.drop(0, at) // what these wrote it has replaced
	}
	m.charges.Settle(i, ok, &m.suspects)
}

// lost: a lock has reported that it is lost.
func (m *monitor) lost(w *world, i int) {
	if w.clients[i].active() && m.rightful(i) {
		m.suspects.Add(checker.FalseAlarm)
	}
	m.ends(i)
}

// settleKept notes how an acquire has ended that may have been told ok though the lock was kept for another, or be that other.
func (m *monitor) settleKept(i int, ok bool) {
	l := &m.clients[i]
	if !ok && l.swapped || ok && l.kept != 0 && l.keptRefused {
		m.suspects.Add(checker.GhostLock)
	}
	if ok && l.kept != 0 {
		m.clients[l.kept-1].swapped = true
	}
	l.kept, l.swapped = 0, false
	for k := range m.clients {
		if other := &m.clients[k]; other.kept == i+1 && !other.keptRefused { // else it is an older acquire that kept it
			other.keptRefused = !ok
			if ok {
				other.kept = 0
			}
		}
	}
}

func (m *monitor) crashed(i int) {
	if m.owner.client == i {
		m.owner.dead = true
	}
	m.shares.crashes(i)
	m.clients[i] = looks{}
	m.charges.Settle(i, false, &m.suspects)
	m.queue.Crashed(i)
	m.challengers.remove(i)
}

// passes lets time pass. The clients, in bits, are paused meanwhile.
func (m *monitor) passes(d int, paused uint8) {
	m.queue.Disturbs(paused)
	m.shares.passes(d)
	m.owner.ends = nearer(m.owner.ends, d)
	for i := range m.challengers {
		m.challengers[i].ends = nearer(m.challengers[i].ends, d)
	}
}

// wrote handles a request to the resource, of which nothing remains. One that shows a fence only is no write.
func (w *world) wrote(i int, request message, r service.Reply) {
	if request.commands[0][0] == "GET" || !request.names(counterKey) || r.Kind == service.Error {
		return
	}
	w.reads.turn = true
	if m := &w.known; m.turn != nobody && (m.turn != i || m.contested) {
		m.suspects.Add(checker.StaleWrite)
	}
}

// commanded handles a command that names the lock, and what it did.
func (m *monitor) commanded(w *world, i int, q message, change history.Change) {
	if len(w.servers) > 1 {
		m.commandedOnOne(w, i, q, change)
		return
	}
	m.observe(change.Before)
	mine, acquires := m.claimOf(w, i, q, change)
	o := &m.owner
	command := ownership.Command{
		Effect: change.Effect(0), ByOwner: o.client == i, Live: o.client >= 0 && o.live(w.clients[o.client].on), Pending: o.standing == pending,
		Foreign: m.key.foreign, Unlimited: change.Before.Exists() && change.Before.TTL == 0,
		Acquire: acquires, Standing: mine.standing, Exists: change.After.Exists(), SameValue: change.Before.Value == change.After.Value,
	}
	if command.Effect == history.EffectReplaced {
		command.Counts, command.Prolongs = change.CountedBy(q.commands[len(q.commands)-1], 0)
	}
	m.flag(i, command)
	m.look(i, q, command.Effect, change.Before.Exists(), command.ByOwner && !command.Foreign)
	m.recount(w, i, q, command.Effect, command.Foreign, acquires)
	m.left = m.left && !command.Foreign && stays(command.Effect, change)
	if m.follow(command, mine, change); m.owner.client == i {
		m.haunts(mine)
	}
}

// haunts: a late command of an acquire that was refused has taken the lock.
func (m *monitor) haunts(late claim) {
	for k := range m.clients {
		l := &m.clients[k]
		l.after = l.after || late.standing == refused && l.since>>late.client&1 != 0
	}
}

// refusedLate says whether what a refused acquire has sent, or a node that it has made, may yet take the lock.
func (c *client) refusedLate() bool {
	refused := func(m message) bool { return m.op == history.OpAcquire && m.ended && !m.ok }
	return slices.ContainsFunc(c.travel, refused) || slices.ContainsFunc(c.session.made, func(m made) bool { return refused(m.message) })
}

// recount notes what a command has made of the queue, and of how often its client has the lock.
func (m *monitor) recount(w *world, i int, q message, effect history.Effect, foreign, acquires bool) {
	if w.config.Queue && !q.ended && q.op == history.OpAcquire {
		m.queue.Commanded(i, effect)
	}
	if w.reenters() {
		m.tally.Commanded(i, effect, foreign, acquires)
	}
}

// writesLate says whether a write of the client's is on its way that nobody waits for.
func (c *client) writesLate() bool {
	return slices.ContainsFunc(c.travel, func(m message) bool { return m.op == history.OpWork })
}

// stays says whether a command has left the lock as it was, but for its end.
func stays(effect history.Effect, change history.Change) bool {
	return change.Before.Exists() && effect != history.EffectRemoved && effect != history.EffectReplaced
}

// seizes says whether a command may have taken the lock.
func seizes(effect history.Effect) bool {
	return effect == history.EffectCreated || effect == history.EffectReplaced || effect == history.EffectUnclear
}

// look notes what the operation of a command has seen and done.
func (m *monitor) look(i int, q message, effect history.Effect, there, own bool) {
	o, l := &m.owner, &m.clients[i]
	if q.ended {
		return
	}
	switch q.op {
	case history.OpAcquire:
		met := there && effect == history.EffectNone
		if seizes(effect) {
			l.took, l.passed = true, false
		}
		l.ghost = l.ghost || met && l.after && o.ghost(i)
		l.left = l.left || m.left && met
		l.kept, l.keptRefused = 0, false
		if met && o.keeps(i) {
			l.kept, l.keptRefused = o.client+1, o.standing == refused
		}
	case history.OpRelease:
		l.looked = true
		l.removed = l.removed || own && effect == history.EffectRemoved
		l.changed = l.changed || own && effect == history.EffectReplaced
	}
}

// flag suspects what a command did to the live lock of another client.
func (m *monitor) flag(i int, command ownership.Command) {
	var on uint32
	if command.Live && command.Pending {
		on = 1 << m.owner.client
	}
	harmful := []history.Effect{history.EffectReplaced, history.EffectRemoved, history.EffectProlonged} // in the order of harms
	if at := slices.Index(harmful, command.Interference()); at >= 0 {
		m.charges.Charge(suspicion.Harm(at), on, &m.suspects)
	}
	if command.EarlyGrant() {
		m.charges.Charge(suspicion.EarlyGrant, on|1<<i, &m.suspects)
	}
}
