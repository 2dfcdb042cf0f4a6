package explore

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
)

// moveKind is the kind of a move.
type moveKind uint8

const (
	moveCall    moveKind = iota // the client calls its next operation; slot is anew if that is a release once more
	moveServe                   // the server executes a request
	moveTake                    // the reply reaches the client
	moveExpire                  // the time-out of a wait is over
	moveWake                    // a sleep is over
	moveArrive                  // a request that nobody waits for arrives; slot is its place, with dropped if it never will
	movePass                    // time passes; d, and which clients are paused or busy meanwhile
	moveCrash                   // from here on, faults
	moveCut                     // the client is cut off from its ZooKeeper
	moveLose                    // the reply is lost; no fault where a connection has broken
	moveLate                    // the request is given up, and is on its way
	moveTwice                   // the server executes a request, and a copy is on its way
	moveAhead                   // a clock becomes wrong; slot is stepping if the wall clock steps
	moveBehind                  //
	moveJump                    // of server; slot is backwards if its clock is set back
	moveRestart                 // of server
	moveFail                    // of server; slot is how many writes are lost, less 1
	moveContact                 // the library of a client that was paused or cut off makes contact with its ZooKeeper; no fault
	moveHeal                    // the client is cut off no more; no fault
)

// move is one step of the whole. The client and the server are those of the state that it starts from.
type move struct {
	kind   moveKind
	client uint8 // or server
	slot   uint8
	paused uint8 // of movePass: the clients that a pause begins for
	busy   uint8 // of movePass: the clients that a long hold begins for; those that are paused, too, begin to wait for what is lost
	d      ms
}

// libraryTask is the slot of moveContact and moveHeal, which are no steps of a task of the lock's.
const libraryTask = 15

// stepping, as the slot of moveAhead or moveBehind: the wall clock steps. Otherwise both clocks are wrong from the start.
const stepping = 1

// backwards, as the slot of moveJump: the server's clock is set back. Otherwise it jumps forward.
const backwards = 1

// anew, as the slot of moveCall: the client releases once more, because it does not know what its release came to.
const anew = 1

// maxPass is the longest wait or lease whose end is followed.
const maxPass = 1<<22 - 1

// A packed move has room for a time below longPass. Longer ones are numbered.
const longPass = 1 << 17

// pack puts a move into a word.
func (x *explorer) packMove(m move) uint32 {
	if m.kind != movePass {
		return uint32(m.kind)&15 | uint32(m.client)<<4 | uint32(m.slot)<<8 | uint32(m.kind)>>4<<12
	}
	d := m.d
	if d >= longPass {
		i := slices.Index(x.long, d)
		if i < 0 {
			i = len(x.long)
			x.long = append(x.long, d)
		}
		d = longPass + ms(i)
	}
	return uint32(m.kind) | uint32(m.paused)<<4 | uint32(m.busy)<<9 | uint32(d)<<14
}

func (x *explorer) unpackMove(w uint32) move {
	m := move{kind: moveKind(w & 15)}
	if m.kind != movePass {
		m.kind |= moveKind(w >> 12 << 4)
		m.client, m.slot = uint8(w>>4&15), uint8(w>>8&15)
		return m
	}
	m.paused, m.busy, m.d = uint8(w>>4&31), uint8(w>>9&31), ms(w>>14)
	if m.d >= longPass {
		m.d = x.long[m.d-longPass]
	}
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
			return history.OpRelease, true // its hold has ended, so it does not work
		case int(c.entered) < x.config.Reenter:
			return history.OpAcquire, true
		}
		return history.OpWork, true
	case worked:
		return history.OpRelease, true
	}
	return history.OpNone, false
}

// moves appends every move of a state that has no private step and that spends so many faults.
func (x *explorer) moves(list []move, s *state, faults int) []move {
	return x.timeMoves(x.movesAtOnce(list, s, faults), s, faults)
}

// movesAtOnce are those by which no time passes.
func (x *explorer) movesAtOnce(list []move, s *state, faults int) []move {
	switch {
	case faults == 0:
		for i := range x.clients {
			list = x.clientMoves(list, s, i)
			if x.mayReleaseAgain(s, i) {
				list = append(list, move{kind: moveCall, client: uint8(i), slot: anew})
			}
		}
	case faults == 1 && s.faults() < x.most:
		for i := range x.clients {
			list = x.clientFaults(list, s, i)
		}
		for i := range x.serverCount {
			list = x.serverFaults(list, s, i)
		}
	}
	return list
}

func (x *explorer) clientMoves(list []move, s *state, i int) []move {
	c := &s.clients[i]
	if c.phase == crashed {
		return x.arriving(list, c, i)
	}
	n := &x.automaton.Nodes[c.node]
	if _, calls := x.next(c); calls && n.Idle {
		list = append(list, move{kind: moveCall, client: uint8(i)})
	}
	for k := range n.Tasks {
		m := move{client: uint8(i), slot: uint8(k)}
		switch {
		case n.Slots[k].Kind == process.Sleep && c.due[k] <= 0, c.come&(1<<k) != 0 && n.Slots[k].Kind != process.Request:
			m.kind = moveWake
			list = append(list, m)
		case n.Slots[k].Kind != process.Request:
		case c.has(deaf) && k == 0:
			m.kind = moveLose
			if c.replies[k] == 0 && !x.isBroken(c, n.Slots[k]) {
				m.kind = moveLate
			}
			list = append(list, m)
		default:
			list = x.waitMoves(list, s, m)
		}
	}
	switch {
	case c.cut:
		list = append(list, move{kind: moveHeal, client: uint8(i), slot: libraryTask})
	case c.silence > 0:
		list = append(list, move{kind: moveContact, client: uint8(i), slot: libraryTask})
	}
	return x.arriving(list, c, i)
}

// waitMoves are those of a task that waits for a reply. m has its client and its slot.
func (x *explorer) waitMoves(list []move, s *state, m move) []move {
	c := &s.clients[m.client]
	add := func(kind moveKind) {
		m.kind = kind
		list = append(list, m)
	}
	over, answered, broken := c.due[m.slot] <= 0, c.replies[m.slot] != 0, c.isLost(m.slot) || x.isBroken(c, x.automaton.Nodes[c.node].Slots[m.slot])
	if over {
		add(moveExpire)
	}
	if x.isCutOff(c, x.automaton.Nodes[c.node].Slots[m.slot]) {
		return x.cutOffMoves(list, c, m)
	}
	switch {
	case !answered && !broken && x.sessions && x.isBehind(s, m):
	case !answered && !broken:
		add(moveServe)
	case answered && !over:
		add(moveTake)
	}
	if x.breaks(c, int(m.slot)) {
		add(moveLose)
	}
	return list
}

func (x *explorer) arriving(list []move, c *client, i int) []move {
	for k, r := range c.travel {
		if r == 0 || c.cut && x.texts.Requests[r&travelAll].Server != process.Resource {
			continue
		}
		list = append(list, move{kind: moveArrive, client: uint8(i), slot: uint8(k)})
		if c.isTorn(tornTravel + k) {
			list = append(list, move{kind: moveArrive, client: uint8(i), slot: uint8(k) | dropped})
		}
	}
	return list
}

// ready says whether a client has a step to make: in its operation, and in a background task.
func (x *explorer) ready(s *state, i int) (main, background bool) {
	c := &s.clients[i]
	if c.phase == crashed {
		return false, false
	}
	n := &x.automaton.Nodes[c.node]
	_, calls := x.next(c)
	main = calls && n.Idle
	for k, sl := range n.Slots[:n.Tasks] {
		steps := sl.Kind == process.Request && !x.isCutOff(c, sl) || sl.Kind == process.Sleep && c.due[k] <= 0 || c.come&(1<<k) != 0
		if k == 0 && !n.Idle {
			main = main || steps && !c.has(deaf)
		} else {
			background = background || steps
		}
	}
	return main, background || c.silence > 0 && !c.cut
}

func (x *explorer) clientFaults(list []move, s *state, i int) []move {
	c := &s.clients[i]
	if c.phase == crashed || c.phase == finished {
		return list
	}
	n := &x.automaton.Nodes[c.node]
	list = x.clockFaults(list, s, i)
	if x.canSpend(s, crash) && !(c.phase == waiting && n.Idle) {
		list = append(list, move{kind: moveCrash, client: uint8(i)})
	}
	if x.sessions && !c.cut && x.canSpend(s, partition) && !(c.phase == waiting && n.Idle && n.Tasks == 0) {
		list = append(list, move{kind: moveCut, client: uint8(i)})
	}
	for k, sl := range n.Slots[:n.Tasks] {
		if sl.Kind == process.Request && !(c.has(deaf) && k == 0) {
			list = x.messageFaults(list, s, move{client: uint8(i), slot: uint8(k)})
		}
	}
	return list
}

// clockFaults are those of a client's clocks.
func (x *explorer) clockFaults(list []move, s *state, i int) []move {
	c := &s.clients[i]
	if (x.reads || x.slow != 0) && c.skew == 0 && s.now == 0 && c.fresh(&x.automaton.Nodes[c.node]) {
		if x.canSpend(s, clockAhead) {
			list = append(list, move{kind: moveAhead, client: uint8(i)})
		}
		if x.canSpend(s, clockBehind) {
			list = append(list, move{kind: moveBehind, client: uint8(i)})
		}
	}
	if x.walls && x.canSpend(s, stepAhead) {
		list = append(list, move{kind: moveAhead, client: uint8(i), slot: stepping})
	}
	if x.walls && x.canSpend(s, stepBack) {
		list = append(list, move{kind: moveBehind, client: uint8(i), slot: stepping})
	}
	return list
}

// fresh says whether the client has not done anything yet.
func (c *client) fresh(n *learn.Node) bool {
	return c.phase == waiting && c.round == 0 && n.Idle && c.node < learn.MostClients && !c.has(futile)
}

// messageFaults are those of a request or its reply.
func (x *explorer) messageFaults(list []move, s *state, m move) []move {
	c := &s.clients[m.client]
	switch {
	case x.isBroken(c, x.automaton.Nodes[c.node].Slots[m.slot]), x.isCutOff(c, x.automaton.Nodes[c.node].Slots[m.slot]), x.isOver(s, int(m.client)) && x.automaton.Nodes[c.node].Slots[m.slot].Server != process.Resource:
		return list
	case c.replies[m.slot] != 0:
		if x.canSpend(s, replyLost) && !c.isTorn(int(m.slot)) {
			m.kind = moveLose
			list = append(list, m)
		}
		return list
	}
	late, twice := x.canSpend(s, lateRequest), x.canSpend(s, duplicate)
	if (late || twice) && c.room() < 0 {
		x.cut = errTravel
		return list
	}
	if late {
		m.kind = moveLate
		list = append(list, m)
	}
	if twice {
		m.kind = moveTwice
		list = append(list, m)
	}
	return list
}

func (x *explorer) serverFaults(list []move, s *state, i int) []move {
	m := move{client: uint8(i)}
	if len(x.servers.States[s.servers[i]].Expiries) > 0 {
		if x.canSpend(s, clockJump) {
			list = append(list, move{kind: moveJump, client: uint8(i)})
		}
		if x.canSpend(s, clockBack) {
			list = append(list, move{kind: moveJump, client: uint8(i), slot: backwards})
		}
	}
	if x.canSpend(s, restart) && (s.servers[i] != 0 || x.mayTear(s, i)) {
		m.kind = moveRestart
		list = append(list, m)
	}
	if x.canSpend(s, failOver) {
		m.kind = moveFail
		for lost, state := range x.replicas.Known[s.replicas[i]] {
			if m.slot = uint8(lost); state != 0 {
				list = append(list, m)
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
