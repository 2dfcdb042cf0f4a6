package checker

import (
	"fmt"
	"time"

	"github.com/locklab/locklab/history"
)

// tenure is what was certain when an operation of a lock's holder was called: that the lock was its own.
type tenure struct {
	op     int64
	client int
	owner  claim
	hold   hold
	// What the operation's commands did to the lock since.
	removed   int  // index of the command that removed the client's own lock; 0: none did
	changed   bool // one changed its value: a lock that counts
	lookedAt  int  // index of the last command that named the key; 0: none did
	removedAt time.Duration
}

// rightful says whether the lock was certainly its holder's at a time: by the ledger, with lease left.
func rightful(o claim, client int, l *ledger, at time.Duration) bool {
	return o.client != 0 && o.client == client && o.standing == granted && !o.dead &&
		l.there && !l.off && !l.stale && !l.foreign && o.leased(at)
}

// note takes in a command of the operation.
func (t *tenure) note(f *fact) {
	t.lookedAt = f.i
	if f.owner.client != f.client || f.foreign {
		return
	}
	switch f.effect {
	case history.EffectRemoved:
		t.removed, t.removedAt = f.i, f.e.At
	case history.EffectReplaced:
		t.changed = true
	}
}

// stillOwner says whether the lock is, after the operation, as much its client's as before.
func (t tenure) stillOwner(f *fact, v *view) bool {
	l := &v.keys[f.lock].ledger
	o := l.owner
	return t.owner.client != 0 && o.op == t.owner.op && o.command == t.owner.command && len(l.challengers) == 0 &&
		rightful(o, f.client, l, f.e.At)
}

// tenures follows the operations of one kind, or of several, of holders.
type tenures []tenure

// follow keeps a tenure from an operation's call to its return; done is true with the return.
func (ts *tenures) follow(f *fact, v *view) (t tenure, done bool) {
	switch f.e.Kind {
	case history.KindCall:
		l := &v.keys[f.lock].ledger
		t := tenure{op: f.op.id, client: f.client, hold: f.hold}
		if f.hold.active(f.e.At) && rightful(f.owner, f.client, l, f.e.At) {
			t.owner = f.owner
		}
		*ts = append(*ts, t)
	case history.KindCommand:
		if f.change == nil || f.work {
			break
		}
		for n := range *ts {
			if t := &(*ts)[n]; t.op == f.op.id && t.client == f.client {
				t.note(f)
			}
		}
	case history.KindReturn:
		t := takeWaiting((*[]tenure)(ts), func(t tenure) bool { return t.op == f.op.id && t.client == f.client })
		return t, t.op != 0
	}
	return tenure{}, false
}

// unreleasable: the rightful holder's release leaves its own lock in place. Where the release sent nothing, the lock is in place
// if the next command on it, whosever it is, finds it untouched: what was sent without waiting may have come a little later.
type unreleasable struct {
	releases tenures
	silent   []silentRelease
}

// silentRelease is a release that has returned without a command.
type silentRelease struct {
	tenure
	lock     int
	value    string // what the lock held when it was last seen
	returned op
}

func (m *unreleasable) step(f *fact, v *view) []Anomaly {
	if f.lock == 0 {
		return nil
	}
	if len(m.silent) > 0 && f.e.Kind == history.KindCommand && !f.work {
		return m.next(f, v)
	}
	if f.op.kind != history.OpRelease {
		return nil
	}
	t, done := m.releases.follow(f, v)
	definite := f.op.outcome == history.OK || f.op.outcome == history.No
	switch {
	case !done || !definite || f.op.inner || t.changed || !t.stillOwner(f, v):
		return nil
	case t.lookedAt != 0:
		return []Anomaly{t.leftInPlace(f.op, f.lock, t.lookedAt, v)}
	case !t.hold.again: // it may count by itself
		m.silent = append(m.silent, silentRelease{t, f.lock, v.keys[f.lock].ledger.value, f.op})
	}
	return nil
}

// next takes in the first command on the lock of a silent release, and follows it like any other.
func (m *unreleasable) next(f *fact, v *view) (found []Anomaly) {
	for s, ok := m.takeSilent(f.lock); ok; s, ok = m.takeSilent(f.lock) {
		late := f.op.id == s.op && f.client == s.client
		untouched := f.change != nil && f.change.Before.Exists() && f.change.Before.Value == s.value
		if untouched && !late && f.owner.client == s.client && f.owner.command == s.owner.command && f.owner.leased(f.e.At) {
			found = append(found, s.leftInPlace(s.returned, f.lock, f.i, v))
		}
	}
	m.releases.follow(f, v)
	return found
}

func (m *unreleasable) takeSilent(lock int) (s silentRelease, ok bool) {
	s = takeWaiting(&m.silent, func(s silentRelease) bool { return s.lock == lock })
	return s, s.op != 0
}

// leftInPlace is the anomaly of a release after which a command found the lock still there.
func (t tenure) leftInPlace(release op, lock, seen int, v *view) Anomaly {
	client := v.clients.name(t.client)
	return Anomaly{
		Name: Unreleasable, Lock: v.locks.name(lock), Clients: []string{client}, At: release.returnedAt,
		Why: fmt.Sprintf("%s released the lock that it had held since %s and was answered %s at %s, but the lock is still in place.",
			client, told(t.owner.since()), release.outcome, told(release.returnedAt)),
		Events: inOrder(t.owner.command, release.called, seen, release.returned),
	}
}

// falseAlarm: the lock told its holder that it was lost, or not held, and that was untrue. The holder was told by a check or a
// release that was answered no, or by the lock's own notice.
type falseAlarm struct {
	asked tenures
}

func (m *falseAlarm) step(f *fact, v *view) []Anomaly {
	if f.lock == 0 || f.client == 0 {
		return nil
	}
	if f.e.Kind == history.KindLost {
		return notice(f, v)
	}
	if f.op.kind != history.OpCheck && f.op.kind != history.OpRelease {
		return nil
	}
	t, done := m.asked.follow(f, v)
	if !done || f.op.outcome != history.No {
		return nil
	}
	client := v.clients.name(f.client)
	why := ""
	switch {
	case f.op.kind == history.OpRelease && t.removed != 0:
		why = fmt.Sprintf("%s's release was answered no at %s, though its own command at %s had removed its lock.",
			client, told(f.e.At), told(t.removedAt))
	case t.stillOwner(f, v) && !t.changed:
		why = fmt.Sprintf("%s's %s was answered no at %s, though the lock had been its own since %s, with %s of the lease left.",
			client, f.op.kind, told(f.e.At), told(t.owner.since()), leaseLeft(t.owner, f.e.At))
	default:
		return nil
	}
	return []Anomaly{{
		Name: FalseAlarm, Lock: v.locks.name(f.lock), Clients: []string{client}, At: f.e.At, Why: why,
		Events: inOrder(f.op.called, max(t.removed, t.lookedAt, f.op.called), f.i),
	}}
}

// notice judges a notice of loss. The lease counts only as far as the client had certainly been told of it: a renewal whose
// answer was lost on the way is none to the client.
func notice(f *fact, v *view) []Anomaly {
	o := f.owner
	o.ends = min(o.ends, o.sure)
	if !f.hold.active(f.e.At) || !rightful(o, f.client, &v.keys[f.lock].ledger, f.e.At) {
		return nil
	}
	client := v.clients.name(f.client)
	return []Anomaly{{
		Name: FalseAlarm, Lock: v.locks.name(f.lock), Clients: []string{client}, At: f.e.At,
		Why: fmt.Sprintf("%s was told at %s that its lock was lost, though the lock had been its own since %s, with %s of the lease left.",
			client, told(f.e.At), told(o.since()), leaseLeft(o, f.e.At)),
		Events: inOrder(o.command, f.i),
	}}
}

func leaseLeft(c claim, at time.Duration) string {
	if c.ends == never {
		return "all"
	}
	return left(c.ends - at)
}
