package explore

import (
	"context"
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
	slots   [mostSlots]slot // what it waited for when it was last described
	waits   [mostSlots]int  // which waits of the process these were
	seat    int             // in its class
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

// So that it is noticed if a lock does not do the same each time, the ways to where the first things are learned are gone from the
// beginning, the very first several times, and later on one in so many. There may be few things to learn in which chance plays a part,
// and it may come out the same more than once.
const (
	recitedOften = 16
	often        = 4
	recitedFirst = 64
	recitedLater = 32
)

// studentAt is a process at a node.
func (a *automaton) studentAt(at uint32) (*student, error) {
	a.taught++
	if a.taught <= recitedOften {
		for range often - 1 {
			s, err := a.goTo(at, true)
			if err != nil {
				return nil, err
			}
			s.process.Close()
		}
	}
	return a.goTo(at, a.taught <= recitedFirst || a.taught%recitedLater == 0)
}

// goTo has a process go to a node on the node's own way, all of it or from where there is one already. If it finds another node, the
// lock is not a function of what it is given.
func (a *automaton) goTo(at uint32, whole bool) (*student, error) {
	var s *student
	var way []uint32
	for n := at; s == nil; n = a.nodes[n].before {
		if !whole {
			s = a.class.call(n)
		}
		if s == nil && a.nodes[n].before == n {
			s = a.newStudent(int(a.nodes[at].client))
		}
		if s == nil {
			way = append(way, n)
		}
	}
	for _, n := range slices.Backward(way) {
		want := &a.nodes[n]
		if _, err := a.give(s, want.by, want.when); err != nil {
			s.process.Close()
			return nil, a.impure(err)
		}
		met, err := a.describe(s)
		if err != nil {
			s.process.Close()
			return nil, err
		}
		if met.slots != want.slots || met.idle != want.idle {
			s.process.Close()
			return nil, a.impure(fmt.Errorf("given the same twice, it did not do the same twice"))
		}
	}
	s.at = at
	return s, nil
}

var errNoEnd = errors.New("it does not come back: it waits for what is not its Env's, or never stops asking")

// errTokens: where this happens the search goes no further, and is not complete.
var errTokens = fmt.Errorf("it has more than %d tokens in use at a time", mostTokens)

// patience is how long it may take, in real time, to learn one thing. A lock only computes.
const patience = 5 * time.Second

// patiently does something that learns, and gives it up when one thing takes too long. It looks from outside: to watch over each thing
// by itself takes longer than to learn it.
func (a *automaton) patiently(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a lock that comes back after all finds nobody who goes on
	result := make(chan error, 1)
	go func() { result <- do(ctx) }()
	look := time.NewTicker(patience / 10)
	defer look.Stop()
	for {
		select {
		case err := <-result:
			return err
		case <-look.C:
			if began := time.Duration(a.learning.Load()); began > 0 && time.Since(a.born) > began+patience {
				return a.impure(errNoEnd)
			}
		}
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
