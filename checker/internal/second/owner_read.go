package second

import (
	"cmp"
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// ownerReader reads the histories of whose the locks were. Like the other readers of the second judge it shares nothing with package
// timeline.
type ownerReader struct {
	mutex   *overlap.Reader
	room    history.Room
	locks   map[string]*ownerHistory
	order   []*ownerHistory
	clients map[string]*asker
	names   []string // of clients, by number
	ids     []uint64 // those of operations so far, a bit each
	broken  bool     // numbers of operations come twice, or there are too many clients
	all     bool     // every window is kept
	lasting []lastingFault
	killed  []string // processes
}

// asker is a client and its operations that a command may still belong to.
type asker struct {
	number  int
	pending []*asking
	past    []*asking // returned, the latest last
	loose   []*asking // ended without a definite answer, the latest last
	unsure  []unsureAnswer
	works   []*asking // its last calls of work, the latest last
}

// unsureAnswer is the return of the client's latest acquire of a lock, where its outcome was unknown.
type unsureAnswer struct {
	lock  string
	event int
}

// How many operations that have returned a late command may belong to.
const (
	keptPast  = 4
	keptWorks = 4
	keptLoose = 256
)

// mostClients is how many clients a history may have to be judged by the model.
const mostClients = 63

func newOwnerReader(m *overlap.Reader, all bool) *ownerReader {
	return &ownerReader{mutex: m, all: all, locks: make(map[string]*ownerHistory), clients: make(map[string]*asker), names: []string{""}}
}

// LocksAndOwners reads the holds of each lock, in the order in which the locks appear, and whose it was by the commands that reached it;
// all of that, or what may be wrong.
func LocksAndOwners(events []history.Event, all bool) ([]*overlap.Lock, []*ownerHistory) {
	holds := overlap.NewReader(events)
	if !matters(events) {
		return overlap.Locks(events), nil
	}
	owners := newOwnerReader(holds, all)
	for i := range events {
		holds.Event(i, &events[i])
		if !holds.Outdated(&events[i]) {
			owners.event(i, &events[i])
		}
	}
	return holds.Finish(), owners.finish()
}

// matters says whether the model has anything to judge: a command, or a lock without commands on record.
func matters(events []history.Event) bool {
	for i := range events {
		e := &events[i]
		if e.Kind == history.KindCommand || e.Kind == history.KindOpen && e.Detail != nil && e.Detail.Unseen == history.Opaque {
			return true
		}
	}
	return false
}

func (r *ownerReader) lock(name string) *ownerHistory {
	l := r.locks[name]
	if l == nil {
		l = &ownerHistory{name: name, all: r.all}
		l.service.goesIdle(0)
		r.locks[name] = l
		r.order = append(r.order, l)
	}
	return l
}

func (r *ownerReader) client(name string) *asker {
	a := r.clients[name]
	if a == nil {
		a = &asker{number: len(r.clients) + 1}
		r.clients[name] = a
		r.names = append(r.names, name)
		r.broken = r.broken || a.number > mostClients
	}
	return a
}

// event takes in event i, which the reader of holds has read already.
func (r *ownerReader) event(i int, e *history.Event) {
	if r.broken {
		return
	}
	if e.Kind == history.KindCommand {
		r.command(i, e)
		return
	}
	if e.Kind == history.KindExit {
		r.exit(i, e)
		return
	}
	if e.Kind == history.KindFault {
		r.faultService(i, e)
		return
	}
	if e.Lock == "" {
		return
	}
	l := r.lock(e.Lock)
	if e.Kind == history.KindOpen && e.Detail != nil {
		l.lease, l.leaseless, l.session = e.Detail.Lease, e.Detail.Leaseless || e.Detail.Session, e.Detail.Session
		l.opaque = e.Detail.Unseen == history.Opaque
		if e.Detail.Servers > 1 && l.spread == nil {
			l.spread = spreadOver(e.Detail.Servers, e.Detail.Need)
		}
	}
	if e.Client == "" {
		return
	}
	c := r.client(e.Client)
	if r.broken {
		return
	}
	var op *asking
	switch e.Kind {
	case history.KindCall:
		if op = r.call(c, i, e); op == nil {
			return
		}
		if e.Op == history.OpRelease {
			r.belief(l, c, i, e, nil)
		}
	case history.KindReturn:
		op = c.back(i, e)
		if op != nil && op.lock == e.Lock {
			l.add(ownerStep{kind: ownerBack, client: c.number, event: i, at: e.At, op: op})
		}
		r.belief(l, c, i, e, op)
	case history.KindLost, history.KindValid:
		r.belief(l, c, i, e, nil)
	}
	r.serviceEvent(l, c, i, e, op)
}

// belief takes in whether the client believes after an event that it has the lock.
func (r *ownerReader) belief(l *ownerHistory, c *asker, i int, e *history.Event, op *asking) {
	on := r.mutex.On(e.Client, e.Lock)
	ends := e.Kind == history.KindLost || e.Kind == history.KindCall && e.Op == history.OpRelease && !on ||
		op != nil && e.Kind == history.KindReturn && op.op == history.OpAcquire && e.Outcome == history.OK &&
			e.Valid == history.ValidityExpired && !r.mutex.Dead[e.Client]
	switch was := l.state.believes(c.number); {
	case on && !was:
		l.add(ownerStep{kind: ownerOn, client: c.number, event: i, at: e.At})
	case was && !on, ends:
		l.add(ownerStep{kind: ownerOff, client: c.number, event: i, at: e.At})
	}
}

func (r *ownerReader) call(c *asker, i int, e *history.Event) *asking {
	if !r.isNew(e.ID) {
		r.broken = true
		return nil
	}
	op := &asking{id: e.ID, client: c.number, op: e.Op, lock: e.Lock, call: i, called: e.At}
	if e.Detail != nil {
		op.bound = e.Detail.Bound
	}
	c.pending = append(c.pending, op)
	switch e.Op {
	case history.OpWork:
		if len(c.works) == keptWorks {
			c.works = slices.Delete(c.works, 0, 1)
		}
		c.works = append(c.works, op)
	case history.OpRelease:
		op.inner = r.mutex.Inner(e.Client, e.Lock, e.ID)
	}
	return op
}

// isNew notes the number of an operation, and says whether it is one that has not been there.
func (r *ownerReader) isNew(id int64) bool {
	if id < 0 || id >= 1<<28 {
		return false
	}
	word, bit := int(id/64), uint64(1)<<(id%64)
	for len(r.ids) <= word {
		r.ids = append(r.ids, 0)
	}
	was := r.ids[word]&bit != 0
	r.ids[word] |= bit
	return !was
}

// back is the operation that returns with event i.
func (c *asker) back(i int, e *history.Event) *asking {
	n := slices.IndexFunc(c.pending, func(a *asking) bool { return a.id == e.ID })
	if n < 0 {
		return nil
	}
	op := c.pending[n]
	c.pending = slices.Delete(c.pending, n, n+1)
	op.back, op.outcome, op.failed = i, e.Outcome, e.Outcome != history.OK
	op.gaveUp = e.Detail != nil && e.Detail.GaveUp
	if len(c.past) == keptPast {
		c.past = slices.Delete(c.past, 0, 1)
	}
	c.past = append(c.past, op)
	if e.Outcome == history.Unknown {
		c.forget(op)
	}
	if op.op == history.OpAcquire {
		c.unsure = slices.DeleteFunc(c.unsure, func(u unsureAnswer) bool { return u.lock == e.Lock })
		if e.Outcome == history.Unknown && !op.gaveUp {
			c.unsure = append(c.unsure, unsureAnswer{e.Lock, i})
		}
	}
	return op
}

func (c *asker) forget(op *asking) {
	if len(c.loose) == keptLoose {
		c.loose = slices.Delete(c.loose, 0, 1)
	}
	c.loose = append(c.loose, op)
}

func (r *ownerReader) exit(i int, e *history.Event) {
	c := r.clients[e.Client]
	if c == nil {
		return
	}
	for _, op := range c.pending {
		op.outcome, op.failed = history.Unknown, true
		c.forget(op)
	}
	c.pending = nil
	for _, l := range r.order {
		l.add(ownerStep{kind: ownerExit, client: c.number, event: i, at: e.At})
		h := r.mutex.Known(e.Client, l.name)
		l.service.exitService(c.number, h != nil && h.By != 0, e.At)
	}
}

// find is the operation of a client to which a command with a number belongs; nil if it is not known.
func (c *asker) find(id int64) *asking {
	is := func(a *asking) bool { return a.id == id }
	for _, list := range [...][]*asking{c.pending, c.past, c.loose} {
		if n := slices.IndexFunc(list, is); n >= 0 {
			return list[n]
		}
	}
	return nil
}

func (r *ownerReader) command(i int, e *history.Event) {
	c := e.CommandIn(&r.room)
	if c == nil || e.Client == "" {
		return
	}
	who := r.client(e.Client)
	if r.broken {
		return
	}
	var op *asking
	if e.ID != 0 {
		op = who.find(e.ID)
	}
	before := time.Duration(0) // when the operation's command before this one was through
	if op != nil {
		before = op.last
		if op.back == 0 && !op.failed {
			op.last, op.server, op.conn = e.At, c.Server, c.Conn
		}
	}
	if c.Server == history.Resource {
		r.write(i, e, c, who, op)
		return
	}
	if c.Redirected() {
		return
	}
	if len(c.Changes) == 0 {
		r.unaskedService(i, e, c, op)
	}
	for n := range c.Changes {
		if l := r.locks[c.Changes[n].Key]; l != nil {
			r.touch(l, i, e, c, who, op, before, &c.Changes[n])
		}
	}
}

// touch takes in what a command did to the key of a lock.
func (r *ownerReader) touch(l *ownerHistory, i int, e *history.Event, c *history.Command, who *asker, op *asking, before time.Duration, change *history.Change) {
	was, is := change.Before, change.After
	if l.spread == nil {
		l.unjudged = l.unjudged || l.server != "" && l.server != c.Server || l.there && was.Exists() && was.Value != l.value
	}
	l.server = c.Server
	step := ownerStep{
		kind: ownerTouch, client: who.number, event: i, at: e.At, effect: overlap.EffectOn(change, c.Asked),
		there: is.Exists(), same: was.Type == is.Type && was.Value == is.Value, unlimited: was.Exists() && was.TTL == 0,
		unseen: was.Exists() && !l.there,
	}
	if l.spread == nil && step.effect == history.EffectReplaced {
		step.counts, step.longer = countsOn(c, change)
	}
	step.mine = possession{client: who.number, began: i, acquire: who.acquireOf(l.name, op, c), dead: r.mutex.Dead[e.Client]}
	step.mine.lease, step.mine.ends = l.leaseFrom(cmp.Or(c.Sent, e.At), op, before, is)
	owned := l.state.owner
	look := keyLook{effect: step.effect, was: was.Exists(), is: is.Exists(), value: was.Value, since: i, wins: true}
	if l.spread != nil {
		look = l.touchSpread(&step, c.Server, change)
		l.add(step)
		l.there = l.spread.has(l.state.owner, e.At)
	} else {
		l.there, l.value = is.Exists(), is.Value
		l.add(step)
	}
	r.serviceTouch(l, &step, e, c, who, op, owned, look)
	switch look.effect {
	case history.EffectCreated, history.EffectReplaced, history.EffectUnclear:
		if a := step.mine.acquire; look.wins && a != nil && a.back == 0 {
			a.took = i
		}
		if l.spread != nil && op != nil && op.lock == l.name {
			r.mutex.Took(e.Client, l.name, op.id, i)
		}
	}
}

// keyLook is what a command, and the probes around it, showed of a lock as a whole.
type keyLook struct {
	effect    history.Effect
	was, is   bool // it was there, or others had it, before and after
	value     string
	since     int  // index of the event since which that was so
	elsewhere bool // what the command found on its server is none of the owner's
	wins      bool // by that effect its client may have taken the lock
	// Of a lock on several servers: what the command removed from one, and from which.
	lost   possession
	server string
}

// acquireOf is the acquire of the lock for which a command may have taken it: its own operation; else one that was given up and had the same
// connection; else the one under way.
func (c *asker) acquireOf(lock string, op *asking, sent *history.Command) *asking {
	isThis := func(a *asking) bool { return a.op == history.OpAcquire && a.lock == lock }
	if op != nil {
		if isThis(op) {
			return op
		}
		return nil
	}
	for _, a := range slices.Backward(c.loose) {
		if sent.Conn != 0 && isThis(a) && a.gaveUp && a.server == sent.Server && a.conn == sent.Conn {
			return a
		}
	}
	if n := slices.IndexFunc(c.pending, isThis); n >= 0 {
		return c.pending[n]
	}
	return nil
}

// write takes in a command to the resource.
func (r *ownerReader) write(i int, e *history.Event, c *history.Command, who *asker, op *asking) {
	name := ""
	if n := len(who.works); n > 0 {
		name = who.works[n-1].lock
	}
	if l := r.locks[e.Lock]; l != nil {
		name = e.Lock
	}
	if op != nil {
		name = op.lock
	}
	l := r.locks[name]
	if l == nil || !writes(c) {
		return
	}
	step := ownerStep{kind: ownerWrite, client: who.number, event: i, at: e.At, op: op, probed: l.server != ""}
	if keepsValues(c) {
		step.begun = who.workBegun(e.ID, name)
	}
	for _, u := range who.unsure {
		if u.lock == name {
			step.unsure = u.event
		}
	}
	step.held = r.mutex.Holds(r.names[l.state.turn], name, e.At)
	l.add(step)
}

// workBegun is the index of the call of the work under a lock that a write is part of: the latest, if it names none; the oldest that is
// known, if it names one that is not. Zero: it is not known.
func (c *asker) workBegun(id int64, lock string) int {
	begun := 0
	for _, w := range slices.Backward(c.works) {
		if w.lock != lock {
			continue
		}
		if begun = w.call; id == 0 || w.id == id {
			break
		}
	}
	return begun
}

// finish ends the reading: what has not returned by now was not told ok.
func (r *ownerReader) finish() []*ownerHistory {
	for _, c := range r.clients {
		for _, op := range c.pending {
			op.failed = true
		}
	}
	for _, l := range r.order {
		l.cut()
		l.unjudged = l.unjudged || r.broken
	}
	return r.order
}
