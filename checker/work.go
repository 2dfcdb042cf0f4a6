package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/checker/internal/resource"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// staleWrite: the resource accepted a write from a client that no longer held the lock. Order alone decides: whose grant of the lock
// was the latest, and whether that client has released it since.
//
// A client whose acquire ended unknown may have the lock. Whether it has is known by the commands that reached the lock; without state
// probes it is not.
type staleWrite struct {
	turns  []turn // by lock
	unsure []unsureAcquire
	works  map[[2]int]*recentWorks // by client and lock
}

// mostWorks is how many works of a client are remembered, for writes that turn up late.
const mostWorks = 4

// recentWorks are the latest works of a client, the last one first.
type recentWorks [mostWorks]struct {
	op   int64
	call int // index of the call
}

// call is the index of the call of the work that a write is part of. Without an operation it counts as part of the latest, and one of a work
// that is forgotten as part of the oldest that is not: then it is not known who has had the lock since.
func (r *recentWorks) call(op int64) int {
	if r == nil {
		return 0
	}
	call := r[0].call
	for _, w := range r {
		if op == 0 || w.call == 0 {
			break
		}
		if call = w.call; w.op == op {
			break
		}
	}
	return call
}

// unsureAcquire is the latest acquire of a client on a lock, where that ended unknown.
type unsureAcquire struct {
	client, lock int
	event        int // index of its return
}

// turn is the latest grant of a lock.
type turn struct {
	client   int
	order    int // index of the command that took the lock, or of the acquire's return where none was seen
	event    int // index of the acquire's return
	others   int // that of the latest grant to another client
	at       time.Duration
	released time.Duration // when its release had returned; zero if it has not
}

func (m *staleWrite) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Lock == 0 || f.Client == 0 {
		return nil
	}
	for len(m.turns) <= f.Lock {
		m.turns = append(m.turns, turn{})
	}
	t := &m.turns[f.Lock]
	if f.Event.Kind == history.KindReturn && f.Op.Kind == history.OpAcquire {
		m.settle(f)
	}
	switch {
	case f.Event.Kind == history.KindReturn && f.Op.Outcome == history.OK && f.Op.Kind == history.OpAcquire:
		t.pass(newTurn(f))
	case f.Event.Kind == history.KindCall && f.Op.Kind == history.OpWork:
		m.begin(f)
	case f.Event.Kind == history.KindReturn && f.Op.Outcome == history.OK && f.Op.Kind == history.OpRelease:
		if t.client == f.Client && f.Op.Called > t.event && !f.Op.Inner {
			t.released = f.Event.At
		}
	case f.Wrote:
		return t.judge(f, v, ownership.Write{
			Client: f.Client, MayOwn: m.mayOwn(f, v, t), Same: writesAgain(f.Sent), Passed: t.others > m.works[[2]int{f.Client, f.Lock}].call(f.Event.ID),
		})
	}
	return nil
}

// pass makes it the turn of a client, unless its grant was before the latest.
func (t *turn) pass(next turn) {
	if next.order <= t.order && t.client != 0 {
		return
	}
	if next.others = t.others; t.client != next.client {
		next.others = t.event
	}
	*t = next
}

// begin notes that a client begins to work.
func (m *staleWrite) begin(f *timeline.Fact) {
	if m.works == nil {
		m.works = map[[2]int]*recentWorks{}
	}
	by := [2]int{f.Client, f.Lock}
	if m.works[by] == nil {
		m.works[by] = &recentWorks{}
	}
	works := m.works[by]
	copy(works[1:], works[:])
	works[0].op, works[0].call = f.Op.ID, f.Index
}

// settle takes in the outcome of an acquire.
func (m *staleWrite) settle(f *timeline.Fact) {
	list.Take(&m.unsure, func(u unsureAcquire) bool { return u.client == f.Client && u.lock == f.Lock })
	if f.Op.Outcome == history.Unknown && !f.Op.GaveUp {
		m.unsure = append(m.unsure, unsureAcquire{f.Client, f.Lock, f.Index})
	}
}

// mayOwn says whether the client may have the lock since the latest grant, without having been told. Its own work under an acquire that ended
// unknown is work that it has begun since.
func (m *staleWrite) mayOwn(f *timeline.Fact, v *timeline.Cursor, t *turn) bool {
	lock := &v.Locks[f.Lock]
	since := func(event int) bool { return event > t.event && f.Op.Called > event }
	if lock.Probed() {
		o := lock.Ledger.Owner
		return o.Client == f.Client && o.Standing != timeline.Refused && (t.client != f.Client || o.Standing == timeline.Dubious && since(o.Settled))
	}
	if t.client != 0 && lock.Holds[t.client].Active(f.Event.At) {
		return false
	}
	return slices.ContainsFunc(m.unsure, func(u unsureAcquire) bool { return u.client == f.Client && u.lock == f.Lock && since(u.event) })
}

// newTurn is the turn that begins with an acquire's return. The service's order counts: a grant whose reply was long on its way
// is an old one.
func newTurn(f *timeline.Fact) turn {
	order := f.Op.Took
	if order == 0 {
		order = f.Index
	}
	return turn{client: f.Client, order: order, event: f.Index, at: f.Event.At}
}

// writesAgain says whether a command is seen to have written what was there already.
func writesAgain(c *history.Command) bool {
	return len(c.Changes) > 0 && !slices.ContainsFunc(c.Changes, func(ch history.Change) bool {
		return ch.Before.Type != ch.After.Type || ch.Before.Value != ch.After.Value
	})
}

func (t turn) judge(f *timeline.Fact, v *timeline.Cursor, w ownership.Write) []Anomaly {
	writer := v.Clients.Name(f.Client)
	anomaly := Anomaly{
		Name: StaleWrite, Lock: v.LockNames.Name(f.Lock), Clients: []string{writer}, At: f.Event.At, Events: inOrder(t.event, f.Index),
	}
	if t.client == f.Client && w.MayOwn || !(ownership.LatestGrant{Client: t.client, Released: t.released != 0}).Stale(w) {
		return nil
	}
	if t.client == f.Client {
		anomaly.Why = fmt.Sprintf("%s's %s at %s was accepted, although it had released the lock at %s.",
			writer, commandWord(f), seconds(f.Event.At), seconds(t.released))
		return []Anomaly{anomaly}
	}
	other := v.Clients.Name(t.client)
	anomaly.Clients = append(anomaly.Clients, other)
	anomaly.Why = fmt.Sprintf("%s's %s at %s was accepted, although %s had held the lock since %s.",
		writer, commandWord(f), seconds(f.Event.At), other, seconds(t.at))
	return []Anomaly{anomaly}
}

// lostUpdate: an acknowledged update is missing. Work adds one to a counter, or to what counts as one (see sequence); so no two acknowledged updates may have read the
// same value, none may have read what an update acknowledged before it had replaced, and the end is no smaller than what the
// last one wrote, nor than the number of updates acknowledged. What others may have added in between loses nothing.
//
// What an update read and wrote is what its commands to the resource say, and where they say nothing what its client says.
// Of a stock no more can be sold than there was.
type lostUpdate struct {
	counters []counter // by lock
}

// counter is the protected counter of one lock.
type counter struct {
	resource.Sequence
	began   bool   // somebody has said what the work is
	sold    int64  // of a stock: sales acknowledged
	highest update // of the acknowledged ones
	acks    int64  // updates acknowledged, also where what they read is not known
	last    update // the latest of these
	pending []pendingUpdate
	recent  []update // by value read: acknowledged while one that is pending was already under way
}

type update struct {
	read   int64
	client int
	event  int // index of its return; 0 is no update, because a return is never first
	at     time.Duration
}

// pendingUpdate is an update under way, and the highest that had been acknowledged when it was called.
type pendingUpdate struct {
	op     int64
	client int
	before update
	wire   resource.Wire
}

func (m *lostUpdate) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Event.Kind == history.KindExit {
		for n := range m.counters {
			m.counters[n].forget(f.Client)
		}
		return nil
	}
	opens := f.Event.Kind == history.KindOpen && f.Event.Detail != nil && f.Event.Detail.Work != nil
	if f.Lock == 0 || f.Op.Kind != history.OpWork && f.Event.Kind != history.KindFinal && !opens {
		return nil
	}
	for len(m.counters) <= f.Lock {
		m.counters = append(m.counters, counter{})
	}
	c := &m.counters[f.Lock]
	if opens {
		c.open(f.Event.Detail.Work)
		return nil
	}
	switch f.Event.Kind {
	case history.KindCall:
		c.pending = append(c.pending, pendingUpdate{op: f.Op.ID, client: f.Client, before: c.highest})
	case history.KindCommand:
		c.command(f)
	case history.KindReturn:
		return c.returned(f, v)
	case history.KindFinal:
		return c.final(f, v)
	}
	return nil
}

// open takes in what the work is. Who says so first is right.
func (c *counter) open(w *history.Work) {
	if c.began {
		return
	}
	c.Sequence, c.began, c.sold = resource.SequenceOf(w), true, 0
}

// forget drops the updates of a client that has ended: they will not be acknowledged.
func (c *counter) forget(client int) {
	c.pending = slices.DeleteFunc(c.pending, func(p pendingUpdate) bool { return p.client == client })
	if len(c.pending) == 0 {
		c.recent = c.recent[:0]
	}
}

func (c *counter) command(f *timeline.Fact) {
	for n := range c.pending {
		if p := &c.pending[n]; f.Work && p.op == f.Op.ID && p.client == f.Client {
			c.Note(&p.wire, f.Sent)
		}
	}
}

func (c *counter) returned(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	own := list.Take(&c.pending, func(p pendingUpdate) bool { return p.op == f.Op.ID && p.client == f.Client })
	defer func() {
		if len(c.pending) == 0 {
			c.recent = c.recent[:0]
		}
	}()
	if f.Op.Outcome != history.OK {
		return nil
	}
	c.acks++
	c.sold++
	c.last = update{client: f.Client, event: f.Index, at: f.Event.At}
	read, ok := c.Read(&own.wire, f.Event, v.Wired)
	if !ok {
		return c.soldTooMany(f, v, nil)
	}
	u := update{read: read, client: f.Client, event: f.Index, at: f.Event.At}
	lost, n := c.lostBy(u, own.before)
	if n >= 0 {
		c.recent = slices.Insert(c.recent, n, u)
	}
	if c.highest.event == 0 || u.read > c.highest.read {
		c.highest = u
	}
	if lost.event == 0 {
		return c.soldTooMany(f, v, nil)
	}
	mine, other := v.Clients.Name(u.client), v.Clients.Name(lost.client)
	why := c.BothRead(other, mine, read, seconds(lost.at), seconds(u.at))
	if lost.read != read {
		why = c.ReadTooOld(mine, read, seconds(u.at), other, lost.read+1, seconds(lost.at))
	}
	return c.soldTooMany(f, v, &Anomaly{
		Name: LostUpdate, Lock: v.LockNames.Name(f.Lock), Clients: []string{mine, other}, At: f.Event.At, Why: why,
		Events: inOrder(lost.event, f.Op.Called, f.Index),
	})
}

// soldTooMany adds to what an acknowledged sale has shown already, if anything, that the stock did not suffice for it.
func (c *counter) soldTooMany(f *timeline.Fact, v *timeline.Cursor, shown *Anomaly) []Anomaly {
	if c.Stock > 0 && c.sold > c.Stock {
		if shown == nil {
			shown = &Anomaly{
				Name: LostUpdate, Lock: v.LockNames.Name(f.Lock), Clients: []string{v.Clients.Name(f.Client)}, At: f.Event.At,
				Why:    fmt.Sprintf("%s's sale was acknowledged at %s.", v.Clients.Name(f.Client), seconds(f.Event.At)),
				Events: inOrder(f.Op.Called, f.Index),
			}
		}
		shown.Why += " " + c.Oversold(c.sold)
	}
	if shown == nil {
		return nil
	}
	return []Anomaly{*shown}
}

// lostBy finds the update that u shows to be lost, and where u belongs among the recent ones (negative: it is not needed there).
// before is the highest that had been acknowledged when u was called.
func (c *counter) lostBy(u, before update) (lost update, n int) {
	n, found := slices.BinarySearchFunc(c.recent, u.read, func(r update, read int64) int { return int(max(-1, min(1, r.read-read))) })
	switch {
	case found:
		return c.recent[n], -1
	case len(c.pending) == 0:
		n = -1
	}
	if before.event != 0 && before.read >= u.read {
		return before, n
	}
	return update{}, n
}

func (c *counter) final(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Event.Detail == nil {
		return nil
	}
	value, last, why := c.Turned(f.Event.Detail.Value), c.highest, ""
	switch {
	case value < c.acks:
		why = c.TooFew(c.acks, value)
		if last.event == 0 {
			last = c.last
		}
	case last.event != 0 && value <= last.read:
		why = c.TooLow(value, v.Clients.Name(last.client), last.read+1, seconds(last.at))
	default:
		return c.forks(f, v)
	}
	return append(c.forks(f, v), Anomaly{
		Name: LostUpdate, Lock: v.LockNames.Name(f.Lock), Clients: []string{v.Clients.Name(last.client)}, At: f.Event.At, Why: why,
		Events: inOrder(last.event, f.Index),
	})
}
