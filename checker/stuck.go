package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// stuckLock: no client can get the lock. It is one rule for every server, by what clients see: for longer than two leases somebody waited or was
// refused, no client held the lock or may have had it (of one with several permits, one was left), and no fault was in effect. Every lease that a client had is over by then.
//
// The proof is a refusal. Its acquire must have asked when every lease was over: who sleeps for long between two tries, or waits to be woken, has
// not. Nor does a free lock prove anything while another waiter sleeps: it may be that one's turn. Where commands are on record, one of them shows that. Elsewhere the acquire must have been called then, or have waited for two leases more.
//
// Where no command is on record, the rule also says that a release did not free the lock: it was answered ok, and then the lock was refused for
// longer than a lease.
type stuckLock struct {
	locks []vacancy // by lock
}

// vacancy is a time during which no client holds a lock, and no fault lasts.
type vacancy struct {
	since    time.Duration // when it began
	wanted   bool          // somebody has asked since then
	from     time.Duration // since when
	called   time.Duration // when the first acquire of the vacancy was called; Never: none was
	waits    []stuckWait
	unsure   []int // clients that may have the lock, as far as their latest answer says
	released releasedBy
}

// releasedBy is the release that began a vacancy; zero: none did.
type releasedBy struct {
	client           int
	called, returned int // indexes of its call and return
	at               time.Duration
}

// stuckWait is an acquire under way.
type stuckWait struct {
	op     int64
	client int
	sent   time.Duration // when its latest command about the lock was through
	asked  time.Duration // when it last asked for certain
	event  int           // index of the command by which it did
	owner  timeline.Claim
	free   bool // that found the lock free
}

func (m *stuckLock) lock(n int) *vacancy {
	for len(m.locks) <= n {
		m.locks = append(m.locks, vacancy{called: timeline.Never})
	}
	return &m.locks[n]
}

func (m *stuckLock) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	said := f.Event.Fault()
	switch {
	case said != nil && stops(faults.Kind(said.Name), said.Target, v):
		for lock := range m.locks {
			m.locks[lock].begin(f.Event.At)
		}
	case f.Event.Kind == history.KindExit:
		m.exit(f, v)
	}
	if f.Lock == 0 || f.Client == 0 || f.Work || said != nil || f.Event.Kind == history.KindOpen {
		return nil
	}
	w, k := m.lock(f.Lock), &v.Locks[f.Lock]
	w.lapse(f, k)
	if held := holders(f, k); held+1 >= k.Permits && (f.Hold.Active(f.Event.At) || holdOf(k, f.Client).Active(f.Event.At)) {
		w.begin(f.Event.At)
	}
	switch f.Event.Kind {
	case history.KindCall:
		w.call(f)
	case history.KindCommand:
		w.command(f, k)
	case history.KindReturn:
		return w.answered(f, v)
	}
	return nil
}

// begin has the vacancy begin: those who wait by then ask from then on.
func (w *vacancy) begin(at time.Duration) {
	w.since, w.wanted, w.from, w.called, w.released = at, len(w.waits) > 0, at, timeline.Never, releasedBy{}
}

// lapse has it begin where the validity of a hold was over.
func (w *vacancy) lapse(f *timeline.Fact, k *timeline.Lock) {
	for client, h := range k.Holds {
		if client == f.Client {
			h = f.Hold
		}
		if h.On && h.Ends <= f.Event.At && h.Ends > w.since {
			w.begin(h.Ends)
		}
	}
}

func holdOf(k *timeline.Lock, client int) timeline.Hold {
	if client < len(k.Holds) {
		return k.Holds[client]
	}
	return timeline.Hold{}
}

// exit takes in that a client has ended: it holds nothing and waits for nothing any more.
func (m *stuckLock) exit(f *timeline.Fact, v *timeline.Cursor) {
	for lock := 1; lock < len(v.Locks); lock++ {
		w := m.lock(lock)
		asked := len(w.waits)
		w.waits = slices.DeleteFunc(w.waits, func(s stuckWait) bool { return s.client == f.Client })
		if holdOf(&v.Locks[lock], f.Client).Since > 0 || len(w.waits) < asked || slices.Contains(w.unsure, f.Client) {
			w.begin(f.Event.At) // it may have a lease until now
		}
		w.unsure = without(w.unsure, f.Client)
	}
}

func without(clients []int, client int) []int {
	return slices.DeleteFunc(clients, func(other int) bool { return other == client })
}

func (w *vacancy) call(f *timeline.Fact) {
	if f.Op.Kind != history.OpAcquire {
		return
	}
	if !w.wanted {
		w.wanted, w.from = true, f.Event.At
	}
	w.called = min(w.called, f.Event.At)
	w.waits = append(w.waits, stuckWait{op: f.Op.ID, client: f.Client, sent: -1, asked: -1})
}

// command looks for the proof that an acquire asks: it finds the lock taken, or asks for a place. A lock that another client has just taken, and
// will be told of, is no proof.
func (w *vacancy) command(f *timeline.Fact, k *timeline.Lock) {
	n := slices.IndexFunc(w.waits, func(s stuckWait) bool { return s.op == f.Op.ID && s.client == f.Client })
	if n < 0 && f.Op.Kind == history.OpAcquire && f.Change != nil && f.Change.After.Exists() && f.Effect != history.EffectNone {
		w.begin(f.Event.At) // a late request of an acquire that was given up: its lease begins
	}
	if f.Change == nil || n < 0 {
		return
	}
	s, o := &w.waits[n], f.Owner
	s.sent = f.Event.At
	free := !f.Change.Before.Exists() && !f.Change.After.Exists()
	toBeTold := o.Standing == timeline.Pending && o.At+k.Lease > f.Event.At || o.Standing == timeline.Dubious && o.Op != 0
	if o.Client != 0 && !o.Dead && toBeTold && o.Leased(f.Event.At) || free && !asks(f.Sent) {
		return
	}
	s.asked, s.event, s.owner, s.free = f.Event.At, f.Index, o, free
	if f.BlockedSince > 0 {
		s.asked = f.BlockedSince
	}
}

// answered takes in the return of an operation.
func (w *vacancy) answered(f *timeline.Fact, v *timeline.Cursor) (found []Anomaly) {
	at, acquire, release := f.Event.At, f.Op.Kind == history.OpAcquire, f.Op.Kind == history.OpRelease
	if !acquire && !release {
		return nil
	}
	waited := list.Take(&w.waits, func(s stuckWait) bool { return s.op == f.Op.ID && s.client == f.Client })
	k := &v.Locks[f.Lock]
	doubted := slices.Contains(w.unsure, f.Client)
	w.unsure = without(w.unsure, f.Client)
	if f.Op.Outcome == history.Unknown && (release || k.Opaque || !f.Op.GaveUp) && (k.Leaseless || k.Opaque) { // no lease brings the truth to light
		w.unsure = append(w.unsure, f.Client)
	}
	if f.Op.Outcome != history.No || doubted {
		began := w.since == f.Op.CalledAt
		w.begin(at)
		if release && f.Op.Outcome == history.OK && began && !f.Op.Inner {
			w.released = releasedBy{f.Client, f.Op.Called, f.Index, at}
		}
		return nil
	}
	if !acquire || w.occupied(f, v) {
		return nil
	}
	if a, ok := w.stuck(f, v, waited); ok {
		found = append(found, a)
	}
	if a, ok := w.unreleased(f, v); ok {
		found = append(found, a)
	}
	return found
}

// occupied says whether somebody holds the lock, or may have it, or a fault lasts.
func (w *vacancy) occupied(f *timeline.Fact, v *timeline.Cursor) bool {
	k := &v.Locks[f.Lock]
	return holders(f, k) >= k.Permits || holdOf(k, f.Client).Active(f.Event.At) ||
		len(w.unsure) > 0 ||
		slices.ContainsFunc(v.Ops.Pending, func(o timeline.Operation) bool { return o.Lock == f.Lock && o.Kind == history.OpRelease }) ||
		slices.ContainsFunc(v.Faults, func(g timeline.FaultSpan) bool { return g.Lasts() && stops(g.Kind, g.Target, v) })
}

// stuck says whether a refusal shows that the lock is stuck.
func (w *vacancy) stuck(f *timeline.Fact, v *timeline.Cursor, waited stuckWait) (Anomaly, bool) {
	k, at := &v.Locks[f.Lock], f.Event.At
	over := k.FreedBy(w.since)
	if w.released.client != 0 {
		over = w.since
	}
	if !w.wanted || k.Lease == 0 || at-w.from <= 2*k.Lease || over == timeline.Never {
		return Anomaly{}, false
	}
	sleeps := func(s stuckWait) bool { return s.sent < over }
	asked := waited.asked >= over && !(waited.free && slices.ContainsFunc(w.waits, sleeps))
	if k.Opaque {
		asked = f.Op.CalledAt >= over || at-max(w.from, over) > 2*k.Lease
	}
	if !asked {
		return Anomaly{}, false
	}
	client := v.Clients.Name(f.Client)
	clients, last := []string{client}, ""
	if waited.owner.Client != 0 && waited.owner.Client != f.Client {
		owner := v.Clients.Name(waited.owner.Client)
		clients = append(clients, owner)
		last = fmt.Sprintf(" It last became %s's, at %s.", owner, seconds(waited.owner.At))
	}
	return Anomaly{
		Name: StuckLock, Lock: v.LockNames.Name(f.Lock), Clients: clients, At: at,
		Why: fmt.Sprintf("%s was refused at %s. No client had held the lock since %s, and clients had asked for it since %s: for longer than two leases.%s",
			client, seconds(at), seconds(w.since), seconds(w.from), last),
		Events: inOrder(f.Op.Called, max(waited.event, f.Op.Called), f.Index),
	}, true
}

// unreleased says whether a refusal shows, where no command is on record, that a release answered ok has left the lock in place.
func (w *vacancy) unreleased(f *timeline.Fact, v *timeline.Cursor) (Anomaly, bool) {
	k, r := &v.Locks[f.Lock], w.released
	if !k.Opaque || r.client == 0 || k.Lease == 0 || f.Op.CalledAt < r.at || f.Event.At-w.called <= k.Lease+ownership.LeaseMargin(k.Lease) {
		return Anomaly{}, false
	}
	client, by := v.Clients.Name(f.Client), v.Clients.Name(r.client)
	return Anomaly{
		Name: Unreleasable, Lock: v.LockNames.Name(f.Lock), Clients: []string{by, client}, At: f.Event.At,
		Why: fmt.Sprintf("%s's release returned ok at %s, and no client has held the lock since, but clients were refused from %s to %s: for longer than the lease.",
			by, seconds(r.at), seconds(w.called), seconds(f.Event.At)),
		Events: inOrder(r.called, r.returned, f.Op.Called, f.Index),
	}, true
}

// stops says whether a fault of a kind may keep its target, or all, from going on. A wrong clock does not: to be free, a lock needs no right clock.
// The dead need nothing. What happens to a message concerns nobody but the operation that waits for it.
func stops(kind faults.Kind, target string, v *timeline.Cursor) bool {
	kind = kind.Of().Kind
	switch {
	case kind == faults.Skew || kind == faults.Crash || kind == faults.ThreadDeath:
		return false
	case kind.OnMessage() && kind != faults.ReplyLost:
		return slices.ContainsFunc(v.Ops.Pending, func(o timeline.Operation) bool { return v.Clients.Name(o.Client) == target })
	}
	return !slices.ContainsFunc(v.Faults, func(g timeline.FaultSpan) bool {
		return g.Kind == faults.Crash && g.Target == history.ProcessOf(target) && g.InEffect()
	})
}
