package explore

import (
	"cmp"

	"github.com/locklab/locklab/history"
)

// What a client has sent and does not wait for any more.

// depart puts the request of a client's task on its way.
func (x *explorer) depart(c *client, slot uint8, how uint32) {
	op := x.operationOf(c, int(slot))
	if op == history.OpWork && c.passed {
		how |= passedOn
	}
	apart := x.isCutOff(c, x.automaton.Nodes[c.node].Slots[slot])
	if apart && c.isTorn(int(slot)) { // it had been sent before
		how &^= surely
	}
	room := c.room()
	c.travel[room] = x.automaton.Nodes[c.node].Slots[slot].Request | uint32(op)<<travelOp | how
	if how&surely != 0 && (c.isTorn(int(slot)) || apart) {
		c.torn |= 1 << (tornTravel + room)
	}
	c.sortTravel()
}

// arrive has a server execute a request that nobody waits for.
func (x *explorer) arrive(s *state, m move) {
	c := &s.clients[m.client]
	q := c.travelling(m)
	c.forget(int(m.slot &^ dropped))
	c.sortTravel()
	if m.slot&dropped == 0 {
		x.serve(s, q)
	}
}

// travelling is the request of a client that arrives, or is dropped.
func (c *client) travelling(m move) sending {
	k := m.slot &^ dropped
	r := c.travel[k]
	return sending{
		client: int(m.client), op: history.Op(r >> travelOp & 7), ended: r&current == 0, ok: r&succeeded != 0, age: c.ages[k], ago: c.agos[k],
		early: uint8(r >> travelEarly & 31), passed: r&passedOn != 0, unheard: true, request: r & travelAll,
	}
}

// settleTravel notes of what is on its way how its operation has ended, and how long ago its latest command was.
func (c *client) settleTravel(ok bool, early uint8, age ms) {
	for k, r := range c.travel {
		if r&current == 0 {
			continue
		}
		r = r&^current | uint32(early)<<travelEarly
		if ok {
			r |= succeeded
		}
		c.travel[k], c.ages[k] = r, age
	}
	c.sortTravel()
}

// followsAges says whether it makes a difference how long ago the commands were of an operation that has ended: a lock reads clocks, or leases count from them.
func (x *explorer) followsAges() bool { return x.reads || x.judge.nominal }

// ageTravel lets time pass for what is on its way of operations that have ended.
func (c *client) ageTravel(d, lease ms) {
	for k, r := range c.travel {
		if r != 0 && r&current == 0 {
			c.ages[k] = min(c.ages[k]+d, lease)
		}
	}
}

// sortTravel keeps places in order, so that it makes no difference which of two departed first. It says whether they were not.
func (c *client) sortTravel() (swapped bool) {
	torn := [...]uint8{c.torn >> tornTravel & 1, c.torn >> (tornTravel + 1)}
	if cmp.Or(cmp.Compare(c.travel[0], c.travel[1]), cmp.Compare(c.ages[0], c.ages[1]), cmp.Compare(c.agos[0], c.agos[1]), cmp.Compare(torn[0], torn[1])) >= 0 {
		return false
	}
	c.torn = c.torn&(1<<tornTravel-1) | torn[1]<<tornTravel | torn[0]<<(tornTravel+1)
	c.travel[0], c.travel[1] = c.travel[1], c.travel[0]
	c.ages[0], c.ages[1] = c.ages[1], c.ages[0]
	c.agos[0], c.agos[1] = c.agos[1], c.agos[0]
	return true
}
