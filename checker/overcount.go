package checker

import (
	"fmt"

	"github.com/locklab/locklab/history"
)

// overcount is unreleasable for a lock that counts: its holder has released it as often as it was told that it got it, and the
// lock is still in place. An acquire that the client had given up was counted all the same, or a release was not.
//
// It counts from the command that made the lock, and gives up where the client itself cannot know the count: after an acquire or
// a release with an unknown outcome, and after a hold that ended otherwise than by its releases.
type overcount struct {
	tallies []holdings // by lock
}

// holdings is what the client that made a lock was told of it since.
type holdings struct {
	client   int
	made     int // index of the command that made the lock; 0: it is gone, or nobody knows whose it is
	acquired int // answered ok
	released int // called
	changed  int // index of the last command of a release that changed the lock; 0: none did
	unsure   bool
}

func (m *overcount) step(f *fact, v *view) []Anomaly {
	if f.lock == 0 || !v.keys[f.lock].reentrant {
		return nil
	}
	for len(m.tallies) <= f.lock {
		m.tallies = append(m.tallies, holdings{})
	}
	t := &m.tallies[f.lock]
	switch {
	case f.e.Kind == history.KindCommand:
		t.note(f)
	case t.made == 0 || f.client != t.client:
	case f.e.Kind == history.KindLost:
		t.unsure = true
	case f.e.Kind == history.KindCall && f.op.kind == history.OpRelease:
		t.released++
		t.unsure = t.unsure || !f.hold.active(f.e.At)
	case f.e.Kind == history.KindReturn:
		return t.returned(f, v)
	}
	return nil
}

// note takes in a command that named the lock.
func (t *holdings) note(f *fact) {
	if f.change == nil || f.work {
		return
	}
	if f.foreign {
		*t = holdings{} // it counts from another time
	}
	own := t.made != 0 && t.client == f.client
	switch f.effect {
	case history.EffectCreated:
		*t = holdings{}
		if f.mine.op != 0 {
			t.client, t.made = f.client, f.i
		}
	case history.EffectReplaced:
		if !own {
			*t = holdings{}
		} else if f.op.kind == history.OpRelease {
			t.changed = f.i
		}
	case history.EffectRemoved, history.EffectUnclear:
		*t = holdings{}
	}
}

// returned takes in the outcome of an operation of the client.
func (t *holdings) returned(f *fact, v *view) []Anomaly {
	switch f.op.kind {
	case history.OpAcquire:
		if f.op.outcome == history.OK {
			t.acquired++
		}
		t.unsure = t.unsure || f.op.outcome == history.Unknown && !f.op.gaveUp
		return nil
	case history.OpRelease:
		t.unsure = t.unsure || f.op.outcome != history.OK
	default:
		return nil
	}
	l := &v.keys[f.lock].ledger
	over := t.released == t.acquired && t.changed > f.op.called && v.ops.acquiring(f.client, f.lock).id == 0
	inPlace := l.there && !l.off && !l.stale && l.owner.client == f.client && l.owner.leased(f.e.At)
	if t.unsure || !over || !inPlace {
		return nil
	}
	client := v.clients.name(f.client)
	return []Anomaly{{
		Name: Unreleasable, Lock: v.locks.name(f.lock), Clients: []string{client}, At: f.e.At,
		Why: fmt.Sprintf("%s was told %s that it has the lock, and its release number %d was answered ok at %s, but the lock is still in place.",
			client, times(t.acquired), t.released, told(f.e.At)),
		Events: inOrder(t.made, f.op.called, t.changed, f.i),
	}}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
