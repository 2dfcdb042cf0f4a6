package explore

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
)

// A lock is a deterministic function of its inputs. So the explorer learns each client once, as an automaton: which transition an input
// makes in a local state, and which requests come next. The lock's own code runs only for transitions that are not known yet; the search
// itself handles plain numbers.
//
// Two histories of a client lead to the same local state only if they are the same, or if no operation and no background task is
// under way and the lock declares to keep the same. An operation that has changed nothing leads back to where it was called, also beside background tasks.

const (
	mostClients = 5               // one of them comes when the others have ended
	mostSlots   = mostServers + 1 // tasks of a client at a time: its own, and a renewal on each server
)

// base is what a right clock shows when an exploration begins.
var base = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// inputKind is what a client can be given.
type inputKind uint8

const (
	inputCall    inputKind = iota // an operation is called; arg is the history.Op
	inputReply                    // arg is the number of the reply
	inputLost                     // the reply will not come
	inputExpired                  // the time-out is over
	inputWake                     // the sleep is over
)

// input is an input, with the slot of the task that it is for.
type input struct {
	kind inputKind
	slot uint8
	arg  uint32
}

func (in input) packed() uint32 { return uint32(in.kind) | uint32(in.slot)<<3 | in.arg<<6 }

// reading is what a client's clocks show, and what its library knows of its session.
type reading struct {
	clock ms    // the monotonic clock, from the base
	steps int8  // how often the wall clock has been set ahead, less how often back
	life  uint8 // how many sessions have ended
	lasts ms    // how long the present one lasts at least
}

// circumstances are what a lock can ask for in the middle of a step.
type circumstances struct {
	reading
	used uint16
}

// slot is what one task of a client waits for.
type slot struct {
	kind    process.Kind // 0: there is no such task
	request uint32
	server  int8 // of a Contact: the number of the session
	due     ms   // the length of its sleep, or its time-out; never: neither
}

// node is a local state of a client.
type node struct {
	client uint8
	before uint32 // the node that it was first reached from
	by     input
	when   circumstances
	slots  [mostSlots]slot
	tasks  int  // the slots from here on are empty
	idle   bool // no operation is under way
	// listens: a task waits for an event, or for contact with a ZooKeeper.
	listens bool
	top     uint32 // see topNumber
	called  uint32 // the node at which the latest operation was called
	direct  bool   // an instance has come here by way of the nodes before, and not by one that is merged with these
	tokens  tokens
	memory  uint32  // what its lock declares to keep, but for the names of its own tokens; 0: a task lives, or it declares nothing
	own     []uint8 // its own tokens there, in the order in which they appear
	// renamed is the node by order, plus 1.
	renamed []uint32
	orbit   uint32 // the smallest of them, plus 1; 0: not known yet
}

// transition is what one input does at a node: one step of a client.
type transition struct {
	to      uint32
	output  uint32
	fresh   uint8 // the slots that wait for something new
	dropped uint8 // the slots that have given up a request without its reply
	known   bool  // what stands above
	// reads: the step may read a clock. walls: the wall clock. draws: it may draw a token. Where any is so, what is known lies with the
	// particulars.
	// asks: it may ask for the session. No such step reads a clock; see errClockBesideSession.
	reads, walls, draws, asks bool
	made                      bool // by the search itself; otherwise its time has not come, or what it leads to is the same
}

// particulars are of the circumstances those that matter.
func (t *transition) particulars(when circumstances) (packed uint64) {
	if t.reads {
		packed |= 1<<63 | uint64(uint32(when.clock))<<16
	}
	if t.walls {
		packed |= uint64(uint8(when.steps)) << 48
	}
	if t.draws {
		packed |= 1<<62 | uint64(when.used)
	}
	if t.asks {
		packed |= 1<<61 | uint64(when.life)<<40 | uint64(when.lasts+1)<<16
	}
	return packed
}

// automaton is what is known of the clients of a lock.
type automaton struct {
	spec        impls.Spec
	opts        impls.Options
	clients     int
	servers     int
	texts       *texts
	nodes       []node            // the first are the beginnings of the clients
	byMemory    map[string]uint32 // nodes by client and by what the lock keeps
	memories    map[string]uint32 // see node.memory
	transitions memo[transition]  // by node and input, and by the particulars
	outputs
	pool       pool
	coroutines process.Coroutines
	executions int // of transitions that were not known
	steps      int // that the lock's own code has made
	timing
	manner
	evidence
	born      time.Time
	executing atomic.Int64 // since when, from birth, the lock's own code has been running; 0: it is not
}

// evidence is what the lock's code has done, to be compared with what it does later.
type evidence struct {
	witnesses map[uint32][]witness
	verified  int  // so many nodes there were when it was verified
	aside     bool // what happens is not part of the search
}

// timing is what an automaton has to do with clocks.
type timing struct {
	skew  ms   // by so much a clock steps
	reads bool // some step has read a clock
	walls bool // some step has read the wall clock
	told  bool // some step tells a server what the time is, which may compare; see compares
	// queues: see Config.Queues. Who waits in a queue asks again in time, so that the queue does not forget it.
	queues bool
	// deadline: some step has asked for the deadline of its context. late: some step has asked whether a
	// time-out is over for which nothing waits.
	deadline, late bool
}

// manner is how histories of a client become nodes.
type manner struct {
	plain    bool // every history is a node of its own
	declares bool // the lock says what it keeps
	ordered  bool // the lock may compare tokens by order, so none is used again
}

func newAutomaton(spec impls.Spec, key string, lease time.Duration, skew ms, clients, servers int, texts *texts) *automaton {
	a := &automaton{
		spec: spec, opts: impls.Options{Key: key, Lease: lease}, timing: timing{skew: skew}, clients: clients, servers: servers, texts: texts,
		byMemory: map[string]uint32{}, memories: map[string]uint32{}, evidence: evidence{witnesses: map[uint32][]witness{}}, outputs: newOutputs(), pool: newPool(),
		born: time.Now(),
	}
	for client := range clients {
		s := a.newInstance(client)
		n := node{client: uint8(client), before: uint32(client), idle: true, renamed: make([]uint32, len(texts.orders))}
		n.tokens = tokens(s.host.drawn) << (mostTokens * client)
		if state, ok := s.process.State(); ok {
			a.declares = true
			a.byMemory[string(rune(client))+string(state)] = uint32(client)
			n.memory = a.memoryNumber(&n, string(state))
		}
		a.nodes = append(a.nodes, n)
	}
	return a
}

// step is the transition of an input at a node, at a time by the client's clock. Which tokens are used is asked only if it makes a
// difference.
func (a *automaton) step(at uint32, in input, shown reading, used func() uint16) (transition, error) {
	key := [2]uint64{uint64(at+1)<<32 | uint64(in.packed())}
	var t transition
	if general := a.transitions.of(key); general != nil {
		general.made = general.made || !a.aside
		if t = *general; t.known {
			return t, nil
		}
	}
	now := circumstances{reading: shown}
	if t.draws {
		now.used = used()
	}
	exact := [2]uint64{key[0], t.particulars(now)}
	if special := a.transitions.of(exact); special != nil && special.known {
		special.made = special.made || !a.aside
		return *special, nil
	}
	now.used = used()
	a.executing.Store(int64(time.Since(a.born)))
	err := a.learn(at, in, now, &t)
	a.executing.Store(0)
	if err != nil {
		return transition{}, err
	}
	t.made = !a.aside
	if exact[1] = t.particulars(now); exact != key {
		a.transitions.note(key, transition{reads: t.reads, walls: t.walls, draws: t.draws, asks: t.asks})
	}
	a.transitions.note(exact, t)
	a.reads, a.walls = a.reads || t.reads, a.walls || t.walls
	return t, nil
}

// learn runs the lock's own code.
func (a *automaton) learn(at uint32, in input, when circumstances, t *transition) error {
	s, err := a.instanceAt(at)
	if err != nil {
		return err
	}
	waited := s.waits
	notices, err := a.execute(s, in, when)
	if err != nil {
		s.process.Close()
		return a.impure(err)
	}
	t.reads, t.walls, t.draws = t.reads || s.host.read, t.walls || s.host.wall, t.draws || s.host.drawn != 0
	t.asks = t.asks || s.host.asked
	n, err := a.describe(s)
	if err != nil {
		s.process.Close()
		return err
	}
	n.before, n.by, n.when, n.called = at, in, when, a.calledAt(at, in)
	n.tokens |= a.nodes[at].tokens | tokens(s.host.drawn)<<(mostTokens*int(n.client))
	if in.kind == inputReply {
		n.tokens |= a.texts.replies[in.arg].tokens
		n.top = max(n.top, a.texts.replies[in.arg].top)
	}
	n.top = max(n.top, a.nodes[at].top)
	t.compare(&a.nodes[at].slots, &n.slots, in, func(slot int) bool { return s.waits[slot] == waited[slot] })
	places := len(a.nodes)
	listensOn := a.listensOn(at, in, &n, notices)
	if s.at = at; !listensOn {
		n.direct = !s.merged
		s.at = a.place(n, s)
		s.merged = s.merged || len(a.nodes) == places
	}
	a.noteSites(s)
	if s.process.Err() != nil {
		return a.impure(s.process.Err())
	}
	t.to, t.output, t.known = s.at, a.outputNumber(notices), true
	a.witness(at, witness{in, when, t.to, t.output})
	if listensOn { // it may remember the contact, and others at its node have had none
		s.process.Close()
		return nil
	}
	a.pool.put(s)
	return nil
}

// calledAt is the node at which the operation was called that an input at a node belongs to.
func (a *automaton) calledAt(at uint32, in input) uint32 {
	if in.kind == inputCall {
		return at
	}
	return a.nodes[at].called
}

// compare finds the slots that wait for something new, and those that have given up a request without its reply. same says whether a
// slot's wait is the one from before the step.
func (t *transition) compare(before, after *[mostSlots]slot, in input, same func(slot int) bool) {
	for i, now := range after {
		old := before[i]
		kept := now.kind != 0 && old.kind != 0 && same(i)
		if now.kind != 0 && !kept {
			t.fresh |= 1 << i
		}
		given := int(in.slot) == i && in.kind != inputCall && in.kind != inputExpired
		if old.kind == process.Request && !kept && !given {
			t.dropped |= 1 << i
		}
	}
}

// place finds the node that a description fits, or adds it.
func (a *automaton) place(n node, s *instance) uint32 {
	what := ""
	if state, ok := s.process.State(); ok && n.idle {
		what = string(rune(n.client)) + string(state)
		if a.ordered {
			what += string(rune(n.tokens.of(int(n.client))))
		}
		if known, ok := a.byMemory[what]; ok && !a.plain {
			return known
		}
		if !a.ordered {
			n.tokens = mentioned(what)
		}
		n.top = topNumber(what)
		n.memory = a.memoryNumber(&n, string(state))
	} else if n.idle && a.changedNothing(&n, s) {
		return n.called
	}
	n.renamed = make([]uint32, len(a.texts.orders))
	a.nodes = append(a.nodes, n)
	at := uint32(len(a.nodes) - 1)
	if what != "" {
		a.byMemory[what] = at
	}
	return at
}

// memoryNumber numbers what the lock keeps, but for the names of its own tokens, which it adds to the node.
func (a *automaton) memoryNumber(n *node, memory string) uint32 {
	anonymous := []byte(memory)
	eachToken(memory, func(at, client, token int) {
		if client != int(n.client) {
			return
		}
		k := slices.Index(n.own, uint8(token))
		if k < 0 {
			k = len(n.own)
			n.own = append(n.own, uint8(token))
		}
		anonymous[at+tokenLength-1] = byte('a' + k)
	})
	known := a.memories[string(anonymous)]
	if known == 0 {
		known = uint32(len(a.memories)) + 1
		a.memories[string(anonymous)] = known
	}
	return known
}

// describe says what a process waits for.
func (a *automaton) describe(s *instance) (n node, err error) {
	n.client, n.idle = uint8(s.host.client), !s.process.Busy()
	known, waits := s.slots, s.waits
	s.waits = [mostSlots]int{}
	for _, w := range s.process.Waits() {
		if w.Task >= mostSlots {
			return n, a.impure(fmt.Errorf("it runs more than %d tasks at a time", mostSlots))
		}
		sl := known[w.Task]
		if waits[w.Task] != w.Seq {
			if sl, err = a.slot(s, w); err != nil {
				return n, err
			}
		}
		n.slots[w.Task], s.waits[w.Task] = sl, w.Seq
		n.tasks = max(n.tasks, w.Task+1)
		n.tokens |= a.texts.requests[sl.request].tokens
		n.top = max(n.top, a.texts.requests[sl.request].top)
		n.listens = n.listens || sl.kind == process.Contact || sl.kind == process.Message
	}
	s.slots = n.slots
	return n, nil
}

func (a *automaton) impure(err error) error {
	return fmt.Errorf("%s cannot be explored: %w", a.spec.Name, err)
}

// errAsymmetric: a lock makes a difference between clients, beyond their tokens being different.
var errAsymmetric = errors.New("its card says that it compares tokens for equality alone (EqualTokens), and with other tokens it does something else")

// alike says whether a node waits for the same as another, but for who is who.
func (a *automaton) alike(o int, n, twin *node) bool {
	for i, sl := range n.slots {
		sl.request = a.texts.renameRequest(o, sl.request)
		if sl != twin.slots[i] {
			return false
		}
	}
	return n.idle == twin.idle
}

// rename is the node of the client that takes a client's place, after the same has happened to it.
func (a *automaton) rename(o int, n uint32) (uint32, error) {
	if o == 0 {
		return n, nil
	}
	if renamed := a.nodes[n].renamed[o]; renamed != 0 {
		return renamed - 1, nil
	}
	renamed := uint32(a.texts.orders[o][a.nodes[n].client])
	if a.nodes[n].before != n {
		before, err := a.rename(o, a.nodes[n].before)
		if err != nil {
			return 0, err
		}
		in := a.nodes[n].by
		if in.kind == inputReply {
			in.arg = a.texts.renameReply(o, in.arg)
		}
		t, err := a.step(before, in, a.nodes[n].when.reading, func() uint16 { return a.nodes[n].when.used })
		if err != nil {
			return 0, err
		}
		renamed = t.to
	}
	if !a.alike(o, &a.nodes[n], &a.nodes[renamed]) {
		return 0, a.impure(errAsymmetric)
	}
	a.nodes[n].renamed[o] = renamed + 1
	return renamed, nil
}
