package sim

import (
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/internal/worker/work"
)

// guest is a client in a bubble. It belongs to the script's goroutine, but for what is marked otherwise.
//
// A pause holds what it sends and what is sent to it. Its goroutines and timers go on: if that makes it act, the script does not apply.
type guest struct {
	*node
	bubble  *bubble
	locks   map[string]*guestLock // by handle
	numbers map[*link]int         // of the connections made

	connections []transport // in the order in which they were made

	mu     sync.Mutex
	asked  []*call // to the resource, that have not been sent
	dials  []*dialing
	said   []notice
	closed bool
	shared map[string]any // of its locks; see impls.Env
	acted  atomic.Bool    // while it was paused
}

// notice is what a client tells the lab.
type notice struct {
	at     time.Duration
	rank   rank
	record func()
}

// rank decides which of a client's notices of one instant comes first: its goroutines run in any order.
type rank uint8

const (
	byAnswer rank = iota // the answer to an operation
	byItself             // what a lock says by itself: a loss comes behind the answer to the acquire that it is about
)

// guestLock is a lock of a guest.
type guestLock struct {
	handle   *handle
	lock     impls.Lock
	stop     func() // ends what the lock has started; nil: it was not opened
	ctx      context.Context
	end      context.CancelFunc
	inFlight context.CancelFunc // cancels the operation in flight
	tasks    chan func()        // for the goroutine that carries operations out

	mu        sync.Mutex
	acquiring bool
	later     []func()   // notices that wait for the answer to the acquire: a hold cannot end before it begins
	opened    []awaiting // its connections, but those with a command of an earlier operation that was not answered
}

// awaiting is a connection that may wait for a reply. Any goroutine may ask it.
type awaiting interface{ Awaits() bool }

// awaits says whether a command of the operation under way is not answered. Any goroutine may ask it.
func (l *guestLock) awaits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.opened, awaiting.Awaits)
}

// open notes a connection. Any goroutine may call it.
func (l *guestLock) open(c awaiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened = append(l.opened, c)
}

// newGuest makes a client, and has it open its locks.
func (b *bubble) newGuest(ctx context.Context, client *play.Client) (play.Process, error) {
	g := &guest{node: b.newNode(client), bubble: b, locks: map[string]*guestLock{}, numbers: map[*link]int{}, shared: map[string]any{}}
	b.peers = append(b.peers, g)
	for _, of := range client.Handles {
		if err := g.open(ctx, g.handles[of.Name]); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// open opens a lock on a goroutine of the client: it may send commands, and wait for replies.
func (g *guest) open(ctx context.Context, h *handle) error {
	l := &guestLock{handle: h, tasks: make(chan func())}
	l.ctx, l.end = context.WithCancel(context.Background())
	g.locks[h.Name] = l
	var err error
	var opened atomic.Bool
	go func() {
		growStack(0)
		l.lock, l.stop, err = g.bubble.library.Open(g.access(l))
		opened.Store(true)
		g.bubble.wake()
		l.work()
	}()
	if _, late := g.bubble.Until(ctx, play.Ever, opened.Load); late != nil {
		return late
	}
	if err != nil {
		return play.Undecided("the lock of %s could not be opened: %v", h.Name, err)
	}
	g.cell.run.Traits.Verbs = slices.DeleteFunc(slices.Clone(g.cell.run.Traits.Verbs), func(verb string) bool {
		return verb == protocol.Renew && !is[impls.Renewer](l.lock) || verb == protocol.Check && !is[impls.Checker](l.lock) ||
			is[partial](l.lock) && l.lock.(partial).Lacks(verb)
	})
	return nil
}

func is[T any](lock impls.Lock) bool {
	_, ok := lock.(T)
	return ok
}

// partial is a lock that has methods for verbs of the protocol which it lacks.
type partial interface{ Lacks(verb string) bool }

// access is what a lock gets.
func (g *guest) access(l *guestLock) Access {
	to := &lines{guest: g, lock: l, idle: map[string][]*line{}}
	a := Access{
		Client: l.handle.Name, Name: g.bubble.library.Name, Lease: g.cell.run.Script.Lease,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return g.dial(ctx, l, network, addr)
		},
		Ask:    to.ask,
		Env:    &env{guestEnv: guestEnv{began: g.bubble.began}, guest: g, lock: l, lines: to},
		Awaits: l.awaits,
		Lost:   func(why string) { l.tell(g, func() { l.handle.NoticeLoss(0, why) }) },
		Renewed: func(valid time.Duration) {
			l.tell(g, func() { l.handle.NoticeValidity(valid) })
		},
	}
	for i := range l.handle.links {
		a.Addrs = append(a.Addrs, addr(i))
	}
	return a
}

// addr is the address of a server by its number. It is an IP address: a bubble cannot look names up.
func addr(n int) string { return "10.0.0." + strconv.Itoa(n+1) + ":6379" }

// act notes that the client does something. Any goroutine may call it.
func (g *guest) act() {
	if g.paused.Load() {
		g.acted.Store(true)
	}
	g.bubble.wake()
}

// say has the script's goroutine record what the client tells the lab. Any goroutine may call it.
func (g *guest) say(rank rank, record func()) {
	if g.dead.Load() {
		return
	}
	g.mu.Lock()
	g.said = append(g.said, notice{g.bubble.elapsed(), rank, record})
	g.mu.Unlock()
	g.act()
}

// takeNotices takes what the client has told the lab.
func (g *guest) takeNotices() []notice {
	g.mu.Lock()
	defer g.mu.Unlock()
	said := g.said
	g.said = nil
	return said
}

// tell has the lab hear what a lock says by itself. Any goroutine may call it.
func (l *guestLock) tell(g *guest, record func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acquiring {
		l.later = append(l.later, record)
		g.act()
		return
	}
	g.say(byItself, record)
}

// takeIn sends what the client has written. It returns true if that lets goroutines of the client go on.
func (g *guest) takeIn() (goOn bool) {
	if g.acted.Load() && g.cell.broken == nil {
		g.cell.broken = play.NotApplicable("%s went on while it was paused: in virtual time a pause holds what a client sends and receives, and its timers fire", g.name)
	}
	if g.paused.Load() || g.dead.Load() {
		return false
	}
	g.mu.Lock()
	asked, dials := g.asked, g.dials
	g.asked, g.dials = nil, nil
	g.mu.Unlock()
	for _, c := range g.connections {
		takeIn(c)
	}
	for _, call := range asked {
		call.send()
	}
	g.connect(dials)
	return len(dials) > 0
}

// Call begins an operation of a handle.
func (g *guest) Call(op *play.Operation) error {
	l := g.locks[op.Handle.Name]
	ctx, cancel := context.WithCancel(l.ctx)
	l.inFlight = cancel
	g.hand(func() {
		l.do(func() {
			defer cancel()
			answer := g.carryOut(ctx, l, op)
			l.answered(g, func() { op.Return(answer) })
		})
	})
	return nil
}

// do has something done on the goroutine of the lock or, if that is busy, on another. A new goroutine for each operation would spend more
// time on growing its stack than on most commands.
func (l *guestLock) do(task func()) {
	select {
	case l.tasks <- task:
	default:
		go task()
	}
}

// work does what there is to do until the client ends.
func (l *guestLock) work() {
	for {
		select {
		case task := <-l.tasks:
			task()
		case <-l.ctx.Done():
			return
		}
	}
}

// answered records the answer to an operation, and then what the lock has said meanwhile.
func (l *guestLock) answered(g *guest, record func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.say(byAnswer, record)
	l.acquiring = false
	for _, record := range l.later {
		g.say(byItself, record)
	}
	l.later = nil
}

// carryOut carries out an operation, on a goroutine of the client.
func (g *guest) carryOut(ctx context.Context, l *guestLock, op *play.Operation) history.Answer {
	task := work.Task{Resource: newResource(g, l.handle), Shared: func(_ string, fresh func() any) any { return fresh() }, Client: g.name}
	return g.perform(ctx, l.lock, op, task, func(way waiting.Way) (bool, error) {
		l.mu.Lock()
		l.acquiring = true
		l.opened = slices.DeleteFunc(l.opened, awaiting.Awaits)
		l.mu.Unlock()
		return acquire(ctx, l.lock, guestEnv{began: g.bubble.began}, op.Within, way)
	})
}

// acquire tries for some time, or once.
func acquire(ctx context.Context, lock impls.Lock, env impls.Env, within time.Duration, way waiting.Way) (bool, error) {
	if timed, ok := lock.(impls.SelfTimed); ok && within > 0 {
		return waiting.Acquire(ctx, ctx, env, lock, waiting.ByLock(way, timed, within))
	}
	if within == 0 {
		return waiting.Acquire(ctx, ended(), env, lock, way)
	}
	patience, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return waiting.Acquire(ctx, patience, env, lock, way)
}

// guestEnv is what a client needs to wait between its tries: the time.
type guestEnv struct {
	impls.Env
	began time.Time
}

func (e guestEnv) Now() time.Time { return time.Now() }

func (e guestEnv) Monotonic() time.Duration { return time.Since(e.began) }

func (guestEnv) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

func (guestEnv) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Cancel gives an operation up: its context ends and, if that does not bring it back, its reads time out.
func (g *guest) Cancel(_ context.Context, op *play.Operation) error {
	l := g.locks[op.Handle.Name]
	g.hand(func() {
		l.inFlight()
		g.bubble.settle()
		if op.Answered() {
			return
		}
		for _, c := range g.connections {
			if c.of().handle == l.handle {
				c.TimeOut()
			}
		}
	})
	return nil
}

// TakeIn is not offered: nobody but the library knows when one of its goroutines acts on a reply.
func (g *guest) TakeIn(context.Context, *play.Handle) error { return nil }

// Kill cuts the client off for good, and ends its connections. Its goroutines get errors from then on, which nobody hears of.
func (g *guest) Kill(ctx context.Context) error {
	err := g.node.Kill(ctx)
	g.abandon(io.EOF)
	return err
}

// SetClock is not possible: the clock of a library is that of the bubble.
func (g *guest) SetClock(context.Context, time.Duration, float64) error {
	return play.NotApplicable("%s's clock cannot be set", g.name)
}

// abandon ends what the client's goroutines wait for.
func (g *guest) abandon(err error) {
	for _, l := range g.locks {
		l.end()
	}
	for _, c := range g.connections {
		c.Fail(err)
	}
}

// close ends the client after the script, and has its locks end what they have started.
func (g *guest) close() {
	g.dead.Store(true)
	g.mu.Lock()
	dials := g.dials
	g.closed, g.dials = true, nil
	g.mu.Unlock()
	g.connect(dials)
	g.abandon(net.ErrClosed)
	for _, l := range g.locks {
		if l.stop != nil {
			go l.stop()
		}
	}
}
