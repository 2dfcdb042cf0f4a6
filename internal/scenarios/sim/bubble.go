package sim

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// Library is a lock whose code uses clocks, goroutines and connections by itself. It runs in a bubble: see package testing/synctest.
type Library struct {
	// Open makes one client's lock, and a function that ends all that it has started. It may send commands.
	Open func(Access) (lock impls.Lock, end func(), err error)
	// Settle waits until every other goroutine of the bubble is blocked: synctest.Wait.
	Settle func()
	// Keys are those that the lock has on the server, of which its holder has all or, with Most, more than half. Nil: its name is its key.
	Keys []string
	Most bool
	// Linger is how much time goes by at the end, so that goroutines that sleep find out that all has ended.
	Linger time.Duration
	// Name is the name of the lock.
	Name string
}

// Access is all that a lock gets of a bubble.
type Access struct {
	Client string // whose lock it is
	Name   string // of the lock
	Lease  time.Duration
	Addrs  []string // of the lock servers
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	// Ask has the server at an address carry out a command, without a net.Conn in between. Its arguments are what go-redis takes. The reply is nil, a string, an int64, a ServerError, or
	// a list of these; the error says that none has come.
	Ask func(ctx context.Context, addr string, args ...any) (reply any, err error)
	// Awaits says whether a command of the operation under way has been sent, and its reply has not come.
	Awaits func() bool
	// Env is for a lock that is written for it.
	Env impls.Env
	// Lost and Renewed are those of impls.Env.
	Lost    func(why string)
	Renewed func(valid time.Duration)
}

// Bubble is a world in virtual time whose clients are goroutines of a library. Its servers and links are those of World; time is that of the
// bubble in which Play is called. Time goes on when all goroutines of the bubble wait for it.
type Bubble struct {
	*World
	library Library
}

// OpenBubble makes a world for a library.
func OpenBubble(cfg Config, library Library) *Bubble {
	return &Bubble{World: Open(cfg), library: library}
}

// Play plays a script with the library; see World.Play. It must be called in a bubble. Every goroutine that it starts ends with it, as far as
// those of the library do.
func (w *Bubble) Play(ctx context.Context, subject play.Subject, script *scenarios.Script, dir string) (out play.Played, err error) {
	b := w.newBubble(subject, script)
	out.Header = history.Header{Lock: subject.Name, Scenario: script.Name, Base: b.base}
	err = b.record(ctx, &out)
	time.Sleep(w.library.Linger)
	return out, err
}

// Explore takes clients of a library through a random schedule. It must be called in a bubble. It also returns how many commands the servers have
// carried out.
func (w *Bubble) Explore(ctx context.Context, subject play.Subject, search Search) (out play.Played, commands int, err error) {
	growStack(0)
	script := &scenarios.Script{Name: "explore", Lease: search.Lease}
	for n := range search.Clients {
		script.Clients = append(script.Clients, fmt.Sprintf("C%d", n+1))
	}
	b := w.newBubble(subject, script)
	b.run.Forsakes = true
	b.schedule = b.newSchedule(search)
	out.Header = history.Header{Lock: subject.Name, Scenario: script.Name, Base: b.base}
	err = b.record(ctx, &out)
	time.Sleep(w.library.Linger)
	return out, b.executed, err
}

// bubble is a cell with the goroutines of a library beside its events.
type bubble struct {
	*cell
	library Library
	began   time.Time
	peers   []*guest
	woken   chan struct{} // has room for one: something has been sent
	alarm   *time.Timer   // for sleep
}

func (w *Bubble) newBubble(subject play.Subject, script *scenarios.Script) *bubble {
	b := &bubble{cell: newCell(w.World, subject, script), library: w.library, began: time.Now(), woken: make(chan struct{}, 1)}
	b.base = b.began.Add(-stride)
	b.name()
	b.outside = b
	b.run.Record = play.NewRecorder(b.timeline.stamp)
	b.start = b.newGuest
	b.stop = append(b.stop, b.close)
	return b
}

// name gives the lock its name, and its keys on the server.
func (b *bubble) name() {
	b.run.LockKeys = play.NewLockKeys(b.library.Name, b.run.OtherKey)
	for _, client := range b.run.Clients {
		for _, h := range client.Handles {
			h.Key = b.run.LockKey
			if err := b.run.NameKeys(h, b.library.Keys, b.library.Most); err != nil {
				b.broken = play.Undecided("the lock %v", err)
			}
		}
	}
}

// elapsed is the time of the cell. Goroutines of the library may ask for it.
func (b *bubble) elapsed() time.Duration { return stride + time.Since(b.began) }

// wake ends the sleep of the script's goroutine.
func (b *bubble) wake() {
	select {
	case b.woken <- struct{}{}:
	default:
	}
}

// settle waits until the goroutines of the library are at rest, and takes in what they have told the lab and sent, in an order that does not depend
// on theirs.
func (b *bubble) settle() {
	for goOn := true; goOn; {
		b.library.Settle()
		select {
		case <-b.woken:
		default:
		}
		b.hear()
		b.reach(b.elapsed())
		goOn = false
		for _, g := range b.peers {
			goOn = g.takeIn() || goOn
		}
	}
}

// hear records what clients have told the lab.
func (b *bubble) hear() {
	var said []notice
	for _, g := range b.peers {
		said = append(said, g.takeNotices()...)
	}
	slices.SortStableFunc(said, func(a, b notice) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	for _, n := range said {
		b.timeline.now = max(b.timeline.now, n.at)
		n.record()
	}
}

// sleep lets time pass.
func (b *bubble) sleep(until time.Duration) (early bool) {
	d := until - b.elapsed()
	if d <= 0 {
		return false
	}
	if b.alarm == nil {
		b.alarm = time.NewTimer(d)
	} else {
		b.alarm.Reset(d)
	}
	select {
	case <-b.alarm.C:
		return false
	case <-b.woken:
		b.alarm.Stop()
		return true
	}
}

// close ends the clients: what the library still does reaches nobody.
func (b *bubble) close() {
	for _, g := range b.peers {
		g.close()
	}
}
