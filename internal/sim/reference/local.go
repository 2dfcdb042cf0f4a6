package reference

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/worker/work"
)

const (
	lockKey    = "k"
	counterKey = "k:counter"
)

// monotonicZero is what a monotonic clock shows at the beginning: more than a clock is ever behind.
const monotonicZero = 3_600_000

// epoch is what a right clock shows at the beginning.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// inputKind is what a client can be given.
type inputKind uint8

const (
	call inputKind = iota
	reply
	lost
	expired
	wake
)

// input is what a client is given.
type input struct {
	kind    inputKind
	task    int
	op      history.Op // of a call
	replies []service.Reply
}

func (in input) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d", in.kind, in.task, in.op)
	for _, r := range in.replies {
		fmt.Fprintf(&b, "|%d %s", r.Kind, r.String())
	}
	return b.String()
}

// moment is a client after all that it was given, one after the other. Two moments are one only if that was the same, word for word, with
// the same readings of the client's clock. Nothing is concluded from what the lock remembers.
type moment struct {
	number  int
	before  *moment
	client  int
	given   input
	shown   reading
	reads   bool // the lock read a clock
	waits   []process.Wait
	notices []process.Notice
	main    int  // the task of the latest operation
	busy    bool // that is under way
	next    map[string]*edge
}

// reading is what a client's clocks show, in ms.
type reading struct {
	clock int // of both
	ahead int // the wall clock has been set ahead by so much since the beginning
}

// edge leads from one moment by an input: to one, or, if the lock read its clock, to one for each time.
type edge struct {
	reads bool
	to    map[reading]*moment
}

func (e *edge) place(shown reading) reading {
	if e.reads {
		return shown
	}
	return reading{}
}

// locals are the moments of all clients.
type locals struct {
	spec    impls.Spec
	opts    impls.Options
	servers int
	count   int
	starts  map[int]*moment
	reads   bool // some run read a clock
}

// host answers what a lock asks in the middle of a step.
type host struct {
	client, tokens int
	shown          reading
	read           bool
}

func (h *host) Now() time.Time {
	h.read = true
	return epoch.Add(duration(h.shown.clock + h.shown.ahead))
}

// Monotonic counts from a moment of its own, and does not step.
func (h *host) Monotonic() time.Duration {
	h.read = true
	return duration(h.shown.clock + monotonicZero)
}

func (h *host) Token() string {
	h.tokens++
	return fmt.Sprintf("C%d-%d", h.client+1, h.tokens)
}

// start is a client that has not done anything.
func (l *locals) start(client int) (*moment, error) {
	if m := l.starts[client]; m != nil {
		return m, nil
	}
	m, err := l.run(&moment{client: client})
	l.starts[client] = m
	return m, err
}

// after is the client after one more input.
func (l *locals) after(m *moment, in input, shown reading) (*moment, error) {
	text := in.text()
	e := m.next[text]
	if e != nil && e.to[e.place(shown)] != nil {
		return e.to[e.place(shown)], nil
	}
	to, err := l.run(&moment{before: m, client: m.client, given: in, shown: shown, main: m.main})
	if err != nil {
		return nil, err
	}
	if e == nil {
		e = &edge{reads: to.reads, to: map[reading]*moment{}}
		m.next[text] = e
	}
	e.to[e.place(shown)] = to
	return to, nil
}

// run gives a new process all that the client was given until a moment, and takes down what it waits for then.
func (l *locals) run(m *moment) (*moment, error) {
	h := &host{client: m.client}
	p := process.New(h)
	defer p.Close()
	p.SendSources()
	p.Rehearse() // the explorer watches for goroutines
	p.Open("lock", l.spec, l.opts, l.servers)
	var path []*moment
	for n := m; n.before != nil; n = n.before {
		path = append(path, n)
	}
	for _, n := range slices.Backward(path) {
		h.shown, h.read = n.shown, false
		_ = p.Notices()
		if n.given.kind == call {
			n.main = p.Call("lock", n.given.op, operation(n.given.op, p.ResourceServer()))
		} else {
			p.Resume(n.given.task, process.Input{Replies: n.given.replies, Lost: n.given.kind == lost, Expired: n.given.kind == expired})
		}
		if p.Err() != nil {
			return nil, p.Err()
		}
	}
	l.count++
	l.reads = l.reads || h.read
	m.number, m.reads, m.busy, m.next = l.count, h.read, p.Busy(), map[string]*edge{}
	m.waits, m.notices = p.Waits(), p.Notices()
	return m, nil
}

// wait is what a task of the client waits for; nil: there is no such task.
func (m *moment) wait(task int) *process.Wait {
	for i := range m.waits {
		if m.waits[i].Task == task {
			return &m.waits[i]
		}
	}
	return nil
}

// operation is an operation of a client, as in the live world.
func operation(op history.Op, resource impls.Server) process.Operation {
	switch op {
	case history.OpAcquire:
		return acquire
	case history.OpWork:
		return func(ctx process.Context, lock impls.Lock) history.Answer {
			return work.Task{Resource: resource, Key: counterKey}.Under(lock).Do(ctx.Ctx(), history.Counter)
		}
	}
	return func(ctx process.Context, lock impls.Lock) history.Answer {
		return answers.Settled(lock.Release(ctx.Ctx()))
	}
}

func acquire(ctx process.Context, lock impls.Lock) history.Answer {
	held, err := lock.TryAcquire(ctx.Ctx())
	return answers.Granted(lock, held, err)
}
