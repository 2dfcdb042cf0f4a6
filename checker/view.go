package checker

import (
	"cmp"
	"fmt"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// resource is the tap's name for the server that protected resources live on.
const resource = "resource"

// hold is a client's belief that it has a lock, as the lab knows it.
type hold struct {
	on      bool
	op      int64 // the acquire, or the renewal, that began it
	since   int   // index of the event that began it
	sinceAt time.Duration
	ends    time.Duration // by the validity that the lock declared, as early as can be; never if it declared none
	from    time.Duration // the client's last declaration cannot have been made before; see validUntil
	again   bool          // it was acquired again while it lasted
	count   int           // how often it was acquired and not released; counts only where the lock does
}

func (h hold) active(at time.Duration) bool { return h.on && at < h.ends }

// declare takes the validity that an event declares, if any. called is when the operation was that the event answers; zero if it
// answers none.
func (h *hold) declare(e *history.Event, called time.Duration) {
	h.from = max(h.from, called)
	if e.Valid > 0 {
		h.ends = validUntil(h.from, e.Valid)
	}
}

// lockView is what is known about one lock.
type lockView struct {
	lease     time.Duration
	leaseless bool
	reentrant bool   // its holder has it until as many releases as acquires
	fair      bool   // it promises order
	holds     []hold // by client
	ledger    ledger
	quorum    *quorum // of a lock that lives on several servers; nil: it lives on one
}

// view is what an attentive observer knows at one point of a history: who believes to hold which lock, and whose it is by the
// service's ledger. It is updated with each event; monitors only read it.
type view struct {
	clients, locks names
	dead           []bool     // by client
	worksUnder     []int      // by client: the lock of its last operation of work
	keys           []lockView // by lock
	ops            ops
	wired          bool // commands to the resource are on record
	fact           fact // reused from event to event
	// malformed says what makes no sense in the history; "" if nothing does not.
	malformed string
}

func newView() *view {
	return &view{clients: newNames(), locks: newNames(), dead: make([]bool, 1), worksUnder: make([]int, 1), keys: make([]lockView, 1)}
}

// fact is an event as the monitors see it: with the operation that it belongs to, and with what was so just before.
type fact struct {
	i            int
	e            *history.Event
	client, lock int  // 0 if the event has none
	op           op   // of a call, return or command; zero if it is not known
	hold         hold // of client on lock, before
	began        bool // client's hold on lock began with this event
	work         bool // a command to lock's protected resource, and so no deed to the lock
	wrote        bool // which wrote to it

	// Of a command that named lock's key:
	change  *history.Change
	effect  history.Effect
	owner   claim // before
	live    bool  // the owner's claim had to be respected: see view.live
	foreign bool  // what the command found there was none of the owner's: see ledger.foreign
	mine    claim // what the command founds for client if it took the lock
	// Of a lock that lives on several servers: since when it has been seen to be taken, and that what the command found there is
	// none of the owner's.
	found     time.Duration
	elsewhere bool
}

func (v *view) client(name string) int {
	if name == "" {
		return 0
	}
	id := v.clients.id(name)
	for len(v.dead) <= id {
		v.dead = append(v.dead, false)
		v.worksUnder = append(v.worksUnder, 0)
	}
	return id
}

func (v *view) lock(name string) int {
	if name == "" {
		return 0
	}
	id := v.locks.id(name)
	for len(v.keys) <= id {
		v.keys = append(v.keys, lockView{})
	}
	return id
}

func (v *view) hold(client, lock int) *hold {
	holds := &v.keys[lock].holds
	for len(*holds) <= client {
		*holds = append(*holds, hold{})
	}
	return &(*holds)[client]
}

// live says whether a claim must be respected at a time: its lease has time left, and its client was told that it has the lock,
// or is about to be, and has not given it up. It is the lease that protects what the client is doing, also when its declared
// validity is over and also when it has crashed: what it sent may still be on its way.
func (v *view) live(c claim, lock int, at time.Duration) bool {
	if !c.leased(at) || c.over {
		return false
	}
	switch c.standing {
	case pending:
		return !c.dead
	case granted:
		return c.dead || v.hold(c.client, lock).on
	}
	return false
}

// step takes in one event and hands the facts in it to emit: one, but for a command that names several locks' keys.
func (v *view) step(i int, e *history.Event, emit func(*fact)) {
	f := &v.fact
	*f = fact{i: i, e: e, client: v.client(e.Client)}
	if e.Kind == history.KindCommand {
		v.command(f, emit)
		return
	}
	f.lock = v.lock(e.Lock)
	if f.client != 0 && f.lock != 0 {
		f.hold = *v.hold(f.client, f.lock)
		f.owner = v.keys[f.lock].ledger.owner
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
		v.end(f, false)
	case history.KindExit:
		v.exit(f.client)
	case history.KindFault:
		v.fault(e)
	}
	emit(f)
}

func (v *view) open(f *fact) {
	v.dead[f.client] = false
	if d := f.e.Detail; d != nil && f.lock != 0 {
		k := &v.keys[f.lock]
		k.lease, k.leaseless, k.reentrant, k.fair = d.Lease, d.Leaseless, d.Reentrant, d.Fair
		if d.Servers > 1 && k.quorum == nil {
			k.quorum = newQuorum(d.Servers)
		}
	}
}

func (v *view) call(f *fact) {
	o := op{id: f.e.ID, kind: f.e.Op, client: f.client, lock: f.lock, called: f.i, calledAt: f.e.At}
	if f.e.Detail != nil {
		o.bound = f.e.Detail.Bound
	}
	if f.client == 0 || f.lock == 0 {
		return
	}
	o.inner = o.kind == history.OpRelease && v.keys[f.lock].reentrant && f.hold.active(f.e.At) && f.hold.count > 1
	if !v.ops.call(o) {
		v.malformed = fmt.Sprintf("event %d calls operation %d, which is under way already", f.i, o.id)
		return
	}
	f.op = o
	switch {
	case o.kind == history.OpWork:
		v.worksUnder[f.client] = f.lock
	case o.inner:
		v.hold(f.client, f.lock).count--
	case o.kind == history.OpRelease:
		v.end(f, true)
	}
}

func (v *view) back(f *fact) {
	f.op = v.ops.settle(f.client, f.i, f.e)
	if f.op.lock == 0 {
		return // its client has exited, and nobody expected it any more
	}
	if f.op.lock != f.lock {
		v.malformed = fmt.Sprintf("event %d returns from operation %d, which was called on another lock", f.i, f.op.id)
		f.op = op{}
		return
	}
	l := &v.keys[f.lock].ledger
	switch f.op.kind {
	case history.OpAcquire:
		l.settle(f.op)
		if f.op.outcome == history.OK {
			v.acquired(f)
		}
	case history.OpRenew:
		if f.op.outcome == history.OK {
			v.renewed(f)
		}
	case history.OpRelease:
		if f.op.inner && f.op.outcome == history.No {
			v.end(f, false) // it was told that the lock is not its own
		}
		if l.owner.client == f.client && f.op.outcome != history.Unknown {
			l.owner.releasing = false
		}
	}
}

// acquired begins a hold, or takes it once more.
func (v *view) acquired(f *fact) {
	if v.dead[f.client] {
		return
	}
	if f.e.Valid == history.ValidityExpired {
		v.end(f, false)
		return
	}
	h := v.hold(f.client, f.lock)
	h.again = true
	h.count++
	if !f.hold.active(f.e.At) {
		*h = hold{on: true, op: f.op.id, since: f.i, sinceAt: f.e.At, ends: never, from: h.from, count: 1}
		f.began = true
	}
	h.declare(f.e, f.op.calledAt)
	f.began = f.began && h.active(f.e.At)
}

// renewed prolongs a hold, or begins it anew if its validity had ended meanwhile.
func (v *view) renewed(f *fact) {
	if f.client == 0 || f.lock == 0 || !f.hold.on {
		return
	}
	if f.e.Valid == history.ValidityExpired {
		v.end(f, false)
		return
	}
	if owner := &v.keys[f.lock].ledger.owner; owner.client == f.client {
		owner.sure = owner.ends
	}
	h := v.hold(f.client, f.lock)
	h.declare(f.e, f.op.calledAt)
	if !f.hold.active(f.e.At) && h.active(f.e.At) {
		// While it was over, it may have been lost, and taken once by an acquire whose answer nobody heard.
		h.op, h.since, h.sinceAt, h.count = f.op.id, f.i, f.e.At, 1
		f.began = true
	}
}

// end ends the client's hold on the lock.
func (v *view) end(f *fact, releasing bool) {
	if f.client == 0 || f.lock == 0 {
		return
	}
	v.hold(f.client, f.lock).on = false
	if owner := &v.keys[f.lock].ledger.owner; owner.client == f.client {
		owner.over, owner.releasing = true, releasing
	}
}

func (v *view) exit(client int) {
	if client == 0 {
		return
	}
	v.dead[client] = true
	v.ops.exit(client)
	for lock := 1; lock < len(v.keys); lock++ {
		v.hold(client, lock).on = false
		if owner := &v.keys[lock].ledger.owner; owner.client == client {
			owner.dead = true
		}
	}
}

// fault takes in that what the server holds may have changed without a command.
func (v *view) fault(e *history.Event) {
	if e.Detail == nil || e.Detail.Fault == nil || !onServer(e.Detail.Fault) {
		return
	}
	for lock := range v.keys {
		v.keys[lock].ledger.stale = true
		v.keys[lock].quorum.doubt(e.Detail.Fault.Target)
	}
}

// onServer says whether a fault hits a server rather than a client.
func onServer(f *history.Fault) bool { return faults.Kind(f.Name).OnServer() }

func (v *view) command(f *fact, emit func(*fact)) {
	d := f.e.Detail
	if d == nil || d.Command == nil || f.client == 0 {
		return
	}
	c := d.Command
	f.op = v.ops.command(f.e.ID, f.client, f.e.At, connOf(c))
	if c.Server == resource {
		v.work(f, c, emit)
		return
	}
	if len(c.Changes) == 0 {
		v.unasked(f, c)
		emit(f)
	}
	for n := range c.Changes {
		f.change = &c.Changes[n]
		if f.lock = v.locks.find(f.change.Key); f.lock != 0 {
			v.touch(f, c)
			emit(f)
		}
	}
}

// unasked takes in a command of which nobody knows what it did.
func (v *view) unasked(f *fact, c *history.Command) {
	if f.lock = v.locks.find(f.e.Lock); f.lock == 0 {
		f.lock = f.op.lock
		return
	}
	v.keys[f.lock].ledger.stale = true
	v.keys[f.lock].quorum.doubt(c.Server)
	if grants(c, nil) {
		v.hold(f.client, f.lock).from = f.e.At
	}
}

// work hands out a command to the protected resource. One that belongs to no operation comes late: what its client was last working
// at had been given up by then.
func (v *view) work(f *fact, c *history.Command, emit func(*fact)) {
	v.wired = true
	f.work = true
	f.lock = cmp.Or(f.op.lock, v.locks.find(f.e.Lock), v.worksUnder[f.client])
	if f.lock == 0 {
		return
	}
	f.wrote = acceptedWrite(c)
	emit(f)
}

// touch brings the ledger up to a command that named a lock's key.
func (v *view) touch(f *fact, c *history.Command) {
	if v.keys[f.lock].quorum != nil {
		v.touchQuorum(f, c)
		return
	}
	l := &v.keys[f.lock].ledger
	l.observe(c.Server, f.change.Before)
	f.hold = *v.hold(f.client, f.lock)
	f.effect, f.owner, f.foreign = f.change.Effect(c.Asked), l.owner, l.foreign
	if grants(c, f.change) {
		v.hold(f.client, f.lock).from = f.e.At
	}
	f.live = !l.off && v.live(l.owner, f.lock, f.e.At)
	f.mine = v.claim(f, c)
	l.apply(*f.change, f.effect, f.mine, f.live)
	switch f.effect {
	case history.EffectCreated, history.EffectReplaced, history.EffectUnclear:
		v.ops.took(f.mine.op, f.client, f.i)
	}
	if l.off {
		l.owner, l.challengers, f.owner = claim{}, nil, claim{}
	}
}

// claim is what a command founds for its client if it took the lock.
func (v *view) claim(f *fact, c *history.Command) claim {
	let := c.Sent
	if let == 0 {
		let = f.e.At
	}
	mine := claim{client: f.client, command: f.i, at: f.e.At, dead: v.dead[f.client]}
	mine.lease, mine.ends = v.lease(f, let)
	acquire := f.op
	if acquire.id == 0 {
		acquire = v.ops.late(f.client, f.lock, connOf(c))
	}
	if acquire.id == 0 {
		acquire = v.ops.acquiring(f.client, f.lock)
	}
	switch {
	case acquire.kind == history.OpAcquire && acquire.lock == f.lock:
		mine.op = acquire.id
		if acquire.outcome != history.OutcomeNone {
			mine.settle(acquire)
			mine.over = mine.standing == granted && !f.hold.on
		}
	case f.hold.on:
		mine.standing, mine.settled, mine.settledAt, mine.sure = granted, f.hold.since, f.hold.sinceAt, mine.ends
	default:
		mine.standing = dubious // neither acquiring nor holding: whatever this command is for
	}
	return mine
}

// lease is the length of the lease that a command left on the key, and when it ends at the earliest. Without an expiry on the
// key the lease exists in its value only, and counts from when the client can have made it: after the operation's command
// before. Where nobody said how long it is, nothing is left of it, and nobody is accused.
func (v *view) lease(f *fact, let time.Duration) (length, ends time.Duration) {
	k := &v.keys[f.lock]
	if ttl := f.change.After.TTL; ttl > 0 {
		return ttl, let + ttl
	}
	if k.leaseless {
		return 0, never
	}
	if f.op.id != 0 {
		let = max(f.op.calledAt, f.op.lastCommand)
	}
	return k.lease, let + k.lease
}
