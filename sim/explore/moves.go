package explore

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/sim/process"
)

// kind is the kind of a move.
type kind uint8

const (
	moveCall   kind = iota // the client calls its next operation
	moveServe              // the server carries a request out
	moveTake               // the reply reaches the client
	moveExpire             // the time-out of a wait is over
	moveWake               // a sleep is over
	moveArrive             // a request that nobody waits for arrives; slot is its place
	movePass               // time passes; d, and who is paused and who is busy meanwhile
	moveCrash              // from here on, faults
	moveLose               // the reply is lost
	moveLate               // the request is given up, and is on its way
	moveTwice              // the server carries a request out, and a copy is on its way
	moveAhead
	moveBehind
	moveJump    // of server
	moveRestart // of server
	moveFail    // of server; slot is how many writes are lost, less 1
)

// move is one step of the whole. The client and the server are those of the state that it starts from.
type move struct {
	kind   kind
	client uint8 // or server
	slot   uint8
	paused uint8 // of movePass: who begins to stand still
	busy   uint8 // of movePass: whose work begins to take long
	d      ms
}

// maxPass is the longest time that a packed move can hold.
const maxPass = 1<<14 - 1

func (m move) packed() uint32 {
	if m.kind == movePass {
		return uint32(m.kind) | uint32(m.paused)<<4 | uint32(m.busy)<<9 | uint32(m.d)<<14
	}
	return uint32(m.kind) | uint32(m.client)<<4 | uint32(m.slot)<<8
}

func unpack(w uint32) move {
	m := move{kind: kind(w & 15)}
	if m.kind == movePass {
		m.paused, m.busy, m.d = uint8(w>>4&31), uint8(w>>9&31), ms(w>>14)
		return m
	}
	m.client, m.slot = uint8(w>>4&15), uint8(w>>8&15)
	return m
}

// next is the operation that a client calls next; false: it has nothing to call.
func (x *explorer) next(c *client) (history.Op, bool) {
	switch c.phase {
	case waiting:
		return history.OpAcquire, !c.has(futile)
	case holding:
		switch {
		case !c.has(on) || c.ends <= 0:
			return history.OpRelease, true // it knows better than to work
		case int(c.entered) < x.config.Reenter:
			return history.OpAcquire, true
		}
		return history.OpWork, true
	case worked:
		return history.OpRelease, true
	}
	return history.OpNone, false
}

// spending appends all that can happen in a state in which there is no private step to make first, and that spends so many faults.
func (x *explorer) spending(list []move, s *state, faults int) []move {
	if faults == 0 {
		for i := range x.clients {
			list = x.movesOf(list, s, i)
		}
	}
	began := len(list)
	list = x.timeMoves(list, s)
	kept := list[:began]
	for _, m := range list[began:] {
		if ones(m.paused)+ones(m.busy) == faults {
			kept = append(kept, m)
		}
	}
	if faults == 1 {
		kept = x.faultMoves(kept, s)
	}
	return kept
}

func (x *explorer) movesOf(list []move, s *state, i int) []move {
	c := &s.clients[i]
	if c.phase == crashed {
		return arrivals(list, c, i)
	}
	n := &x.automaton.nodes[c.node]
	if _, calls := x.next(c); calls && n.idle {
		list = append(list, move{kind: moveCall, client: uint8(i)})
	}
	for k := range n.tasks {
		m := move{client: uint8(i), slot: uint8(k)}
		switch {
		case n.slots[k].kind == process.Sleep && c.due[k] <= 0:
			m.kind = moveWake
			list = append(list, m)
		case n.slots[k].kind != process.Request:
		case c.due[k] <= 0:
			m.kind = moveExpire
			list = append(list, m)
			if c.replies[k] == 0 {
				m.kind = moveServe
				list = append(list, m)
			}
		case c.replies[k] == 0:
			m.kind = moveServe
			list = append(list, m)
		default:
			m.kind = moveTake
			list = append(list, m)
		}
	}
	return arrivals(list, c, i)
}

func arrivals(list []move, c *client, i int) []move {
	for k, r := range c.travel {
		if r != 0 {
			list = append(list, move{kind: moveArrive, client: uint8(i), slot: uint8(k)})
		}
	}
	return list
}

// ready says whether a client has a step to make: in the main, and in what runs beside it.
func (x *explorer) ready(s *state, i int) (main, beside bool) {
	c := &s.clients[i]
	if c.phase == crashed {
		return false, false
	}
	n := &x.automaton.nodes[c.node]
	_, calls := x.next(c)
	main = calls && n.idle
	for k, sl := range n.slots[:n.tasks] {
		steps := sl.kind == process.Request || sl.kind == process.Sleep && c.due[k] <= 0
		if k == 0 && !n.idle {
			main = main || steps
		} else {
			beside = beside || steps
		}
	}
	return main, beside
}

// timeMoves lets time pass to the next moment at which something ends: to just before it, as the checker sees it and as the servers
// do, to it and to just after. Whoever could make a step
// meanwhile is paused, or has a lot of work to do under its lock: that is a fault.
func (x *explorer) timeMoves(list []move, s *state) []move {
	var pausing, working uint8
	var either []int
	for i := range x.clients {
		c := &s.clients[i]
		for _, r := range c.travel {
			if r&surely != 0 {
				return list // it arrives before
			}
		}
		if c.has(asleep) {
			continue
		}
		main, beside := x.ready(s, i)
		switch {
		case beside:
			pausing |= 1 << i
		case !main || c.has(busy):
		case x.mayHoldLong(c):
			either = append(either, i)
		default:
			pausing |= 1 << i
		}
	}
	timer, expiry := x.deadlines(s)
	if timer == never && expiry == never {
		return list
	}
	if x.timed && s.now+min(timer, expiry)+1 > x.horizon || min(timer, expiry) > maxPass {
		x.beyond = true
		return list
	}
	for choice := range 1 << len(either) {
		paused, busy := pausing, working
		for bit, i := range either {
			if choice&(1<<bit) != 0 {
				paused |= 1 << i
			} else {
				busy |= 1 << i
			}
		}
		if !x.canSpendMore(s, pause, ones(paused), longHold, ones(busy)) {
			continue
		}
		if timer <= expiry {
			list = append(list, move{kind: movePass, paused: paused, busy: busy, d: min(timer, maxPass)})
			continue
		}
		for _, t := range []ms{expiry - max(s.owner.margin, x.judge.margin) - 1, expiry - 1, expiry, expiry + 1} {
			if t > 0 && t <= min(timer, maxPass) {
				list = append(list, move{kind: movePass, paused: paused, busy: busy, d: t})
			}
		}
	}
	return list
}

// mayHoldLong says whether a client is in a hold with something running beside it: without that, it is as good as paused.
func (x *explorer) mayHoldLong(c *client) bool {
	n := &x.automaton.nodes[c.node]
	return n.idle && (c.phase == holding || c.phase == worked) && n.tasks > 0
}

// deadlines are the next moments at which a client's wait ends, and at which a lease or a hold does. Clients wake when they meant
// to; with what expires it matters who comes first.
func (x *explorer) deadlines(s *state) (timer, expiry ms) {
	timer, expiry = never, never
	for i := range x.clients {
		c := &s.clients[i]
		for _, due := range c.due {
			sooner(&timer, due)
		}
		sooner(&expiry, c.ends)
		if c.skew != 0 && s.owner.ends != never {
			sooner(&expiry, s.owner.ends-ms(c.skew)*x.skew)
		}
	}
	for i := range x.serverCount {
		for _, left := range x.servers.states[s.servers[i]].expiries {
			sooner(&expiry, left)
		}
	}
	if s.owner.client != 0 {
		sooner(&expiry, s.owner.ends)
	}
	return timer, expiry
}

// sooner takes t if it is to come, and comes before d.
func sooner(d *ms, t ms) {
	if t > 0 && t < *d {
		*d = t
	}
}

func (x *explorer) faultMoves(list []move, s *state) []move {
	if s.faults() >= x.config.MostFaults {
		return list
	}
	for i := range x.clients {
		c := &s.clients[i]
		if c.phase == crashed || c.phase == finished {
			continue
		}
		n := &x.automaton.nodes[c.node]
		fresh := c.phase == waiting && c.round == 0 && n.idle && c.node < mostClients && !c.has(futile)
		if fresh && x.reads && c.skew == 0 && s.now == 0 {
			if x.canSpend(s, clockAhead) {
				list = append(list, move{kind: moveAhead, client: uint8(i)})
			}
			if x.canSpend(s, clockBehind) {
				list = append(list, move{kind: moveBehind, client: uint8(i)})
			}
		}
		if x.canSpend(s, crash) && !(c.phase == waiting && n.idle) {
			list = append(list, move{kind: moveCrash, client: uint8(i)})
		}
		for k, sl := range n.slots[:n.tasks] {
			if sl.kind != process.Request {
				continue
			}
			m := move{client: uint8(i), slot: uint8(k)}
			if c.replies[k] != 0 && x.canSpend(s, replyLost) {
				m.kind = moveLose
				list = append(list, m)
			}
			late, twice := c.replies[k] == 0 && x.canSpend(s, lateRequest), c.replies[k] == 0 && x.canSpend(s, duplicate)
			if (late || twice) && c.room() < 0 {
				x.cut = errTravel
				continue
			}
			if late {
				m.kind = moveLate
				list = append(list, m)
			}
			if twice {
				m.kind = moveTwice
				list = append(list, m)
			}
		}
	}
	for i := range x.serverCount {
		m := move{client: uint8(i)}
		state := &x.servers.states[s.servers[i]]
		if x.canSpend(s, clockJump) && len(state.expiries) > 0 {
			m.kind = moveJump
			list = append(list, m)
		}
		if x.canSpend(s, restart) && s.servers[i] != 0 {
			m.kind = moveRestart
			list = append(list, m)
		}
		if x.canSpend(s, failOver) {
			m.kind = moveFail
			for lost, state := range x.replicas.known[s.replicas[i]] {
				if m.slot = uint8(lost); state != 0 {
					list = append(list, m)
				}
			}
		}
	}
	return list
}

// room is a free place for a request on its way; negative: there is none.
func (c *client) room() int {
	for k, r := range c.travel {
		if r == 0 {
			return k
		}
	}
	return -1
}

func (x *explorer) canSpend(s *state, f fault) bool {
	return s.spent[f] < x.allowed[f] && s.faults() < x.config.MostFaults
}

func (x *explorer) canSpendMore(s *state, f fault, n int, g fault, m int) bool {
	return (n == 0 || int(s.spent[f])+n <= int(x.allowed[f])) && (m == 0 || int(s.spent[g])+m <= int(x.allowed[g])) &&
		s.faults()+n+m <= x.config.MostFaults
}

func ones(set uint8) int {
	n := 0
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}
