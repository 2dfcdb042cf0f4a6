package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// tenure is what was certain when an operation of a lock's holder was called: that the lock was its own.
type tenure struct {
	op     int64
	client int
	owner  timeline.Claim
	hold   timeline.Hold
	// What the operation's commands did to the lock since.
	removed  []removal // the client's own lock
	changed  bool      // one changed its value: a lock that counts
	lookedAt int       // index of the last command that named the key; 0: none did
}

// removal is the first command of an operation that removed its client's lock, or its part of one, from a server.
type removal struct {
	server string
	event  int
	at     time.Duration
}

// rightful says whether the lock was certainly its holder's at a time: by the ledger, with lease left.
func rightful(o timeline.Claim, client int, l *timeline.Ledger, at time.Duration) bool {
	return o.Client != 0 && o.Client == client && o.Facts(at, true).Rightful(l.Key())
}

// holds says whether the client of an operation holds the lock. Who does not know the outcome of its release may ask for it again, and is
// judged as if it still held, unless it has called another acquire since. After an acquire of unknown outcome nobody is: what that leaves is
// a ghost lock, which has its own monitor.
func holds(f *timeline.Fact) bool {
	h := f.Hold
	h.On = h.On || f.Op.Kind == history.OpRelease && f.Owner.Client == f.Client && f.Owner.Releasing && !f.Owner.Resumed
	return h.Active(f.Event.At)
}

// note takes in a command of the operation.
func (t *tenure) note(f *timeline.Fact) {
	t.lookedAt = f.Index
	if t.owner.Client != 0 && f.Removed == (timeline.Part{Client: t.owner.Client, Op: t.owner.Op}) {
		t.remove(f)
	}
	if f.Owner.Client != f.Client || f.Foreign {
		return
	}
	switch f.Effect {
	case history.EffectRemoved:
		t.remove(f)
	case history.EffectReplaced:
		t.changed = true
	}
}

// remove notes a removal. That a server has the lock once more is due to a late command, and does not count again.
func (t *tenure) remove(f *timeline.Fact) {
	if !slices.ContainsFunc(t.removed, func(r removal) bool { return r.server == f.Sent.Server }) {
		t.removed = append(t.removed, removal{f.Sent.Server, f.Index, f.Event.At})
	}
}

// stillOwner says whether the lock is, after the operation, as much its client's as before.
func (t tenure) stillOwner(f *timeline.Fact, v *timeline.Cursor) bool {
	l := &v.Locks[f.Lock].Ledger
	o := l.Owner
	return t.owner.Client != 0 && o.Op == t.owner.Op && o.Command == t.owner.Command && len(l.Challengers) == 0 &&
		rightful(o, f.Client, l, f.Event.At)
}

// facts are what the rules of ownership need to know of the operation, a release or a check, that has returned.
func (t tenure) facts(f *timeline.Fact, v *timeline.Cursor) ownership.Release {
	return ownership.Release{
		Outcome: f.Op.Outcome, Inner: f.Op.Inner, Changed: t.changed, Rightful: t.stillOwner(f, v),
		Removed: f.Op.Kind == history.OpRelease && ownership.Freed(len(t.removed), v.Locks[f.Lock].Need()),
	}
}

// tenures follows the operations of one kind, or of several, of holders.
type tenures []tenure

// follow keeps a tenure from an operation's call to its return; done is true with the return.
func (ts *tenures) follow(f *timeline.Fact, v *timeline.Cursor) (t tenure, done bool) {
	switch f.Event.Kind {
	case history.KindCall:
		l := &v.Locks[f.Lock].Ledger
		t := tenure{op: f.Op.ID, client: f.Client, hold: f.Hold}
		if holds(f) && rightful(f.Owner, f.Client, l, f.Event.At) {
			t.owner = f.Owner
		}
		*ts = append(*ts, t)
	case history.KindCommand:
		if f.Change == nil {
			break
		}
		for n := range *ts {
			if t := &(*ts)[n]; t.op == f.Op.ID && t.client == f.Client {
				t.note(f)
			}
		}
	case history.KindReturn:
		t := list.Take((*[]tenure)(ts), func(t tenure) bool { return t.op == f.Op.ID && t.client == f.Client })
		return t, t.op != 0
	}
	return tenure{}, false
}

// unreleasable: the rightful holder's release leaves its own lock in place. It is answered no, or a later acquire is refused by what it left: a release that
// is answered ok may send its last command when it has returned.
type unreleasable struct {
	releases tenures
	left     []leftLock
	refusals []refusedBy
}

// leftLock is a lock that was in place when its owner's release had returned.
type leftLock struct {
	tenure
	lock     int
	value    string // what it held then
	returned timeline.Operation
}

// refusedBy is an acquire under way that has found such a lock.
type refusedBy struct {
	left   leftLock
	op     int64
	client int
	event  int // index of the command by which it did
}

func (m *unreleasable) step(f *timeline.Fact, v *timeline.Cursor) (found []Anomaly) {
	if f.Lock == 0 {
		return nil
	}
	if f.Event.Kind == history.KindCommand && !f.Work {
		m.command(f, v)
	}
	if f.Event.Kind == history.KindReturn && f.Op.Kind == history.OpAcquire {
		return m.answered(f, v)
	}
	if f.Op.Kind != history.OpRelease {
		return nil
	}
	t, done := m.releases.follow(f, v)
	left := leftLock{t, f.Lock, v.Locks[f.Lock].Ledger.Value, f.Op}
	switch {
	case !done || !t.facts(f, v).Unreleasable():
	case t.lookedAt != 0 && f.Op.Outcome == history.No:
		return []Anomaly{left.inPlace("is still in place", v, t.lookedAt)}
	case t.lookedAt != 0 || !t.hold.Again: // a silent one may count by itself
		m.left = append(m.left, left)
	}
	return nil
}

// command takes in a command on the lock: one that finds another thing there, or whose effect nobody asked for, ends what is known of it.
func (m *unreleasable) command(f *timeline.Fact, v *timeline.Cursor) {
	m.left = slices.DeleteFunc(m.left, func(l leftLock) bool {
		if l.lock != f.Lock {
			return false
		}
		finds := f.Change != nil && f.Change.Before.Exists()
		same := f.Change != nil && v.Locks[f.Lock].Spread() || finds && f.Change.Before.Value == l.value
		there := same && !f.Foreign && f.Owner.Client == l.client && f.Owner.Command == l.owner.Command && f.Owner.Leased(f.Event.At)
		if there && finds && f.Effect == history.EffectNone && f.Op.Kind == history.OpAcquire && f.Op.Outcome == history.OutcomeNone {
			m.refusals = append(m.refusals, refusedBy{l, f.Op.ID, f.Client, f.Index})
		}
		return !there || f.Effect == history.EffectRemoved || f.Effect == history.EffectReplaced
	})
}

// answered takes in the answer to an acquire.
func (m *unreleasable) answered(f *timeline.Fact, v *timeline.Cursor) (found []Anomaly) {
	for {
		r := list.Take(&m.refusals, func(r refusedBy) bool { return r.op == f.Op.ID && r.client == f.Client })
		if r.op == 0 {
			return found
		}
		if f.Op.Outcome != history.No {
			continue
		}
		found = append(found, r.left.inPlace("was still in place, and a later acquire was refused by it", v, r.event, f.Index))
		is := func(other leftLock) bool { return other.op == r.left.op && other.client == r.left.client }
		m.left = slices.DeleteFunc(m.left, is) // once is enough
		m.refusals = slices.DeleteFunc(m.refusals, func(other refusedBy) bool { return is(other.left) })
	}
}

// inPlace is the anomaly of a release that has left its lock in place, as events show.
func (l leftLock) inPlace(is string, v *timeline.Cursor, events ...int) Anomaly {
	client := v.Clients.Name(l.client)
	return Anomaly{
		Name: Unreleasable, Lock: v.LockNames.Name(l.lock), Clients: []string{client}, At: l.returned.ReturnedAt,
		Why: fmt.Sprintf("%s's release of the lock that it had held since %s returned %s at %s, but the lock %s.",
			client, seconds(l.owner.Since()), l.returned.Outcome, seconds(l.returned.ReturnedAt), is),
		Events: inOrder(append(events, l.owner.Command, l.returned.Called, l.returned.Returned)...),
	}
}

// falseAlarm: the lock told its holder that it was lost, or not held, and that was untrue. The holder was told by a check or a
// release that was answered no, or by the lock's own notice.
type falseAlarm struct {
	asked tenures
}

func (m *falseAlarm) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Lock == 0 || f.Client == 0 {
		return nil
	}
	if f.Event.Kind == history.KindLost {
		return notice(f, v)
	}
	if f.Op.Kind != history.OpCheck && f.Op.Kind != history.OpRelease {
		return nil
	}
	t, done := m.asked.follow(f, v)
	if !done {
		return nil
	}
	facts := t.facts(f, v)
	if !facts.FalseAlarm() {
		return nil
	}
	client := v.Clients.Name(f.Client)
	why := fmt.Sprintf("%s's %s returned no at %s, although it had owned the lock since %s, with %s of the lease left.",
		client, f.Op.Kind, seconds(f.Event.At), seconds(t.owner.Since()), leaseLeft(t.owner, f.Event.At))
	proof := []int{max(t.lookedAt, f.Op.Called)}
	if facts.Removed {
		why = fmt.Sprintf("%s's release returned no at %s, although %s.", client, seconds(f.Event.At), t.ownRemovals())
		proof = t.removalEvents()
	}
	return []Anomaly{{
		Name: FalseAlarm, Lock: v.LockNames.Name(f.Lock), Clients: []string{client}, At: f.Event.At, Why: why,
		Events: inOrder(append(proof, f.Op.Called, f.Index)...),
	}}
}

// ownRemovals says when commands of the operation removed the lock.
func (t tenure) ownRemovals() string {
	last := seconds(t.removed[len(t.removed)-1].at)
	if len(t.removed) == 1 {
		return fmt.Sprintf("its own command at %s had removed its lock", last)
	}
	return fmt.Sprintf("its own commands had removed its lock from %d servers by %s", len(t.removed), last)
}

func (t tenure) removalEvents() (events []int) {
	for _, r := range t.removed {
		events = append(events, r.event)
	}
	return events
}

// notice judges a notice of loss. The lease counts only as far as the client had certainly been told of it: a renewal whose
// answer was lost on the way is none to the client.
func notice(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	o := f.Owner
	o.Ends = min(o.Ends, o.Sure)
	if !f.Hold.Active(f.Event.At) || !rightful(o, f.Client, &v.Locks[f.Lock].Ledger, f.Event.At) {
		return nil
	}
	client := v.Clients.Name(f.Client)
	return []Anomaly{{
		Name: FalseAlarm, Lock: v.LockNames.Name(f.Lock), Clients: []string{client}, At: f.Event.At,
		Why: fmt.Sprintf("The lock reported a loss to %s at %s, although %s had owned it since %s, with %s of the lease left.",
			client, seconds(f.Event.At), client, seconds(o.Since()), leaseLeft(o, f.Event.At)),
		Events: inOrder(o.Command, f.Index),
	}}
}

func leaseLeft(c timeline.Claim, at time.Duration) string {
	if c.Ends == timeline.Never {
		return "all"
	}
	return left(c.Ends - at)
}
