package tap

import (
	"slices"
	"strings"
	"sync"

	"github.com/locklab/locklab/faults"
)

// Background as the ID of a Breakpoint means the requests that belong to no operation in flight.
const Background = -1

// Breakpoint is a breakpoint for one client.
type Breakpoint struct {
	faults.Breakpoint        // Server is a tap's name; empty: any of those that share the breakpoints. Nth counts from Arm
	Client            string // whose requests count
	ID                int64  // the operation within which they count; 0: any; Background: none
	// Notify, if set, is called in a goroutine of the tap when the breakpoint is reached and when its request has been delivered. It must
	// not block.
	Notify func()
}

// Armed is an armed breakpoint. It applies to one request. It is safe for concurrent use.
type Armed struct {
	point     Breakpoint
	owner     *Breakpoints
	reached   chan struct{}
	delivered chan struct{}
	released  chan struct{}
	dropped   chan struct{}
	release   sync.Once // of either
	seen      int       // guarded by owner.mu
	args      []string  // guarded by owner.mu
}

// Arm sets a breakpoint. Several may wait for the same request; all apply to it.
func (t *Tap) Arm(point Breakpoint) *Armed { return t.cfg.Breakpoints.Arm(point) }

// Arm sets a breakpoint at all taps that share the breakpoints. It counts the requests at all of them, unless it names a server.
func (b *Breakpoints) Arm(point Breakpoint) *Armed {
	if point.Nth == 0 {
		point.Nth = 1
	}
	point.Match.Command = strings.ToUpper(point.Match.Command)
	if point.Notify == nil {
		point.Notify = func() {}
	}
	armed := &Armed{
		point:     point,
		owner:     b,
		reached:   make(chan struct{}),
		delivered: make(chan struct{}),
		released:  make(chan struct{}),
		dropped:   make(chan struct{}),
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, armed)
	return armed
}

// Reached is closed when the request, its reply or its copy is held, its reply is dropped, or its duplicate has been answered. Every
// request but a held one has been recorded by then.
func (t *Armed) Reached() <-chan struct{} { return t.reached }

// Delivered is closed when the request, or its copy, has been answered and recorded, even if its client is gone. It stays open if the
// connection to the server ended first.
func (t *Armed) Delivered() <-chan struct{} { return t.delivered }

func (t *Armed) reach() {
	close(t.reached)
	t.point.Notify()
}

func (t *Armed) deliver() {
	close(t.delivered)
	t.point.Notify()
}

// Release delivers what is held, now or later.
func (t *Armed) Release() { t.release.Do(func() { close(t.released) }) }

// Drop ends the connection of a request that is held, which then never arrives. It does nothing after Release.
func (t *Armed) Drop() { t.release.Do(func() { close(t.dropped) }) }

// Disarm removes the breakpoint if its request has not come, and releases what it holds.
func (t *Armed) Disarm() {
	t.owner.remove(t)
	t.Release()
}

// Args are the command and its arguments as they are recorded; nil before its request has come.
func (t *Armed) Args() []string {
	t.owner.mu.Lock()
	defer t.owner.mu.Unlock()
	return t.args
}

// Breakpoints are the breakpoints, of one tap or several, that wait for their request. The zero value has none.
type Breakpoints struct {
	mu      sync.Mutex
	waiting []*Armed
}

func (b *Breakpoints) remove(armed *Armed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(t *Armed) bool { return t == armed })
}

// lacks says whether the server does not know the script that a request names by its hash, while a breakpoint waits for its client.
func (t *Tap) lacks(client string, args [][]byte) bool {
	return len(args) > 1 && t.commands.Find(args).BySHA() && t.cfg.Breakpoints.watch(client) && !t.hasScript(string(args[1]))
}

// hasScript asks the server for a script, which counts as known if the server does not answer.
func (t *Tap) hasScript(sha string) bool {
	if !t.takeTurn() {
		return true
	}
	defer t.leaveTurn()
	return t.prober.knowsScript(sha)
}

// watch says whether a breakpoint waits for a request of the client.
func (b *Breakpoints) watch(client string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.waiting, func(t *Armed) bool { return t.point.Client == client })
}

// take removes and returns the breakpoints that wait for this request.
func (b *Breakpoints) take(server, client string, f *flight) []*Armed {
	b.mu.Lock()
	defer b.mu.Unlock()
	var taken []*Armed
	for _, armed := range b.waiting {
		if !armed.point.counts(server, client, f) {
			continue
		}
		if armed.seen++; armed.seen == armed.point.Nth {
			armed.args = f.note.args
			taken = append(taken, armed)
		}
	}
	if taken != nil {
		b.waiting = slices.DeleteFunc(b.waiting, func(t *Armed) bool { return t.args != nil })
	}
	return taken
}

// counts says whether a breakpoint counts a request.
func (b Breakpoint) counts(server, client string, f *flight) bool {
	inTime := b.ID == 0 || b.ID == f.note.id || b.ID == Background && f.note.id == 0
	if b.Client != client || b.Server != "" && b.Server != server || !inTime {
		return false
	}
	return f.Counts(b.Match, f.queued)
}
