package process

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
)

// Kind is the kind of a wait.
type Kind uint8

// What a task can wait for.
const (
	Request Kind = iota + 1 // the reply to its commands
	Sleep                   // the end of a time
	Message                 // something published
	Join                    // the end of another task
	Contact                 // an answer of the ZooKeeper to anything, or the end of the session
)

// Resource is the server number of the protected resource.
const Resource = -1

// Wait is what a task waits for.
type Wait struct {
	Task int
	Kind Kind
	// Handle is the lock by whose connections a Request goes, or a Message comes.
	Handle string
	// Of a Request: the commands, which the server executes in a row, and the server. Conn is the connection that they must go through, which
	// no other task uses; 0: any.
	Commands [][]string
	Server   int
	Conn     int
	// On a ZooKeeper: the number of the watch that a Request sets, 0: none, or that a Message is of; and of a Contact that of the session.
	Number int
	// Length is how long a Sleep takes by the client's clock.
	Length time.Duration
	// Limit is the time-out of the wait, counted from when Timer was begun; Timer 0: there is none. Begun: that was just now.
	Limit time.Duration
	Timer int
	Begun bool
	// Seq tells one wait of a process from another.
	Seq int
	// Sites are the lines of the lock's code that wait, as "file.go:12", the innermost first; none without NoteSites.
	Sites []string
}

// NoticeKind is the kind of a notice.
type NoticeKind uint8

// What a process reports.
const (
	Returned NoticeKind = iota + 1 // an operation has ended
	Lost                           // a lock says that it is no longer held
	Renewed                        // a lock says for how long it is held from now
	Hangup                         // a connection has been closed
)

// Notice is what a process reports.
type Notice struct {
	Kind   NoticeKind
	Handle string
	Op     history.Op
	Answer history.Answer
	Why    string        // of Lost
	Valid  time.Duration // of Renewed
	// Of Hangup:
	Server, Conn int
}

// task is one coroutine.
type task struct {
	number  int
	resume  func() (struct{}, bool) // runs it until it waits, and says whether it goes on
	yield   func(struct{}) bool     // has it wait
	wait    Wait
	input   Input
	blocked *scope // the nearest context of the wait that can end; nil: none can
	scope   *scope // of an operation
	ended   bool
	joiners []*task
	timer   int // of its last wait
	undead  int // how often it has asked for something since its process was closed
}

// mostUndead is how often a task may ask for something after its process was closed. One that unwinds does so once for each defer.
const mostUndead = 1000

// leaveEndless leaves a task where it stands that recovers from all that ends it, and does not look whether its context has ended.
func (p *Process) leaveEndless() {
	if !p.closed || p.running == nil || root() != roots.ofTasks {
		return
	}
	t := p.running
	if t.undead++; t.undead > mostUndead {
		t.yield(struct{}{})
	}
}

// ended says whether the context of what a lock asks for has ended.
func (p *Process) ended(ctx context.Context) error {
	p.leaveEndless()
	return ctx.Err()
}

// await has the running task wait within a context, unless that has ended.
func (p *Process) await(ctx context.Context, w Wait) (Input, error) {
	if err := p.ended(ctx); err != nil {
		return Input{}, err
	}
	return p.block(scopeOf(ctx), w)
}

// stopped unwinds a task that is closed.
type stopped struct{}

// The least numbers of tasks. 0 is always an operation's.
const (
	ofOperations = 0
	ofBackground = 1
)

// spawn makes a task that will run when the process settles. It takes the lowest number that is free, and not below the least.
func (p *Process) spawn(least int, run func()) *task {
	t := &task{number: least}
	t.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		roots.Do(func() { roots.ofTasks = root() })
		t.yield = yield
		defer func() {
			if r := recover(); r != nil {
				if _, ours := r.(stopped); !ours {
					p.fail("%w: %v", ErrPanic, r)
				}
			}
		}()
		if !p.closed {
			run()
		}
	})
	for t.number < len(p.tasks) && p.tasks[t.number] != nil {
		t.number++
	}
	for t.number >= len(p.tasks) {
		p.tasks = append(p.tasks, nil)
	}
	p.tasks[t.number] = t
	p.ready = append(p.ready, t)
	return t
}

// settle runs tasks until all wait.
func (p *Process) settle() {
	p.noteDerived()
	p.steps.Add(1)
	for len(p.ready) > 0 {
		t := p.ready[0]
		p.ready = p.ready[1:]
		if t.ended {
			continue
		}
		p.running = t
		_, goesOn := t.resume()
		p.running = nil
		if t.ended = !goesOn; t.ended {
			p.tasks[t.number] = nil
			p.ready = append(p.ready, t.joiners...)
		}
	}
}

// block is called by the task that runs: it waits within a scope, or within nil, which does not end.
func (p *Process) block(within *scope, w Wait) (Input, error) {
	t := p.running
	if t == nil && p.steps.Load() == 0 {
		p.fail("New asks a server, sleeps or waits, which only operations and background tasks can")
		return Input{}, errImpure
	}
	if t == nil || (!p.unseen || p.closed) && root() != roots.ofTasks {
		p.fail("the lock used its Env from a goroutine of its own")
		return Input{}, errImpure
	}
	if p.closed {
		p.leaveEndless()
		panic(stopped{})
	}
	p.limit(t, within.timed(), &w)
	p.waits++
	w.Task, w.Seq = t.number, p.waits
	if p.sites {
		w.Sites = sites()
	}
	t.wait, t.input, t.blocked = w, Input{}, within
	if !t.yield(struct{}{}) || p.closed {
		panic(stopped{})
	}
	t.blocked = nil
	if t.input.TimedOut {
		within.expire(w.Timer)
	}
	if within == nil {
		return t.input, nil
	}
	return t.input, within.ended()
}

// limit puts the time-out of the wait into it.
func (p *Process) limit(t *task, timed *scope, w *Wait) {
	if _, minded := p.host.(Timekeeper); minded {
		return
	}
	if timed == nil {
		t.timer = 0
		return
	}
	w.Timer, w.Limit = timed.number, timed.limit
	w.Begun = t.timer != timed.number
	if w.Begun && timed.step != p.steps.Load() {
		p.fail("a time-out was begun before the wait that it is for: the model does not know how much of it is left")
	}
	t.timer = timed.number
}

// join waits until another task has ended.
func (p *Process) join(other *task) {
	if other.ended {
		return
	}
	other.joiners = append(other.joiners, p.running)
	_, _ = p.block(nil, Wait{Kind: Join})
}

// root is the outermost function of the calling goroutine that is not the runtime's. A lock that uses its Env from a goroutine of its own has
// another one than its task's coroutine, which is the only coroutine that can be running.
func root() uintptr {
	const runtimes = 3                     // the functions around it
	frames := stacks.Get().(*[128]uintptr) // on a coroutine's small stack it would take a copy of that
	defer stacks.Put(frames)
	n := runtime.Callers(0, frames[:])
	if n <= runtimes {
		return 0
	}
	return runtime.FuncForPC(frames[n-1-runtimes]).Entry()
}

var stacks = sync.Pool{New: func() any { return new([128]uintptr) }}

// roots has the root of all tasks' coroutines: they begin with the same function.
var roots struct {
	sync.Once
	ofTasks uintptr
}
