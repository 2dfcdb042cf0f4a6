package explore

import (
	"math/bits"
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/internal/sim/process"
)

// farAway is how many leases a key, a wait or a sleep may last that is renewed over and over: what comes then is as what was searched.
const farAway = 2

// timeMoves appends the moves by which time passes to the next deadline and which spend so many faults. A client that could make a step
// meanwhile is paused, in a long hold, or waits for what is lost: each is a fault.
func (x *explorer) timeMoves(list []move, s *state, faults int) []move {
	timer, expiry := x.deadlines(s)
	next := min(timer, expiry)
	x.far = x.far || x.timed && x.endsFarAway(s)
	if x.timed && (next != never && s.now+next+1 > x.horizon || s.now > x.horizon) {
		x.beyond = true
		x.lookAhead(s)
		return list
	}
	if pausing, either, may := x.delayed(s, true); !may || bits.OnesCount8(pausing|either) > faults {
		return list // whenever it passes
	}
	x.lengths = x.instants(x.lengths[:0], s, next)
	pausing, either, may := x.delayed(s, len(x.lengths) > 0 || x.sleeps(s, next))
	switch {
	case !may:
		return list
	case next <= maxPass:
		x.lengths = x.ends(x.lengths, s, timer, expiry)
	case next != never:
		x.beyond = true
	}
	if len(x.lengths) == 0 {
		return list
	}
	// Every subset of the clients that need not be paused. Those of either may be busy, the others wait for what is lost.
	choices := either | x.mayWaitForLost(s, pausing)
	for chosen := choices; ; chosen = (chosen - 1) & choices {
		m := move{kind: movePass, paused: pausing | either&^chosen, busy: chosen}
		if bits.OnesCount8(m.paused|m.busy) == faults && x.canDelay(s, m) {
			for _, m.d = range x.lengths {
				list = append(list, m)
			}
		}
		if chosen == 0 {
			return list
		}
	}
}

// mayWaitForLost are those of the clients whose operation may wait for a reply while time passes, because it is lost. A lock with time-outs
// of its own notices by these.
func (x *explorer) mayWaitForLost(s *state, clients uint8) (may uint8) {
	if x.allowed[replyLost] == 0 && x.allowed[lateRequest] == 0 || x.sessions { // the library of a ZooKeeper does not wait so long
		return 0
	}
	for i := range x.clients {
		c := &s.clients[i]
		n := &x.automaton.Nodes[c.node]
		if clients&(1<<i) == 0 || n.Tasks == 0 || n.Idle || n.Slots[0].Kind != process.Request || c.due[0] != never {
			continue
		}
		if _, background := x.ready(s, i); background || x.breaks(c, 0) {
			continue // that a connection has broken is noticed at once
		}
		if c.replies[0] != 0 || c.room() >= 0 {
			may |= 1 << i
		}
	}
	return may
}

// delayed says which clients are paused if time passes, and which are either paused or in a long hold. Users take their time where it
// makes a difference when they come: while somebody's next step depends on the time, or somebody sleeps in an operation, or by their own try (see
// mayComeLate). It may not pass while a request is on its way that arrives before.
func (x *explorer) delayed(s *state, comesLate bool) (pausing, either uint8, may bool) {
	for i := range x.clients {
		c := &s.clients[i]
		for _, r := range c.travel {
			if r&surely != 0 && !(c.cut && x.texts.Requests[r&travelAll].Server != process.Resource) {
				return 0, 0, false
			}
		}
		if c.has(asleep) {
			continue
		}
		main, background := x.ready(s, i)
		main = main && (c.phase != waiting || c.tries == 0 && !comesLate && !x.config.Late && !x.mayComeLate(s, i))
		switch {
		case background:
			pausing |= 1 << i
		case !main || c.has(busy) || c.cut && x.automaton.Nodes[c.node].Idle: // a user of what is cut off waits without a further fault
		case x.mayHoldLong(c):
			either |= 1 << i
		default:
			pausing |= 1 << i
		}
	}
	return pausing, either, true
}

// sleeps says whether some client sleeps in the middle of an operation, or waits there for a reply of a Redis within a time-out that is what ends next, or sleeps on
// beside it when it has no lock: others may come before that ends, or after.
func (x *explorer) sleeps(s *state, next ms) bool {
	for i := range x.clients {
		c := &s.clients[i]
		n := &x.automaton.Nodes[c.node]
		if c.phase != crashed && !n.Idle && (n.Slots[0].Kind == process.Sleep || n.Slots[0].Kind == process.Request && !x.sessions && c.due[0] == next && next != never) {
			return true
		}
		if c.phase != waiting && c.phase != finished {
			continue
		}
		if slices.ContainsFunc(n.Slots[:n.Tasks], func(sl learn.Slot) bool { return sl.Kind == process.Sleep }) {
			return true
		}
	}
	return false
}

// mayHoldLong says whether a client holds the lock and waits for its user.
func (x *explorer) mayHoldLong(c *client) bool {
	return x.automaton.Nodes[c.node].Idle && (c.phase == holding || c.phase == worked)
}

func (x *explorer) canDelay(s *state, m move) bool {
	all := s.faults()
	for f, spends := range s.delays(m) {
		if spends > 0 && s.spent[f]+spends > x.allowed[f] {
			return false
		}
		all += int(spends)
	}
	return all <= x.config.MostFaults
}

// delays are the faults that it takes for time to pass.
func (s *state) delays(m move) (spends [faultKinds]uint8) {
	deafened := m.paused & m.busy
	spends[pause] = uint8(bits.OnesCount8(m.paused &^ deafened))
	spends[longHold] = uint8(bits.OnesCount8(m.busy &^ deafened))
	for i := range s.clients {
		switch {
		case deafened&(1<<i) == 0:
		case s.clients[i].replies[0] != 0:
			spends[replyLost]++
		default:
			spends[lateRequest]++
		}
	}
	return spends
}

// ends appends the lengths of time that lead to the next deadline: until a wait ends; or until an expiry, to the last moment at which
// the checker still counts on the lease, to just before the expiry, to it, and to just after it. A sleep that ends with a key may end just after it: it began
// when its client heard that the key was there, and what it then asks takes time, too.
func (x *explorer) ends(list []ms, s *state, timer, expiry ms) []ms {
	if timer < expiry || timer == expiry && !x.endsWithKey(s, timer) {
		return append(list, timer)
	}
	if timer == expiry {
		return append(list, timer, timer+1)
	}
	for _, t := range [...]ms{expiry - max(s.owner.margin, x.judge.margin) - 1, expiry - 1, expiry, expiry + 1} {
		if t > 0 && t <= timer && !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list
}

// endsWithKey says whether a sleep and a key end at the same time.
func (x *explorer) endsWithKey(s *state, timer ms) bool {
	sleeps := false
	for i := range x.clients {
		c := &s.clients[i]
		n := &x.automaton.Nodes[c.node]
		for k, sl := range n.Slots[:n.Tasks] {
			sleeps = sleeps || sl.Kind == process.Sleep && c.due[k] == timer && c.phase != crashed
		}
	}
	for i := range x.serverCount {
		if sleeps && slices.Contains(x.servers.States[s.servers[i]].Expiries, timer) {
			return true
		}
	}
	return false
}

// deadlines are the next moments at which a client's wait ends, and at which a lease or a hold does. Clients wake when they meant
// to; with what expires it matters what comes first.
func (x *explorer) deadlines(s *state) (timer, expiry ms) {
	timer, expiry = never, never
	for i := range x.clients {
		c := &s.clients[i]
		for _, due := range c.due {
			sooner(&timer, due)
		}
		sooner(&expiry, c.ends)
		wrong := ms(c.steps) * x.skew
		if x.slow == 0 {
			wrong += ms(c.skew) * x.skew
		}
		if wrong != 0 && s.owner.ends != never {
			sooner(&expiry, s.owner.ends-wrong)
		}
	}
	for i := range x.serverCount {
		for _, left := range x.servers.States[s.servers[i]].Expiries {
			sooner(&expiry, left)
		}
	}
	if x.sessions {
		x.sessionEnds(s, &expiry)
	}
	sooner(&expiry, s.owner.ends)
	if s.owner.ends != never && s.owner.ends > x.lease { // EXPIRE has made it longer than the nominal one, which ends meanwhile
		sooner(&expiry, (s.owner.ends-1)%x.lease+1)
	}
	return timer, expiry
}

// endsFarAway says whether something that takes more than a renewal does ends where time is not followed.
func (x *explorer) endsFarAway(s *state) bool {
	far := func(left ms) bool {
		return left != never && left > farAway*x.lease && left > x.horizon-s.now
	}
	for i := range x.clients {
		if slices.ContainsFunc(s.clients[i].due[:], far) {
			return true
		}
	}
	for i := range x.serverCount {
		if slices.ContainsFunc(x.servers.States[s.servers[i]].Expiries, far) {
			return true
		}
	}
	return false
}

// sooner takes t if it is to come, and comes before d.
func sooner(d *ms, t ms) {
	if t > 0 && t < *d {
		*d = t
	}
}

// passServers lets time pass for servers.
func (x *explorer) passServers(s *state, d ms) {
	for i := range x.serverCount {
		before := s.servers[i]
		s.servers[i] = x.servers.Tick(before, d)
		if x.servers.States[before].Lock.Exists() && !x.servers.States[s.servers[i]].Lock.Exists() {
			x.judge.coverage |= wasExpired
		}
		s.replicas[i] = x.replicas.Tick(s.replicas[i], d)
	}
}
