package explore

import (
	"errors"
	"math/bits"
	"slices"
	"strconv"

	"github.com/locklab/locklab/internal/sim/states"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// In an end state no client will do anything any more. Then the data must be right, and the lock must be obtainable: a fresh client must
// get it within a lease.

// judgeEnd judges an end state.
func (x *explorer) judgeEnd(s *state, number uint32, faults, steps int) error {
	var found anomalies
	if x.only&lostUpdate != 0 && x.lostAtEnd(s) {
		found |= lostUpdate
	}
	if x.only&stuckLock != 0 {
		_, stuck, err := x.stuck(*s)
		switch {
		case errors.Is(err, learn.ErrTokens):
			x.cut = learn.ErrTokens
		case err != nil:
			return err
		}
		if stuck {
			found |= stuckLock
		}
	}
	x.finds(found, s, faults, finding{steps: steps, parent: number, end: true})
	return nil
}

// lostAtEnd says whether the counter is lower than what has been acknowledged.
func (x *explorer) lostAtEnd(s *state) bool {
	value := x.counter(s)
	return value < int64(bits.OnesCount32(s.acked)) || s.highest > 0 && value <= int64(s.highest)-1
}

func (x *explorer) counter(s *state) int64 {
	value, _ := strconv.ParseInt(x.resource.States[s.resource].Lock.Value, 10, 64)
	return value
}

// onlyRefused says whether nothing is left to do but to be refused, again and again: each try leaves something else behind on a server, such as another
// count, or has changed what the lock remembers. That is an end, too, as nobody else is there to free the lock.
func (x *explorer) onlyRefused(s *state) bool {
	for i := range x.clients {
		c := &s.clients[i]
		if c.travel != [mostTravel]uint32{} || c.cut || x.automaton.Nodes[c.node].Tasks > 0 || !(c.phase == finished || c.phase == crashed || x.wants(c)) {
			return false
		}
	}
	if x.allGone(s) || x.maybeHeld(s) {
		return false
	}
	for i := range x.clients {
		if c := &s.clients[i]; x.wants(c) && !c.has(futile) && c.tries == 0 && !x.leavesOnlyTraces(s, i) {
			return false
		}
	}
	return true
}

// leavesOnlyTraces says whether a client's next try would be refused and change a server, but leave the lock as it is or count it.
func (x *explorer) leavesOnlyTraces(s *state, i int) bool {
	r := x.rehearse(s, i, func(*state, []learn.Input) {})
	if !r.ended || r.after.clients[i].phase == holding || r.after.servers == s.servers {
		return false
	}
	for k := range x.serverCount {
		before, after := x.servers.States[s.servers[k]].Lock, x.servers.States[r.after.servers[k]].Lock
		if counts, _ := (history.Change{Before: before, After: after}).Counts(0); before != after && !counts {
			return false
		}
	}
	return true
}

// stuck says whether a fresh client, and every client that still wants the lock, is refused for longer than any lease lasts, and how the
// fresh client asked then. It follows one interleaving for each way of asking: what can happen at a time happens, in a fixed order.
func (x *explorer) stuck(s state) (pace, bool, error) {
	watcher := x.watcher
	x.watcher = nil
	defer func() { x.watcher = watcher }()
	t := trial{x: x, s: s}
	err := t.run(askAtEnds)
	if err != nil || t.stuck || !t.tells && !x.reads {
		return askAtEnds, t.stuck, err
	}
	t = trial{x: x, s: s}
	err = t.run(askOften)
	return askOften, t.stuck, err
}

// pace is how often a fresh client asks.
type pace int

const (
	askAtEnds pace = iota // when something ends
	askOften              // every quarter of a lease, too: a lock may tell the difference, by its tries or by its clock
)

// mostCalls is how often each client of a trial calls while no time passes. A try that ends in an error, or changes a server each time, is
// tried again at once, for ever.
const mostCalls = 20

// mostMoves is how many moves a trial makes while no time passes. A try that polls without a sleep makes them for ever.
const mostMoves = 5_000

// mostSlept is for how many leases more a trial goes on where the fresh client sleeps in its try.
const mostSlept = 4

// trial has a fresh client ask after an end state.
type trial struct {
	x        *explorer
	s        state
	fresh    int
	late     bool  // the fresh client has called its latest try after every lease had ended
	met      uint8 // on which servers that try has found the lock
	keeps    uint8 // the same of the latest of these that was answered
	tells    bool  // a try has changed a server without taking the lock
	stuck    bool
	answered bool                   // a late try was
	refused  bool                   // the last try that was answered was refused
	counts   bool                   // tries count
	called   [learn.MostClients]int // how often each client has called since time has passed
	moves    int                    // that were made since then
}

func (t *trial) run(p pace) error {
	x, s := t.x, &t.s
	x.clients++
	x.judge.clients++
	wasTimed := x.timed
	x.timed = true // to know how much has passed
	defer func() {
		x.clients--
		x.judge.clients--
		x.timed = wasTimed
	}()
	t.fresh = x.clients - 1
	began := s.now
	s.clients[t.fresh] = freshClient(t.fresh)
	var moves []move
	for {
		x.judge.s = s
		if t.held() {
			return nil
		}
		moves = moves[:0]
		for i := range x.clients {
			moves = x.clientMoves(moves, s, i)
		}
		moves = slices.DeleteFunc(moves, t.callsEnough)
		if len(moves) == 0 {
			passed := s.now - began
			if t.answered || passed > x.patience()+mostSlept*x.lease {
				t.conclude()
				return nil
			}
			moves = append(moves, move{kind: movePass, d: t.wait(p, passed)})
			t.called, t.moves = [learn.MostClients]int{}, 0
		}
		if t.moves++; t.moves > mostMoves {
			x.endless = true
			return nil
		}
		switch m := moves[0]; {
		case m.kind == moveServe && t.takes(m):
			return nil
		case m.kind == moveCall:
			if int(m.client) == t.fresh {
				t.late, t.met = s.now-began > x.patience(), 0
			}
			t.called[m.client]++
		}
		if err := t.apply(moves[0]); err != nil {
			return err
		}
	}
}

// conclude says what it means that the fresh client is still without the lock.
func (t *trial) conclude() {
	x := t.x
	switch {
	case x.maybeHeld(&t.s):
	case !t.answered:
		x.endless = true
	case t.refused:
		t.stuck = x.keepsMajority(t.keeps)
		x.blocked = x.blocked || t.keeps == 0 && x.serverCount == 1 && x.config.Lock.Needs != impls.NoServer
	}
}

// callsEnough says whether a move is a call too many before time passes.
func (t *trial) callsEnough(m move) bool {
	return m.kind == moveCall && (t.called[m.client] >= mostCalls || t.counts && t.called[m.client] > 0)
}

// apply makes a move, and notes how a try of the fresh client has ended.
func (t *trial) apply(m move) error {
	j, fresh := &t.x.judge, &t.s.clients[t.fresh]
	tries, known := fresh.phase == acquiring, j.coverage
	j.coverage &^= wasRefused
	err := t.x.apply(&t.s, m)
	if tries && fresh.phase == waiting {
		t.refused = j.coverage&wasRefused != 0
		if t.late {
			t.answered, t.keeps = true, t.met
		}
	}
	j.coverage |= known
	return err
}

// held says whether somebody has got the lock.
func (t *trial) held() bool {
	for i := range t.x.clients {
		if t.s.clients[i].phase == holding {
			return true
		}
	}
	return false
}

// wait is how long nothing happens.
func (t *trial) wait(p pace, passed ms) ms {
	timer, expiry := t.x.deadlines(&t.s)
	quarter, left := t.x.lease/4-1, t.x.patience()-passed
	if left < 0 {
		left = quarter
	}
	if p == askOften {
		left = min(left, quarter)
	}
	if timer <= expiry && timer < never && (p == askAtEnds || timer <= left) {
		return timer
	}
	return min(expiry, left) + 1
}

// takes says whether a request gives somebody the lock, or takes it away, whatever its client is told later: then nobody was kept waiting.
// Of the fresh client's requests it notes which find the lock, and leave it there, or ask for it and leave it free; with a lock that keeps order, also a client ahead of it.
func (t *trial) takes(m move) bool {
	x := t.x
	request := x.numbered(&t.s, x.automaton.Nodes[t.s.clients[m.client].node].Slots[m.slot].Request)
	server := x.texts.Requests[request].Server
	if server < 0 {
		return false
	}
	before := t.s.servers[server]
	done := x.servers.Serve(before, request, int(m.client))
	switch done.Effect {
	case history.EffectReplaced:
		counts, _ := x.counts(request, x.servers.States[before].Lock, x.servers.States[done.Next].Lock)
		if !counts || x.operationOf(&t.s.clients[m.client], int(m.slot)) != history.OpAcquire {
			return true
		}
		t.counts = true
	case history.EffectCreated, history.EffectRemoved, history.EffectUnclear:
		return true
	}
	t.tells = t.tells || done.Next != before || t.wouldTell(before, request, int(m.client))
	if int(m.client) == t.fresh && (done.Named && (x.servers.States[before].Lock.Exists() || x.asks(request, done)) || slices.Contains(x.config.Lock.Promises, impls.Fairness)) {
		t.met |= 1 << server
	}
	return false
}

// wouldTell says whether a request changes nothing only because no time has passed since the last one: it prolongs the lease.
func (t *trial) wouldTell(before, request uint32, client int) bool {
	if t.x.sessions {
		return false
	}
	later := t.x.servers.Tick(before, 1)
	return later != before && t.x.servers.States[later].Lock.Exists() && t.x.servers.Serve(later, request, client).Next != later
}

// patience is how long a fresh client tries: until every lease ends that was taken before, or by a client that asked meanwhile.
func (x *explorer) patience() ms { return 2*x.lease + x.judge.margin }

// asks says whether a request asks for the lock for certain, also if that is free: as for the checker, a script that was carried out, or a create.
func (x *explorer) asks(request uint32, done states.Serving) bool {
	commands, replies := x.texts.Requests[request].Commands, x.texts.Replies[done.Reply].Replies
	for i, reply := range replies[:min(len(replies), len(commands))] {
		if name := commands[i][0]; (ownership.RunsScript(name) || name == "CREATE") && reply.Kind != service.Error {
			return true
		}
	}
	return false
}

// keepsMajority says whether so many servers, of which each was asked or has a lock, keep others from a majority. A lock that asks no server, or
// only reads what is free, is of no use, but it is not stuck.
func (x *explorer) keepsMajority(servers uint8) bool {
	return bits.OnesCount8(servers) >= x.serverCount-x.serverCount/2
}

// maybeHeld: a client may hold the lock without knowing whether it does.
func (x *explorer) maybeHeld(s *state) bool {
	for i := range x.clients {
		if s.clients[i].holds() {
			return true
		}
	}
	o := &s.owner
	return x.judge.Leaseless && o.client != 0 && s.clients[o.client-1].phase != crashed &&
		(o.standing == ownership.Pending || o.leaving)
}
