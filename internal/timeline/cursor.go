// Package timeline reads a history: it owns who holds which lock since when and until when, whose a lock is on
// its servers, which operation a command belongs to, and which faults are in effect.
//
// A Cursor walks through the events and hands out Facts, each an event with what was so just before it: what package checker's monitors
// read. Of makes a Timeline of a whole history: what reports, storms and shrinking read.
//
// The package judges nothing, and must not know a lock's code, a script or a server. The checker's second judge, porcupine's reader, does
// not use it, so that the two are independent.
package timeline

import (
	"cmp"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// Lock is what is known about one lock.
type Lock struct {
	history.Contract // a session, which ends by a command, counts as leaseless here
	Lease            time.Duration
	Session          bool    // it lasts as long as its client's session: the history says when that ends
	Opaque           bool    // no command of it is on record: it is known by its clients' answers only
	Holds            []Hold  // by client
	Ledger           Ledger  // whose it is
	quorum           *quorum // of a lock that lives on several servers; nil: it lives on one
}

// FreedBy is when a lease that began before at has certainly ended; Never if the length of leases is not on record.
func (k *Lock) FreedBy(at time.Duration) time.Duration {
	switch {
	case k.Leaseless && !k.Session:
		return at
	case k.Lease == 0:
		return Never
	case k.Session: // a server ends it at a tick after its time-out, and has it last two ticks at least
		at += k.Lease / 2
	}
	return at + k.Lease + ownership.LeaseMargin(k.Lease)
}

// Need is on how many servers the lock must be for its client to have it.
func (k *Lock) Need() int {
	if k.quorum == nil {
		return 1
	}
	return k.quorum.need
}

// Probed says whether a command with state probes has reached the lock: only then is it known whose it is by the service.
func (k *Lock) Probed() bool {
	return k.Ledger.server != "" || k.quorum != nil && len(k.quorum.parts) > 0
}

// Spread says whether the lock lives on several servers.
func (k *Lock) Spread() bool { return k.quorum != nil }

// Cursor is a place in a history, with all that is known there. Clients and locks are numbered from 1; 0 is none. Only Step changes it.
type Cursor struct {
	Clients, LockNames Names
	Dead               []bool // by client: it has exited
	worksUnder         []int  // by client: the lock of its last operation of work
	Locks              []Lock // by lock
	Ops                Operations
	Faults             []FaultSpan // those that have not been taken back, and all skews: what was computed by a wrong clock stays wrong
	withheld           []withholding
	replied            []time.Duration    // by client: when the latest reply to it was sent
	rates              map[string]float64 // of the processes' clocks that run at another rate than 1
	Wired              bool               // commands to the resource are on record
	fact               Fact               // reused from event to event
	room               history.Room       // of its command
	// Malformed says what is impossible in the history so far; "" if nothing is.
	Malformed string
}

// NewCursor is a cursor before the first event.
func NewCursor() *Cursor {
	return &Cursor{Clients: newNames(), LockNames: newNames(), Dead: make([]bool, 1), worksUnder: make([]int, 1), Locks: make([]Lock, 1)}
}

// Fact is an event with the operation that it belongs to, and with what was so just before. It is good until the next one.
type Fact struct {
	Index        int
	Event        *history.Event
	Client, Lock int       // 0 if the event has none
	Op           Operation // of a call, return or command; zero if it is not known
	Hold         Hold      // of Client on Lock, before
	Began        bool      // Client's hold on Lock began with this event
	Work         bool      // a command to Lock's protected resource, which does nothing to the lock
	Wrote        bool      // it wrote to the resource

	Sent *history.Command // of a command

	// Of a command that named Lock's key; Change is nil for any other, and Effect EffectNone:
	Change  *history.Change
	Effect  history.Effect
	Owner   Claim // before
	Live    bool  // the owner's claim had to be respected: see Cursor.live
	Foreign bool  // what the command found there was none of the owner's: see Ledger.Foreign
	Mine    Claim // what the command founds for Client if it took the lock
	// BlockedSince, of a lock that lives on several servers, is since when it has been seen to be taken by others; zero if it is not.
	BlockedSince time.Duration
	Elsewhere    bool // of such a lock: what the command found on its server is none of the owner's
	Removed      Part // of such a lock: what the command removed from its server
}

func (v *Cursor) client(name string) int {
	if name == "" {
		return 0
	}
	id := v.Clients.id(name)
	for len(v.Dead) <= id {
		v.Dead = append(v.Dead, false)
		v.worksUnder = append(v.worksUnder, 0)
	}
	return id
}

func (v *Cursor) lock(name string) int {
	if name == "" {
		return 0
	}
	id := v.LockNames.id(name)
	for len(v.Locks) <= id {
		v.Locks = append(v.Locks, Lock{})
	}
	return id
}

// Step takes in event i and hands the facts in it to emit: one, but for a command that names several locks' keys.
func (v *Cursor) Step(i int, e *history.Event, emit func(*Fact)) {
	f := &v.fact
	*f = Fact{Index: i, Event: e, Client: v.client(e.Client)}
	if e.Kind == history.KindCommand {
		v.command(f, emit)
		return
	}
	f.Lock = v.lock(e.Lock)
	if f.Client != 0 && f.Lock != 0 {
		f.Hold = *v.hold(f.Client, f.Lock)
		f.Owner = v.Locks[f.Lock].Ledger.Owner
	}
	switch e.Kind {
	case history.KindOpen:
		v.open(f)
	case history.KindCall:
		v.call(f)
	case history.KindReturn:
		v.back(f)
	case history.KindValid:
		v.renewed(f)
	case history.KindLost:
		v.lost(f)
	case history.KindExit:
		v.exit(f.Client)
	case history.KindFault:
		v.fault(i, e)
	}
	emit(f)
}

func (v *Cursor) open(f *Fact) {
	v.Dead[f.Client] = false
	if d := f.Event.Detail; d != nil && f.Lock != 0 {
		k := &v.Locks[f.Lock]
		k.Contract, k.Lease, k.Session = d.Contract, d.Lease, d.Session
		k.Leaseless, k.Permits = d.Leaseless || d.Session, max(d.Permits, 1)
		k.Opaque = d.Unseen == history.Opaque
		if d.Servers > 1 && k.quorum == nil {
			k.quorum = newQuorum(d.Servers, d.Need)
		}
	}
}

// fault takes in a fault. After one of a server, what that holds may have changed without a command.
func (v *Cursor) fault(i int, e *history.Event) {
	v.noteFault(i, e)
	v.withhold(e)
	v.noteRate(e)
	f := e.Fault()
	if f == nil || !faults.Kind(f.Name).Changes() {
		return
	}
	for lock := range v.Locks {
		v.Locks[lock].Ledger.Stale = true
		v.Locks[lock].quorum.doubt(f.Target)
	}
}

func (v *Cursor) command(f *Fact, emit func(*Fact)) {
	c := f.Event.CommandIn(&v.room)
	if c == nil || f.Client == 0 {
		return
	}
	f.Sent = c
	f.Op = v.Ops.command(f.Event.ID, f.Client, f.Event.At, v.arrives(f.Client, f.Event.At), c)
	v.noteReply(f.Client, f.Event.At)
	if c.Server == history.Resource {
		v.work(f, c, emit)
		return
	}
	if c.Redirected() {
		return
	}
	if len(c.Changes) == 0 {
		v.unasked(f, c)
		emit(f)
	}
	for n := range c.Changes {
		f.Change = &c.Changes[n]
		if f.Lock = v.LockNames.Find(f.Change.Key); f.Lock != 0 {
			v.touch(f, c)
			emit(f)
		}
	}
}

// unasked takes in a command without state probes: what it did is not known.
func (v *Cursor) unasked(f *Fact, c *history.Command) {
	if f.Lock = v.LockNames.Find(f.Event.Lock); f.Lock == 0 {
		f.Lock = f.Op.Lock
		return
	}
	v.Locks[f.Lock].Ledger.Stale = true
	v.Locks[f.Lock].quorum.doubt(c.Server)
	if grants(c, nil) {
		v.hold(f.Client, f.Lock).from = v.arrives(f.Client, f.Event.At)
	}
}

// work hands out a command to the protected resource. One that belongs to no operation comes late: what its client was last working
// at had been given up by then.
func (v *Cursor) work(f *Fact, c *history.Command, emit func(*Fact)) {
	v.Wired = true
	f.Work = true
	f.Lock = cmp.Or(f.Op.Lock, v.LockNames.Find(f.Event.Lock), v.worksUnder[f.Client])
	if f.Lock == 0 {
		return
	}
	f.Wrote = AcceptedWrite(c)
	emit(f)
}
