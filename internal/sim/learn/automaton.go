// Package learn learns what a lock's code does: for each client an automaton, with the local states that it can be in and what each input leads to. The code
// runs only for what is not known yet.
//
// It owns the automata, which histories of a client count as one (by what its lock declares to keep), and the numbers of requests, replies and tokens. It must
// not know who chooses the inputs, what servers answer, nor what is right or wrong.
package learn

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

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
	MostClients = 5 // one of them comes when the others have ended
	MostServers = 5
	MostSlots   = MostServers + 1 // tasks of a client at a time: its own, and a renewal on each server
)

// Base is what a right clock shows when an exploration begins.
var Base = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// inputKind is what a client can be given.
type inputKind uint8

const (
	InputCall    inputKind = iota // an operation is called; arg is the history.Op
	InputReply                    // arg is the number of the reply
	InputLost                     // the reply will not come
	InputExpired                  // the time-out is over
	InputWake                     // the sleep is over
)

// Input is an input, with the slot of the task that it is for.
type Input struct {
	Kind inputKind
	Slot uint8
	Arg  uint32
}

func (in Input) Packed() uint32 { return uint32(in.Kind) | uint32(in.Slot)<<3 | in.Arg<<6 }

// Reading is what a client's clocks show, and what its library knows of its session.
type Reading struct {
	Clock MS    // the monotonic clock, from the base
	Steps int8  // how often the wall clock has been set ahead, less how often back
	Life  uint8 // how many sessions have ended
	Lasts MS    // how long the present one lasts at least
}

// circumstances are what a lock can ask for in the middle of a step.
type circumstances struct {
	Reading
	Used uint16
}

// Slot is what one task of a client waits for.
type Slot struct {
	Kind    process.Kind // 0: there is no such task
	Request uint32
	Server  int8 // of a Contact: the number of the session
	Due     MS   // the length of its sleep, or its time-out; never: neither
}

// Node is a local state of a client.
type Node struct {
	Client uint8
	Before uint32 // the node that it was first reached from
	By     Input
	When   circumstances
	Slots  [MostSlots]Slot
	Tasks  int  // the slots from here on are empty
	Idle   bool // no operation is under way
	// Listens: a task waits for an event, or for contact with a ZooKeeper.
	Listens bool
	Top     uint32 // see topNumber
	called  uint32 // the node at which the latest operation was called
	direct  bool   // an instance has come here by way of the nodes before, and not by one that is merged with these
	Tokens  Tokens
	Memory  uint32  // what its lock declares to keep, but for the names of its own tokens; 0: a task lives, or it declares nothing
	Own     []uint8 // its own tokens there, in the order in which they appear
	// renamed is the node by order, plus 1.
	renamed []uint32
	Orbit   uint32 // the smallest of them, plus 1; 0: not known yet
}

// Transition is what one input does at a node: one step of a client.
type Transition struct {
	To      uint32
	Output  uint32
	Fresh   uint8 // the slots that wait for something new
	Dropped uint8 // the slots that have given up a request without its reply
	known   bool  // what stands above
	// Reads: the step may read a clock. walls: the wall clock. draws: it may draw a token. Where any is so, what is known lies with the
	// particulars.
	// asks: it may ask for the session. No such step reads a clock; see errClockBesideSession.
	Reads, walls, Draws, asks bool
	made                      bool // by the search itself; otherwise its time has not come, or what it leads to is the same
}

// particulars are of the circumstances those that matter.
func (t *Transition) particulars(when circumstances) (packed uint64) {
	if t.Reads {
		packed |= 1<<63 | uint64(uint32(when.Clock))<<16
	}
	if t.walls {
		packed |= uint64(uint8(when.Steps)) << 48
	}
	if t.Draws {
		packed |= 1<<62 | uint64(when.Used)
	}
	if t.asks {
		packed |= 1<<61 | uint64(when.Life)<<40 | uint64(when.Lasts+1)<<16
	}
	return packed
}

// Automaton is what is known of the clients of a lock.
type Automaton struct {
	spec        impls.Spec
	opts        impls.Options
	clients     int
	servers     int
	texts       *Texts
	Nodes       []Node            // the first are the beginnings of the clients
	byMemory    map[string]uint32 // nodes by client and by what the lock keeps
	memories    map[string]uint32 // see node.memory
	Transitions Memo[Transition]  // by node and input, and by the particulars
	Outputs     outputs
	pool        pool
	coroutines  process.Coroutines
	executions  int // of transitions that were not known
	Steps       int // that the lock's own code has made
	timing
	Manner   manner
	evidence evidence
	Aside    bool // what happens is not part of the search
	running  stopwatch
}

// evidence is what the lock's code has done, to be compared with what it does later.
type evidence struct {
	witnesses map[uint32][]witness
	verified  int // so many nodes there were when it was verified
}

// timing is what an automaton has to do with clocks.
type timing struct {
	skew  MS   // by so much a clock steps
	Reads bool // some step has read a clock
	Walls bool // some step has read the wall clock
	Told  bool // some step tells a server what the time is, which may compare; see compares
	// Queues: see Config.Queues. Who waits in a queue asks again in time, so that the queue does not forget it.
	Queues bool
	// Deadline: some step has asked for the deadline of its context. late: some step has asked whether a
	// time-out is over for which nothing waits.
	Deadline, Late bool
}

// manner is how histories of a client become nodes.
type manner struct {
	Plain    bool // every history is a node of its own
	Declares bool // the lock says what it keeps
	Ordered  bool // the lock may compare tokens by order, so none is used again
}

func NewAutomaton(spec impls.Spec, key string, lease time.Duration, skew MS, clients, servers int, texts *Texts) *Automaton {
	a := &Automaton{
		spec: spec, opts: impls.Options{Key: key, Lease: lease}, timing: timing{skew: skew}, clients: clients, servers: servers, texts: texts,
		byMemory: map[string]uint32{}, memories: map[string]uint32{}, evidence: evidence{witnesses: map[uint32][]witness{}}, Outputs: newOutputs(), pool: newPool(),
		running: stopwatch{born: time.Now()},
	}
	for client := range clients {
		s := a.NewInstance(client)
		n := Node{Client: uint8(client), Before: uint32(client), Idle: true, renamed: make([]uint32, len(texts.Orders))}
		n.Tokens = Tokens(s.host.drawn) << (mostTokens * client)
		if state, ok := s.Process.State(); ok {
			a.Manner.Declares = true
			a.byMemory[string(rune(client))+string(state)] = uint32(client)
			n.Memory = a.memoryNumber(&n, string(state))
		}
		a.Nodes = append(a.Nodes, n)
	}
	return a
}

// Step is the transition of an input at a node, at a time by the client's clock. Which tokens are used is asked only if it makes a
// difference.
func (a *Automaton) Step(at uint32, in Input, shown Reading, used func() uint16) (Transition, error) {
	key := [2]uint64{uint64(at+1)<<32 | uint64(in.Packed())}
	var t Transition
	if general := a.Transitions.Of(key); general != nil {
		general.made = general.made || !a.Aside
		if t = *general; t.known {
			return t, nil
		}
	}
	now := circumstances{Reading: shown}
	if t.Draws {
		now.Used = used()
	}
	exact := [2]uint64{key[0], t.particulars(now)}
	if special := a.Transitions.Of(exact); special != nil && special.known {
		special.made = special.made || !a.Aside
		return *special, nil
	}
	now.Used = used()
	a.running.begins()
	err := a.learn(at, in, now, &t)
	a.running.ends()
	if err != nil {
		return Transition{}, err
	}
	t.made = !a.Aside
	if exact[1] = t.particulars(now); exact != key {
		a.Transitions.Note(key, Transition{Reads: t.Reads, walls: t.walls, Draws: t.Draws, asks: t.asks})
	}
	a.Transitions.Note(exact, t)
	a.Reads, a.Walls = a.Reads || t.Reads, a.Walls || t.walls
	return t, nil
}

// learn runs the lock's own code.
func (a *Automaton) learn(at uint32, in Input, when circumstances, t *Transition) error {
	s, err := a.instanceAt(at)
	if err != nil {
		return err
	}
	waited := s.waits
	notices, err := a.execute(s, in, when)
	if err != nil {
		s.Process.Close()
		return a.Impure(err)
	}
	t.Reads, t.walls, t.Draws = t.Reads || s.host.read, t.walls || s.host.wall, t.Draws || s.host.drawn != 0
	t.asks = t.asks || s.host.asked
	n, err := a.describe(s)
	if err != nil {
		s.Process.Close()
		return err
	}
	n.Before, n.By, n.When, n.called = at, in, when, a.CalledAt(at, in)
	n.Tokens |= a.Nodes[at].Tokens | Tokens(s.host.drawn)<<(mostTokens*int(n.Client))
	if in.Kind == InputReply {
		n.Tokens |= a.texts.Replies[in.Arg].Tokens
		n.Top = max(n.Top, a.texts.Replies[in.Arg].Top)
	}
	n.Top = max(n.Top, a.Nodes[at].Top)
	t.compare(&a.Nodes[at].Slots, &n.Slots, in, func(slot int) bool { return s.waits[slot] == waited[slot] })
	places := len(a.Nodes)
	listensOn := a.listensOn(at, in, &n, notices)
	if s.at = at; !listensOn {
		n.direct = !s.merged
		s.at = a.place(n, s)
		s.merged = s.merged || len(a.Nodes) == places
	}
	a.noteSites(s)
	if s.Process.Err() != nil {
		return a.Impure(s.Process.Err())
	}
	t.To, t.Output, t.known = s.at, a.Outputs.outputNumber(notices), true
	a.witness(at, witness{in, when, t.To, t.Output})
	if listensOn { // it may remember the contact, and others at its node have had none
		s.Process.Close()
		return nil
	}
	a.pool.put(s)
	return nil
}

// CalledAt is the node at which the operation was called that an input at a node belongs to.
func (a *Automaton) CalledAt(at uint32, in Input) uint32 {
	if in.Kind == InputCall {
		return at
	}
	return a.Nodes[at].called
}

// compare finds the slots that wait for something new, and those that have given up a request without its reply. same says whether a
// slot's wait is the one from before the step.
func (t *Transition) compare(before, after *[MostSlots]Slot, in Input, same func(slot int) bool) {
	for i, now := range after {
		old := before[i]
		kept := now.Kind != 0 && old.Kind != 0 && same(i)
		if now.Kind != 0 && !kept {
			t.Fresh |= 1 << i
		}
		given := int(in.Slot) == i && in.Kind != InputCall && in.Kind != InputExpired
		if old.Kind == process.Request && !kept && !given {
			t.Dropped |= 1 << i
		}
	}
}

// place finds the node that a description fits, or adds it.
func (a *Automaton) place(n Node, s *instance) uint32 {
	what := ""
	if state, ok := s.Process.State(); ok && n.Idle {
		what = string(rune(n.Client)) + string(state)
		if a.Manner.Ordered {
			what += string(rune(n.Tokens.Of(int(n.Client))))
		}
		if known, ok := a.byMemory[what]; ok && !a.Manner.Plain {
			return known
		}
		if !a.Manner.Ordered {
			n.Tokens = Mentioned(what)
		}
		n.Top = TopNumber(what)
		n.Memory = a.memoryNumber(&n, string(state))
	} else if n.Idle && a.changedNothing(&n, s) {
		return n.called
	}
	n.renamed = make([]uint32, len(a.texts.Orders))
	a.Nodes = append(a.Nodes, n)
	at := uint32(len(a.Nodes) - 1)
	if what != "" {
		a.byMemory[what] = at
	}
	return at
}

// memoryNumber numbers what the lock keeps, but for the names of its own tokens, which it adds to the node.
func (a *Automaton) memoryNumber(n *Node, memory string) uint32 {
	anonymous := []byte(memory)
	eachToken(memory, func(at, client, token int) {
		if client != int(n.Client) {
			return
		}
		k := slices.Index(n.Own, uint8(token))
		if k < 0 {
			k = len(n.Own)
			n.Own = append(n.Own, uint8(token))
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
func (a *Automaton) describe(s *instance) (n Node, err error) {
	n.Client, n.Idle = uint8(s.host.client), !s.Process.Busy()
	known, waits := s.slots, s.waits
	s.waits = [MostSlots]int{}
	for _, w := range s.Process.Waits() {
		if w.Task >= MostSlots {
			return n, a.Impure(fmt.Errorf("it runs more than %d tasks at a time", MostSlots))
		}
		sl := known[w.Task]
		if waits[w.Task] != w.Seq {
			if sl, err = a.slot(s, w); err != nil {
				return n, err
			}
		}
		n.Slots[w.Task], s.waits[w.Task] = sl, w.Seq
		n.Tasks = max(n.Tasks, w.Task+1)
		n.Tokens |= a.texts.Requests[sl.Request].Tokens
		n.Top = max(n.Top, a.texts.Requests[sl.Request].Top)
		n.Listens = n.Listens || sl.Kind == process.Contact || sl.Kind == process.Message
	}
	s.slots = n.Slots
	return n, nil
}

func (a *Automaton) Impure(err error) error {
	return fmt.Errorf("%s cannot be explored: %w", a.spec.Name, err)
}

// ErrAsymmetric: a lock makes a difference between clients, beyond their tokens being different.
var ErrAsymmetric = errors.New("its card says that it compares tokens for equality alone (EqualTokens), and with other tokens it does something else")

// alike says whether a node waits for the same as another, but for who is who.
func (a *Automaton) alike(o int, n, twin *Node) bool {
	for i, sl := range n.Slots {
		sl.Request = a.texts.RenameRequest(o, sl.Request)
		if sl != twin.Slots[i] {
			return false
		}
	}
	return n.Idle == twin.Idle
}

// Rename is the node of the client that takes a client's place, after the same has happened to it.
func (a *Automaton) Rename(o int, n uint32) (uint32, error) {
	if o == 0 {
		return n, nil
	}
	if renamed := a.Nodes[n].renamed[o]; renamed != 0 {
		return renamed - 1, nil
	}
	renamed := uint32(a.texts.Orders[o][a.Nodes[n].Client])
	if a.Nodes[n].Before != n {
		before, err := a.Rename(o, a.Nodes[n].Before)
		if err != nil {
			return 0, err
		}
		in := a.Nodes[n].By
		if in.Kind == InputReply {
			in.Arg = a.texts.RenameReply(o, in.Arg)
		}
		t, err := a.Step(before, in, a.Nodes[n].When.Reading, func() uint16 { return a.Nodes[n].When.Used })
		if err != nil {
			return 0, err
		}
		renamed = t.To
	}
	if !a.alike(o, &a.Nodes[n], &a.Nodes[renamed]) {
		return 0, a.Impure(ErrAsymmetric)
	}
	a.Nodes[n].renamed[o] = renamed + 1
	return renamed, nil
}

// Bytes is how much memory its tables take, but for texts and for the instances in the pool.
func (a *Automaton) Bytes() int {
	return cap(a.Nodes)*int(unsafe.Sizeof(Node{})) + a.Transitions.Bytes()
}

// Unnoticed says whether a transition, which leads to a node, changes nothing but its client's own part.
func (t *Transition) Unnoticed(after *Node, awake bool) bool {
	if t.Output != 0 || t.Dropped != 0 || (t.Reads || t.asks) && !awake {
		return false
	}
	for k := range after.Tasks {
		fresh := t.Fresh&(1<<k) != 0
		if fresh && (!awake && after.Slots[k].Due != Never || after.Slots[k].Kind == process.Message) {
			return false
		}
	}
	return true
}
