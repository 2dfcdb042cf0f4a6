package tap

import (
	"slices"
	"strings"
	"sync"

	"github.com/locklab/locklab/faults/commands"
)

// Action is what happens to the request at a breakpoint.
type Action uint8

// The actions.
const (
	// HoldRequest keeps the request back until Release; it is delivered even if its client has gone meanwhile.
	HoldRequest Action = iota + 1
	// HoldReply lets the request through and keeps the reply back until Release, and with it everything behind it on that
	// connection, as a slow link would.
	HoldReply
	// DropReply lets the request through and loses the reply, and with it everything that follows to the client on that
	// connection: a TCP link cannot lose bytes in the middle.
	DropReply
	// Duplicate lets the request through twice in a row. The client gets the first reply, once the server has answered both (a
	// command that may block: once it has been sent again), so that both fall within the client's operation.
	Duplicate
	// HoldCopy lets the request through, and once more after Release, on a connection of its own. Nobody gets the second reply.
	// The copy of an EXEC is that of the whole transaction.
	HoldCopy
)

// Background as the ID of a Breakpoint means the requests that belong to no operation in flight.
const Background = -1

// Breakpoint describes one request of one client, and what is to happen to it.
type Breakpoint struct {
	Client string
	Server string // by its tap's name; empty: any of those that share the breakpoints
	ID     int64  // the operation within which requests count; 0: any; Background: none
	Match  commands.Match
	Nth    int // which of the matching requests since Arm, from 1; 0 means 1
	Action Action
}

// Trap is an armed breakpoint. It springs once. Its methods may be called by several goroutines at once.
type Trap struct {
	point     Breakpoint
	owner     *Traps
	reached   chan struct{}
	delivered chan struct{}
	released  chan struct{}
	release   sync.Once
	seen      int      // guarded by owner.mu
	args      []string // guarded by owner.mu
}

// Arm sets a trap. Several may wait for the same request; each springs.
func (t *Tap) Arm(point Breakpoint) *Trap { return t.traps.Arm(point) }

// Arm sets a trap at all taps that share the breakpoints. It counts the requests at all of them, unless it names a server.
func (ts *Traps) Arm(point Breakpoint) *Trap {
	if point.Nth == 0 {
		point.Nth = 1
	}
	point.Match.Command = strings.ToUpper(point.Match.Command)
	trap := &Trap{
		point:     point,
		owner:     ts,
		reached:   make(chan struct{}),
		delivered: make(chan struct{}),
		released:  make(chan struct{}),
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.armed = append(ts.armed, trap)
	return trap
}

// Reached is closed when the request is held, or its reply is held or dropped, or its duplicate has been answered, or its copy is
// held. All but a held
// request have been recorded by then.
func (t *Trap) Reached() <-chan struct{} { return t.reached }

// Delivered is closed when the request, or its copy, has been answered by the server and recorded, whether or not its client is
// still there. It stays open if the connection to the server ended first.
func (t *Trap) Delivered() <-chan struct{} { return t.delivered }

// Release lets go what is held, or what would be.
func (t *Trap) Release() { t.release.Do(func() { close(t.released) }) }

// Disarm takes the trap away if it has not sprung yet, and lets go what it holds.
func (t *Trap) Disarm() {
	t.owner.remove(t)
	t.Release()
}

// Args are the command and its arguments as they are recorded; nil before the trap has sprung.
func (t *Trap) Args() []string {
	t.owner.mu.Lock()
	defer t.owner.mu.Unlock()
	return t.args
}

// Traps are the breakpoints of one tap, or of several, that wait for their request. The zero Traps has none.
type Traps struct {
	mu    sync.Mutex
	armed []*Trap
}

func (ts *Traps) remove(trap *Trap) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.armed = slices.DeleteFunc(ts.armed, func(t *Trap) bool { return t == trap })
}

// spring finds the traps that wait for this very request, and takes them away.
func (t *Tap) spring(client string, f *flight, args [][]byte) []*Trap {
	if !t.traps.watch(client) {
		return nil
	}
	if f.BySHA() && len(args) > 1 && !t.hasScript(string(args[1])) {
		return nil
	}
	return t.traps.spring(t.cfg.Server, client, f)
}

// hasScript asks the server; where it cannot be asked, the script counts as known.
func (t *Tap) hasScript(sha string) bool {
	if !t.takeTurn() {
		return true
	}
	defer t.leaveTurn()
	return t.asker.knowsScript(sha)
}

// watch says whether a trap waits for a request of the client.
func (ts *Traps) watch(client string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.ContainsFunc(ts.armed, func(t *Trap) bool { return t.point.Client == client })
}

func (ts *Traps) spring(server, client string, f *flight) []*Trap {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var sprung []*Trap
	for _, trap := range ts.armed {
		if !trap.point.counts(server, client, f) {
			continue
		}
		if trap.seen++; trap.seen == trap.point.Nth {
			trap.args = f.args
			sprung = append(sprung, trap)
		}
	}
	if sprung != nil {
		ts.armed = slices.DeleteFunc(ts.armed, func(t *Trap) bool { return t.args != nil })
	}
	return sprung
}

// counts says whether a breakpoint counts a request.
func (b Breakpoint) counts(server, client string, f *flight) bool {
	inTime := b.ID == 0 || b.ID == f.id || b.ID == Background && f.id == 0
	if b.Client != client || b.Server != "" && b.Server != server || !inTime {
		return false
	}
	return b.Match.Counts(f.Traits, f.queued)
}
