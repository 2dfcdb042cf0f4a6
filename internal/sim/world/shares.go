package world

import (
	"math/bits"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/suspicion"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// A lock on several servers is its client's who has it on as many as it needs. What a command on one of them does to the lock as a whole, the checker
// knows from the history. Suspected is what it does to a part of it, while its client may have the whole.

// shares is what is known of a lock on several servers.
type shares struct {
	need, all int8              // of the servers, to have the lock; 0: it is on one server
	owners    [MostServers]int8 // whose the part of each is: the client, plus 1; 0: nobody's, or somebodys
	stakes    [mostClients]stake
}

// somebodys part is of a client that is not known.
const somebodys = mostClients + 1

// stake is what a client has by its latest acquire, on any servers.
type stake struct {
	standing   ownership.Standing
	over, dead bool // as of a claim
	ends       int  // the last part
	ghost      int  // what it has by acquires without which it was told that it has the lock, the last part; not positive: none
}

// newShares is those of a lock.
func newShares(config *Config) (s shares) {
	if config.Servers == 1 {
		return s
	}
	s.all = int8(config.Servers)
	if s.need = s.all/2 + 1; config.Lock.Needs == impls.EveryServer {
		s.need = s.all
	}
	for i := range s.stakes {
		s.stakes[i].standing = unclear
	}
	return s
}

func (v *stake) live(on bool) bool {
	return ownership.Claim{Standing: v.standing, Leased: v.ends > 0, Over: v.over, Dead: v.dead, Holds: on}.Live()
}

// ghosts says whether another client than this one has a part without having been told that it has the lock.
func (s *shares) ghosts(but int) bool {
	for i := range s.stakes {
		if i != but && s.stakes[i].ghost > 0 && !s.stakes[i].dead && s.has(i) > 0 {
			return true
		}
	}
	return false
}

// has is how many servers a client may have.
func (s *shares) has(i int) (n int8) {
	for _, owner := range s.owners {
		if int(owner) == i+1 || owner == somebodys {
			n++
		}
	}
	return n
}

// blocks says whether others may have so many that the client cannot have the lock.
func (s *shares) blocks(i int) bool {
	var n int8
	for _, owner := range s.owners {
		if owner != 0 && int(owner) != i+1 {
			n++
		}
	}
	return n > s.all-s.need
}

// rightful says whether the lock is the client's, with time left.
func (s *shares) rightful(i int) bool {
	v := &s.stakes[i]
	return v.standing == granted && v.ends > 0 && s.has(i) >= s.need
}

// settle notes how an acquire has ended.
func (s *shares) settle(i int, end ownership.Standing) {
	if v := &s.stakes[i]; s.need > 0 && v.standing == pending {
		if v.standing = end; end == refused {
			v.ghost = max(v.ghost, v.ends)
		}
	}
}

// holdEnds: a client's hold has ended.
func (s *shares) holdEnds(i int) { s.stakes[i].over = s.need > 0 && s.stakes[i].standing != unclear }

func (s *shares) crashes(i int) { s.stakes[i].dead = s.need > 0 && s.stakes[i].standing != unclear }

// released: a client knows what its release has come to, so what it had does not matter any more.
func (s *shares) released(i int) {
	if s.need > 0 && s.stakes[i].over {
		s.stakes[i] = stake{standing: unclear, ghost: s.stakes[i].ghost}
	}
}

// passes lets time pass. What a stake was that is over does not matter.
func (s *shares) passes(d int) {
	for i := range s.stakes {
		v := &s.stakes[i]
		if v.ghost = max(nearer(v.ghost, d), 0); v.standing == unclear {
			continue
		}
		if v.ends = nearer(v.ends, d); v.ends <= 0 {
			*v = stake{standing: unclear, ghost: v.ghost}
		}
	}
}

// doubt: another state of a server has come back.
func (s *shares) doubt(server int) {
	if s.need > 0 {
		s.owners[server] = somebodys
	}
}

// gains notes that a command has left a part that is its client's.
func (s *shares) gains(w *world, i int, mine claim) {
	v := &s.stakes[i]
	if mine.standing == refused {
		v.ghost = max(v.ghost, mine.ends)
	}
	if !v.live(w.clients[i].on) {
		*v = stake{mine.standing, mine.over, mine.dead, mine.ends, v.ghost}
		return
	}
	if v.ends = max(v.ends, mine.ends); mine.standing == granted {
		v.standing = granted
	}
}

// commandedOnOne handles a command to one server of several.
func (m *monitor) commandedOnOne(w *world, i int, q message, change history.Change) {
	s, effect := &m.shares, change.Effect(0)
	part := &s.owners[q.server]
	switch there := change.Before.Exists(); {
	case !there:
		*part = 0
	case *part == 0:
		*part = somebodys
	}
	mine, acquires := m.claimOf(w, i, q, change)
	for k := range w.clients {
		if v := &s.stakes[k]; k != i && v.live(w.clients[k].on) {
			m.flagOnOne(i, k, effect, mine, *part == somebodys || int(*part) == k+1)
		}
	}
	m.lookOnOne(i, q, effect, change.Before.Exists(), int(*part)-1)
	switch {
	case !change.After.Exists():
		*part = 0
	case seizes(effect):
		*part = int8(i) + 1
	}
	if int(*part) == i+1 && effect != history.EffectNone {
		s.gains(w, i, mine)
		m.haunts(mine)
	}
	if effect == history.EffectCreated && s.has(i) < s.need {
		effect = history.EffectNone // it has not got the lock
	}
	m.recount(w, i, q, effect, false, acquires)
}

// flagOnOne suspects what a command did to a part of the lock, or the whole, of another client that may have it; theirs: the part is.
func (m *monitor) flagOnOne(i, other int, effect history.Effect, mine claim, theirs bool) {
	var on uint32
	if m.shares.stakes[other].standing == pending {
		on = 1 << other
	}
	replaces := effect == history.EffectReplaced || effect == history.EffectUnclear
	for at, harm := range [...]bool{replaces, effect == history.EffectRemoved, effect == history.EffectProlonged} { // in the order of harms
		if harm && theirs {
			m.charges.Charge(suspicion.Harm(at), on, &m.suspects)
		}
	}
	if mine.standing == pending && (replaces || effect == history.EffectCreated) {
		m.charges.Charge(suspicion.EarlyGrant, on|1<<i, &m.suspects)
	}
}

// lookOnOne notes what the operation of a command has seen and done on one server, whose part has been of a client; negative: nobody's.
func (m *monitor) lookOnOne(i int, q message, effect history.Effect, there bool, of int) {
	switch {
	case q.ended:
	case q.op == history.OpAcquire:
		l := &m.clients[i]
		l.took = l.took || seizes(effect)
		if l.kept, l.keptRefused = 0, false; there && effect == history.EffectNone && m.shares.blocks(i) {
			m.keptOnOne(i, of)
		}
	case q.op == history.OpRelease:
		m.freedOnOne(i, q.server, effect, of)
	}
}

// keptOnOne: the lock is kept from a client's acquire.
func (m *monitor) keptOnOne(i, of int) {
	s, l := &m.shares, &m.clients[i]
	l.left = l.left || m.left
	l.ghost = l.ghost || l.after && s.ghosts(i)
	if of < 0 || of >= mostClients || of == i {
		return
	}
	if v := &s.stakes[of]; v.standing == pending || v.ghost > 0 {
		l.kept, l.keptRefused = of+1, v.ghost > 0
	}
}

// freedOnOne handles a command of a client's release.
func (m *monitor) freedOnOne(i, server int, effect history.Effect, of int) {
	l := &m.clients[i]
	l.looked = true
	if own := of == i || of == somebodys-1; own && effect == history.EffectRemoved && l.rightful {
		l.freed |= 1 << server
		l.removed = bits.OnesCount8(l.freed) >= int(m.shares.need)
	}
	l.changed = l.changed || of == i && effect == history.EffectReplaced
}

// shares is those of a lock as they are called under an order of clients.
func (o *order) shares(of shares) (called shares) {
	called = of
	for at, owner := range of.owners {
		if owner != 0 && owner != somebodys {
			called.owners[at] = int8(o.to[owner-1]) + 1
		}
	}
	for i, k := range o.to {
		called.stakes[k] = of.stakes[i]
	}
	return called
}
