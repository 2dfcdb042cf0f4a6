// Package process runs one client of locks in the model: the locks' own code, in coroutines that move only when their user says so.
// Everything that a lock can learn comes in through its Env, and so through here: replies, the clock, tokens, the end of a wait.
//
// It owns the Env of the model. Its server is a lock's view of one: it sends requests, and the models in internal/sim/redis and internal/sim/zookeeper
// answer them. A process is a deterministic function of what it is given: it must not know a real clock, chance, or who
// schedules it.
package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/service"
)

// Host answers what a lock asks in the middle of a step, without waiting.
type Host interface {
	// Now is what the client's wall clock shows.
	Now() time.Time
	// Monotonic is what its monotonic clock shows.
	Monotonic() time.Duration
	// Token is a value that no other call returns, in any process.
	Token() string
}

// Timekeeper is a Host that keeps the time-outs of locks itself: it is told when one begins, and ends it by Expire. With any other Host, a
// time-out belongs to the wait that it is for, and must begin together with that.
type Timekeeper interface {
	// Begun is told of a time-out that is d long by the client's clock.
	Begun(timer int, d time.Duration)
}

// Process is one client. It is used by one goroutine. Close ends it; one that is not closed leaves coroutines behind.
type Process struct {
	host    Host
	shared  map[string]any
	handles map[string]*env
	tasks   []*task // by number; nil: it has ended
	ready   []*task
	running *task // that is using the Env right now
	conns   map[int]bool
	timers  map[int]*scope // that a Timekeeper, or a user of Fork, will end
	hooks   []*hook
	scopes  []*scope
	steps   atomic.Int64 // read by goroutines of package context, too
	waits   int
	watches int // of sessions, so far
	notices []Notice
	failed  error
	closed  bool
	sources bool // see SendSources
	sites   bool // see NoteSites
	unseen  bool // see Rehearse
	Noted
}

// Noted is what a process notes of the lock's code.
type Noted struct {
	// AskedDeadline: it has asked for the deadline of a context, and was told that there is none. A real one has what its user gave it.
	AskedDeadline bool
	// AskedLate: it has asked whether a time-out of its own is over for which nothing waits. With no Timekeeper it never is.
	AskedLate bool
}

// New is a process without locks.
func New(host Host) *Process {
	return &Process{
		host: host, shared: map[string]any{}, handles: map[string]*env{}, conns: map[int]bool{},
		timers: map[int]*scope{},
	}
}

// SendSources has scripts sent by their source from the start, as if every server had met them before.
func (p *Process) SendSources() { p.sources = true }

// NoteSites has each wait say which lines of the lock's code wait.
func (p *Process) NoteSites() { p.sites = true }

// Rehearse has the lock's code not be watched for goroutines of its own, which takes time: other processes have been watched while they did the like.
func (p *Process) Rehearse() { p.unseen = true }

// Open makes a lock, under a name that it goes by in this process. It has so many servers.
func (p *Process) Open(handle string, spec impls.Spec, opts impls.Options, servers int) {
	e := &env{process: p, handle: handle, scope: p.newScope(context.Background())}
	for i := range servers {
		e.servers = append(e.servers, server{process: p, handle: handle, index: i, resends: spec.Resends})
	}
	e.session = p.sessionOf(handle, spec)
	e.lock = p.made(spec, e, opts)
	p.handles[handle] = e
}

// made is the lock that New makes; nil, and an error of the process, if it makes none.
func (p *Process) made(spec impls.Spec, e *env, opts impls.Options) (lock impls.Lock) {
	defer func() {
		if r := recover(); r != nil {
			p.fail("%w: %v", ErrPanic, r)
		} else if lock == nil {
			p.fail("New has made no lock")
		}
	}()
	return spec.New(e, opts)
}

// Lock is the lock that goes by the name.
func (p *Process) Lock(handle string) impls.Lock { return p.handles[handle].lock }

// Env is the Env of the lock that goes by the name.
func (p *Process) Env(handle string) impls.Env { return p.handles[handle] }

// Operation is what an operation does, from its beginning to its end. What it returns comes out as a Notice.
type Operation func(ctx context.Context, lock impls.Lock) history.Answer

// Call begins an operation on a lock, and runs it as far as it comes. It returns the number of the task that carries it out.
func (p *Process) Call(handle string, op history.Op, run Operation) int {
	e := p.handles[handle]
	scope := p.newScope(e.scope)
	t := p.spawn(ofOperations, func() {
		answer := run(scope, e.lock)
		p.say(Notice{Kind: Returned, Handle: handle, Op: op, Answer: answer})
		e.acquiring = false
		p.notices = append(p.notices, e.kept...)
		e.kept = nil
		scope.end(errCanceled) // as a user's does: what the lock still does by it ends
	})
	t.scope = scope
	e.acquiring = op == history.OpAcquire
	p.settle()
	return t.number
}

// Cancel gives an operation up: from now on its context has ended.
func (p *Process) Cancel(task int) {
	if t := p.tasks[task]; t != nil && t.scope != nil {
		t.scope.end(errCanceled)
	}
	p.settle()
}

// Input is what a task that waits is given.
type Input struct {
	Replies []service.Reply // to a request, one for each of its commands
	Message string          // that was received
	// Lost: the reply, or the request itself, did not come through, and the connection gave up.
	Lost bool
	// TimedOut: the time-out of the wait came first.
	TimedOut bool
}

// Resume gives a task what it waits for, and runs the process as far as it comes.
func (p *Process) Resume(number int, in Input) {
	t := p.tasks[number]
	t.input = in
	p.ready = append(p.ready, t)
	p.settle()
}

// Expire ends the time-out with that number, and all that waits within it.
func (p *Process) Expire(timer int) {
	if s := p.timers[timer]; s != nil {
		delete(p.timers, timer)
		s.end(errExpired)
	}
	p.settle()
}

// Waits are the tasks that have not ended, with what each waits for.
func (p *Process) Waits() []Wait {
	var waits []Wait
	for _, t := range p.tasks {
		if t != nil {
			waits = append(waits, t.wait)
		}
	}
	return waits
}

// Notices takes what the process has reported since the last call.
func (p *Process) Notices() []Notice {
	notices := p.notices
	p.notices = nil
	return notices
}

// Busy says whether an operation is under way.
func (p *Process) Busy() bool {
	return slices.ContainsFunc(p.tasks, func(t *task) bool { return t != nil && t.scope != nil })
}

// ErrPanic is of a lock that panicked.
var ErrPanic = errors.New("the lock panicked")

// Err says that a lock did something that the model does not know, or panicked. The process is of no use after that.
func (p *Process) Err() error { return p.failed }

// Close ends all tasks where they stand, and all contexts. A task that goes on all the same is left where it waits next.
func (p *Process) Close() {
	p.closed = true
	for _, s := range p.scopes {
		s.close()
	}
	p.callHooks()
	for _, t := range p.tasks {
		if t != nil {
			p.running = t
			t.resume()
		}
	}
	p.tasks, p.ready, p.running = nil, nil, nil
}

func (p *Process) say(n Notice) { p.notices = append(p.notices, n) }

func (p *Process) fail(format string, args ...any) {
	if p.failed == nil {
		p.failed = fmt.Errorf(format, args...)
	}
}
