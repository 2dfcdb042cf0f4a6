package explore

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/process"
)

// A client that wants the lock may come at any time, and a refused one may try again at any time. What its try would come to decides when
// that matters: the try is rehearsed, as if all of it happened at once.

// mostRehearsed is how many steps of a try are rehearsed.
const mostRehearsed = 24

// wants says whether a client is between two tries.
func (x *explorer) wants(c *client) bool { return c.phase == waiting && x.automaton.Nodes[c.node].Idle }

// rehearsal is what a try has come to.
type rehearsal struct {
	after state
	given []learn.Input // to the client
	ended bool
}

// besides begins something that is not part of the search, and returns what ends it.
func (x *explorer) besides() (end func()) {
	watcher, judge, cut, tired, counting, aside := x.watcher, x.judge, x.cut, x.result.Tired, x.result.Counting, x.automaton.Aside
	x.watcher, x.automaton.Aside = nil, true
	return func() {
		x.watcher, x.judge, x.cut, x.result.Tired, x.result.Counting, x.automaton.Aside = watcher, judge, cut, tired, counting, aside
	}
}

// rehearse makes the steps of a client's next operation, such as a try, or the next ones of the operation that it is in, which waits for a reply. It shows the states in which the client waits for a reply, and what it has been given before.
func (x *explorer) rehearse(s *state, i int, each func(*state, []learn.Input)) (r rehearsal) {
	defer x.besides()()
	r = rehearsal{after: *s}
	c := &r.after.clients[i]
	m := move{kind: moveCall, client: uint8(i)}
	switch {
	case x.automaton.Nodes[c.node].Idle:
		op, _ := x.next(c)
		if c.phase == waiting {
			op = history.OpAcquire // also of a client that would be refused again
		}
		r.given = append(r.given, learn.Input{Kind: learn.InputCall, Slot: 0, Arg: uint32(op)})
	case c.replies[0] == 0:
		m.kind = moveServe
	default:
		m.kind = moveTake
		r.given = append(r.given, learn.Input{Kind: learn.InputReply, Slot: 0, Arg: c.replies[0]})
	}
	for range mostRehearsed {
		if err := x.apply(&r.after, m); err != nil {
			return r
		}
		switch n := &x.automaton.Nodes[c.node]; {
		case n.Idle:
			r.ended = true
			return r
		case n.Slots[0].Kind != process.Request:
			return r
		case c.replies[0] == 0:
			each(&r.after, r.given)
			m.kind = moveServe
		default:
			r.given = append(r.given, learn.Input{Kind: learn.InputReply, Slot: 0, Arg: c.replies[0]})
			m.kind = moveTake
		}
	}
	return r
}

// mayComeLate says whether time may pass before a client's first try. It need not where the try is refused without any change, since one after
// it is the same, nor where nobody has the lock and nothing else ends, such as a counter that a server forgets.
func (x *explorer) mayComeLate(s *state, i int) bool {
	return x.rehearsed.late.Once(x.situation(s, i), func() bool { return x.findMayComeLate(s, i) })
}

func (x *explorer) findMayComeLate(s *state, i int) bool {
	r := x.rehearse(s, i, func(*state, []learn.Input) {})
	if c := &r.after.clients[i]; s.servers == r.after.servers {
		return r.ended && !(c.phase == waiting && c.has(futile))
	}
	for k := range x.serverCount {
		if before := &x.servers.States[s.servers[k]]; s.servers[k] != r.after.servers[k] && (before.Lock.Exists() || len(before.Expiries) > 0) {
			return true
		}
	}
	return false
}

// instantsOfRest appends those of the rest of the operation that a client is in: what a step has read may decide about a later one.
func (x *explorer) instantsOfRest(list []ms, s *state, i int, limit ms) []ms {
	if n := &x.automaton.Nodes[s.clients[i].node]; n.Idle || n.Slots[0].Kind != process.Request {
		return list
	}
	r := x.rehearse(s, i, func(*state, []learn.Input) {})
	if s.clients[i].phase == acquiring && s.clients[i].replies[0] == 0 {
		list = x.instantsOfHold(list, s, i, r, limit)
	}
	for k := len(r.given) - 1; k > 0; k-- { // the longest first: see chain
		list = x.instantsOf(list, s, i, r.given[:k], r.given[k], limit)
	}
	return list
}

// instantsOfHold appends those at which the release of the hold that an acquire would begin does something else, by what the acquire has read before the
// server gave it the lock. Only its first step counts: a later one is given replies with times that would be others then.
func (x *explorer) instantsOfHold(list []ms, s *state, i int, r rehearsal, limit ms) []ms {
	given := r.given
	for r.ended {
		if phase := r.after.clients[i].phase; phase != holding && phase != worked {
			break
		}
		op, _ := x.next(&r.after.clients[i])
		if op == history.OpRelease {
			return x.instantsOf(list, s, i, given, learn.Input{Kind: learn.InputCall, Slot: 0, Arg: uint32(op)}, limit)
		}
		r = x.rehearse(&r.after, i, func(*state, []learn.Input) {})
		given = append(given, r.given...)
	}
	return list
}

// instantsOfTry appends those of a whole try: of the one that is rehearsed, and of those that are given other replies at some step.
func (x *explorer) instantsOfTry(list []ms, s *state, i int, limit ms) []ms {
	r := x.rehearse(s, i, func(at *state, given []learn.Input) {
		x.inputs = x.nextInputs(x.inputs[:0], at, i)
		mine := func(in learn.Input) bool { return in.Slot == 0 }
		if first := slices.IndexFunc(x.inputs, mine); first >= 0 {
			x.inputs = slices.Delete(x.inputs, first, first+1) // the answer that it gets
		}
		for _, in := range x.inputs {
			if mine(in) {
				list = x.instantsOf(list, s, i, given, in, limit)
			}
		}
	})
	last := len(r.given) - 1
	return x.instantsOf(list, s, i, r.given[:last], r.given[last], limit)
}
