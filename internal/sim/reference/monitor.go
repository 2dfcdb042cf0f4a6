package reference

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/service"
)

// suspicions is a set of anomalies, in the order of the checker's definitions. A monitor suspects more than there is, and never less: the
// checker judges the whole history then.
type suspicions uint32

func (s *suspicions) add(name checker.Name) {
	for i, d := range checker.Definitions() {
		if d.Name == name {
			*s |= 1 << i
		}
	}
}

func (s suspicions) names() []checker.Name {
	var names []checker.Name
	for i, d := range checker.Definitions() {
		if s&(1<<i) != 0 {
			names = append(names, d.Name)
		}
	}
	return names
}

// charge is an anomaly, if the acquires that it waits for end well.
type charge struct {
	name checker.Name
	on   []acquireOf
}

// acquireOf is an acquire of a client.
type acquireOf struct{ client, op int }

// looks is what a client's operation has seen and done.
type looks struct {
	ghost                    bool // its acquire met the lock of a client that was told that it has not got it
	kept                     int  // the client, plus 1, for whose acquire its own found the lock kept
	keptRefused              bool // that acquire has ended without the lock
	swapped                  bool // another was told ok, though the lock was kept from it for this client's acquire
	rightful                 bool // the lock was its own when its release was called, and since
	looked, changed, removed bool // by its release
}

// monitor is what suspicions need to know of what has happened.
type monitor struct {
	suspects   suspicions // since the last choice
	owner      claim
	challenger claim // it has replaced the owner's value, and has not been told yet
	charges    []charge
	clients    []looks
	turn       int // the client that was told last that it has the lock; negative: nobody
	turnOver   bool
	fence      int64
	acked      []int64 // what acknowledged updates had read
	hung       bool
	silent     bool // the owner's release has sent nothing, and nothing has named the lock since
}

func newMonitor(clients int) monitor {
	return monitor{owner: claim{client: -1, ends: never}, challenger: claim{client: -1, ends: never}, clients: make([]looks, clients), turn: -1}
}

func (m *monitor) clone() monitor {
	twin := *m
	twin.charges, twin.clients, twin.acked = slices.Clone(m.charges), slices.Clone(m.clients), slices.Clone(m.acked)
	return twin
}

func (m *monitor) appendTo(b []byte) []byte {
	b = m.challenger.appendTo(m.owner.appendTo(append(b, 'm')))
	for _, l := range m.clients {
		b = fmt.Append(b, l.ghost, l.kept, l.keptRefused, l.swapped, l.rightful, l.looked, l.changed, l.removed)
	}
	for _, n := range append([]int64{int64(m.turn), m.fence, int64(len(m.acked))}, m.acked...) {
		b = binary.AppendVarint(b, n)
	}
	b = fmt.Append(b, m.turnOver, m.hung, m.silent)
	if len(m.charges) > 0 {
		b = fmt.Append(b, m.charges)
	}
	return b
}

func (m *monitor) called(w *world, i int, op history.Op) {
	c, l := &w.clients[i], &m.clients[i]
	switch op {
	case history.OpAcquire:
		c.phase = acquiring
		*l = looks{}
	case history.OpWork:
		c.phase, c.passed = working, false
	case history.OpRelease:
		c.phase = releasing
		*l = looks{rightful: w.active(i) && m.rightful(w, i)}
		m.ends(i)
		c.on = false
	}
}

// rightful says whether the lock is the client's, with time left.
func (m *monitor) rightful(w *world, i int) bool {
	return m.owner.client == i && m.owner.standing == granted && w.now < m.owner.ends
}

// ends: a client's hold has ended.
func (m *monitor) ends(i int) {
	if m.owner.client == i {
		m.owner.over = true
	}
}

// holds: a client holds the lock from now, or goes on.
func (m *monitor) holds(w *world, i, until int, limited bool) {
	c := &w.clients[i]
	was := w.active(i)
	c.on = true
	if limited {
		c.ends = until
	} else if !was {
		c.ends = never
	}
	if was || !w.active(i) {
		return
	}
	for k := range w.clients {
		if k != i && w.active(k) {
			m.suspects.add(checker.DoubleHolder)
		}
	}
}

func (m *monitor) returned(w *world, i int, op history.Op, a history.Answer) {
	c, l, ok := &w.clients[i], &m.clients[i], a.Outcome == history.OK
	switch op {
	case history.OpAcquire:
		m.settle(i, c.ops, ok)
		m.settleKept(i, ok)
		if ok {
			m.grant(w, i, a)
		} else if l.ghost && a.Outcome == history.No {
			m.suspects.add(checker.GhostLock)
		}
		l.ghost = false
	case history.OpWork:
		c.passed = false
		if ok {
			for _, read := range m.acked {
				if read >= a.Read {
					m.suspects.add(checker.LostUpdate)
				}
			}
			m.acked = append(m.acked, a.Read)
		}
	case history.OpRelease:
		m.released(w, i, a.Outcome)
	}
}

func (m *monitor) released(w *world, i int, outcome history.Outcome) {
	l := &m.clients[i]
	if outcome == history.OK && m.turn == i {
		m.turnOver = true
	}
	own := m.rightful(w, i)
	if own && (l.rightful || l.changed) && outcome != history.Unknown {
		if l.looked {
			m.suspects.add(checker.Unreleasable)
		}
		m.silent = !l.looked
	}
	if (own && l.rightful && !l.changed || l.removed) && outcome == history.No {
		m.suspects.add(checker.FalseAlarm)
	}
	*l = looks{}
}

func (m *monitor) grant(w *world, i int, a history.Answer) {
	c := &w.clients[i]
	c.on = false
	if !a.Limited || a.Valid > 0 {
		m.holds(w, i, c.heard+ms(c.lasts(a.Valid)-history.ExpiryMargin), a.Limited)
	}
	m.turn, m.turnOver = i, false
	w.passTurn(i)
	if a.Fence != 0 {
		if a.Fence <= m.fence {
			m.suspects.add(checker.FenceRegression)
		}
		m.fence = max(m.fence, a.Fence)
	}
}

// passTurn notes that a client has a turn while others work, and while what they wrote may arrive again.
func (w *world) passTurn(to int) {
	for i := range w.clients {
		c := &w.clients[i]
		if i == to {
			continue
		}
		c.passed = c.passed || c.phase == working
		for k := range c.travel {
			c.travel[k].passed = c.travel[k].passed || c.travel[k].op == history.OpWork
		}
	}
}

// settle takes in how an acquire has ended.
func (m *monitor) settle(i, op int, ok bool) {
	end := refused
	if ok {
		end = granted
	}
	if o := &m.owner; o.client == i && o.op == op && o.standing == pending {
		o.standing = end
	}
	if ch := &m.challenger; ch.client == i && ch.op == op {
		if ch.standing = end; ok {
			m.owner = *ch
		}
		*ch = claim{client: -1, ends: never}
	}
	var kept []charge
	for _, g := range m.charges {
		if at := slices.Index(g.on, acquireOf{i, op}); at >= 0 {
			if !ok {
				continue
			}
			g.on = slices.Delete(slices.Clone(g.on), at, at+1)
		}
		if len(g.on) == 0 {
			m.suspects.add(g.name)
			continue
		}
		kept = append(kept, g)
	}
	m.charges = kept
}

// lost: a lock has reported that it is lost.
func (m *monitor) lost(w *world, i int) {
	if w.active(i) && m.rightful(w, i) {
		m.suspects.add(checker.FalseAlarm)
	}
	m.ends(i)
}

// settleKept takes in how an acquire has ended that may have been told ok though the lock was kept for another, or be that other.
func (m *monitor) settleKept(i int, ok bool) {
	l := &m.clients[i]
	if !ok && l.swapped || ok && l.kept != 0 && l.keptRefused {
		m.suspects.add(checker.GhostLock)
	}
	if ok && l.kept != 0 {
		m.clients[l.kept-1].swapped = true
	}
	l.kept, l.swapped = 0, false
	for k := range m.clients {
		if other := &m.clients[k]; other.kept == i+1 {
			other.keptRefused = !ok
			if ok {
				other.kept = 0
			}
		}
	}
}

func (m *monitor) crashed(i int) {
	m.settle(i, -1, false)
	if m.owner.client == i {
		m.owner.dead = true
	}
	m.charges = slices.DeleteFunc(m.charges, func(g charge) bool {
		return slices.ContainsFunc(g.on, func(a acquireOf) bool { return a.client == i })
	})
	if m.challenger.client == i {
		m.challenger = claim{client: -1, ends: never}
	}
}

// patience is how long a user waits for a release.
func (w *world) patience() int { return w.lease * 5 / 4 }

// late says whether a client's release has taken too long, and nothing but the lock has delayed it.
func (c *client) late(w *world) bool {
	return c.phase == releasing && !c.delayed && w.now-c.calledAt >= w.patience()
}

func (m *monitor) passed(w *world) {
	for i := range w.clients {
		if c := &w.clients[i]; c.late(w) && !m.hung {
			m.hung = true
			m.suspects.add(checker.HungOperation)
		}
	}
}

// wrote takes in a request to the resource. One that shows a fence only is no write.
func (m *monitor) wrote(w *world, i int, request message, r service.Reply) {
	if request.commands[0][0] == "GET" || !request.names(counterKey) || r.Kind == service.Error {
		return
	}
	if m.turn >= 0 && (m.turn != i || m.turnOver) {
		m.suspects.add(checker.StaleWrite)
	}
}

// commanded takes in a command that names the lock, and what it did.
func (m *monitor) commanded(w *world, i int, q message, change history.Change) {
	if len(w.servers) > 1 {
		return // nothing is concluded from one server of several
	}
	if m.silent && change.Before.Exists() {
		m.suspects.add(checker.Unreleasable)
	}
	m.silent = false
	effect := change.Effect(0)
	mine := m.claim(w, i, q, change)
	o := &m.owner
	foreign := o.client >= 0 && change.Before.Exists() && change.Before.Value != o.value
	own := o.client == i && !foreign
	live := o.client >= 0 && o.live(w.now, w.clients[o.client].on)
	counts, prolongs := false, false
	if effect == history.EffectReplaced && o.client != i && !foreign && mine.acquires {
		counts, prolongs = change.CountedBy(q.commands[len(q.commands)-1], 0)
	}
	harm := effect
	switch {
	case counts && prolongs:
		harm = history.EffectProlonged
	case counts:
		harm = history.EffectNone
	}
	if live && o.client != i {
		m.flag(i, effect, harm, mine, foreign)
	}
	m.look(w, i, q, effect, change.Before.Exists(), own)
	if counts {
		m.count(mine)
		return
	}
	m.follow(effect, own, live && !foreign, foreign, mine, change)
}

// look notes what the operation of a command has seen and done.
func (m *monitor) look(w *world, i int, q message, effect history.Effect, there, own bool) {
	o, l := &m.owner, &m.clients[i]
	if q.ended {
		return
	}
	switch q.op {
	case history.OpAcquire:
		ghost := o.client >= 0 && o.client != i && o.standing == refused && w.now < o.ends && !o.over && !o.dead
		l.ghost = l.ghost || ghost && there && effect == history.EffectNone
		l.kept, l.keptRefused = 0, false
		if there && effect == history.EffectNone && o.keeps(i, w.now) {
			l.kept, l.keptRefused = o.client+1, o.standing == refused
		}
	case history.OpRelease:
		l.looked = true
		l.removed = l.removed || own && effect == history.EffectRemoved
		l.changed = l.changed || own && effect == history.EffectReplaced
	}
}

// flag suspects what a command did to the live lock of another client.
func (m *monitor) flag(i int, effect, harm history.Effect, mine claim, foreign bool) {
	on := []acquireOf{}
	if m.owner.standing == pending {
		on = append(on, acquireOf{m.owner.client, m.owner.op})
	}
	name, known := map[history.Effect]checker.Name{
		history.EffectReplaced: checker.Overwrite, history.EffectRemoved: checker.WrongfulDelete, history.EffectProlonged: checker.WrongfulRenew,
	}[harm]
	if known && !foreign {
		m.charge(charge{name, on})
	}
	if counts := harm != effect; counts && m.owner.standing == pending {
		return // neither has the lock yet
	}
	if mine.standing == pending && (effect == history.EffectCreated || effect == history.EffectReplaced) {
		m.charge(charge{checker.EarlyGrant, append(slices.Clone(on), acquireOf{i, mine.op})})
	}
}

func (m *monitor) charge(g charge) {
	if len(g.on) == 0 {
		m.suspects.add(g.name)
		return
	}
	m.charges = append(m.charges, g)
}
