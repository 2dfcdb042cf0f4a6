package explore

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/sim/process"
)

// student is a process that stands at a node.
type student struct {
	process *process.Process
	host    *host
	at      uint32
}

// host answers what a lock asks in the middle of a step.
type host struct {
	client int
	when   circumstances
	read   bool
	drawn  uint16
	ranOut bool
}

func (h *host) Now() time.Time {
	h.read = true
	return base.Add(duration(h.when.clock))
}

// Token is the first that is not in use.
func (h *host) Token() string {
	n := bits.TrailingZeros16(^(h.when.used | h.drawn))
	if n == mostTokens {
		h.ranOut = true
		return ""
	}
	h.drawn |= 1 << n
	return tokenName(h.client, n)
}

func (a *automaton) newStudent(client int) *student {
	h := &host{client: client}
	p := process.New(h)
	p.SendSources()
	p.Open("lock", a.spec, a.opts, a.servers)
	return &student{process: p, host: h, at: uint32(client)}
}

// studentAt is a process at a node. It goes there on the node's own way, and if it finds another one, the lock is not a function
// of what it is given.
func (a *automaton) studentAt(at uint32) (*student, error) {
	if a.live != nil && a.live.at == at {
		return a.live, nil
	}
	a.dismiss()
	var way []uint32
	for n := at; a.nodes[n].before != n; n = a.nodes[n].before {
		way = append(way, n)
	}
	slices.Reverse(way)
	s := a.newStudent(int(a.nodes[at].client))
	a.live = s
	for _, n := range way {
		want := &a.nodes[n]
		if _, err := a.give(s, want.by, want.when); err != nil {
			return nil, a.impure(err)
		}
		met, err := a.describe(s)
		if err != nil {
			return nil, err
		}
		if met.slots != want.slots || met.idle != want.idle {
			return nil, a.impure(fmt.Errorf("given the same twice, it did not do the same twice"))
		}
		s.at = n
	}
	return s, nil
}

// dismiss ends the process that was taught last.
func (a *automaton) dismiss() {
	if a.live != nil {
		a.live.process.Close()
		a.live = nil
	}
}

var errNoEnd = errors.New("it does not come back: it waits for what is not its Env's, or never stops asking")

// errTokens: where this happens the search goes no further, and is not complete.
var errTokens = fmt.Errorf("it has more than %d tokens in use at a time", mostTokens)

// patience is how long it may take, in real time, to learn one thing. A lock only computes.
const patience = 5 * time.Second

// patiently does something that runs a lock's code, and waits no longer than that for it.
func (a *automaton) patiently(do func() error) error {
	result := make(chan error, 1)
	go func() { result <- do() }()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case err := <-result:
		return err
	case <-timeout.C:
		a.live = nil // it cannot be ended
		return a.impure(errNoEnd)
	}
}

// give hands an input to a process and returns what came out of it.
func (a *automaton) give(s *student, in input, when circumstances) ([]process.Notice, error) {
	a.steps++
	s.host.when, s.host.read, s.host.drawn = when, false, 0
	s.give(in, a.texts)
	if s.host.ranOut {
		return nil, errTokens
	}
	return s.process.Notices(), s.process.Err()
}

func (s *student) give(in input, texts *texts) {
	switch in.kind {
	case inputCall:
		op := history.Op(in.arg)
		s.process.Call("lock", op, operationOf(op, s.process.ResourceServer()))
	case inputReply:
		s.process.Resume(int(in.slot), process.Input{Replies: texts.replies[in.arg].replies})
	case inputLost:
		s.process.Resume(int(in.slot), process.Input{Lost: true})
	case inputExpired:
		s.process.Resume(int(in.slot), process.Input{Expired: true})
	case inputWake:
		s.process.Resume(int(in.slot), process.Input{})
	}
}
