package checker

import (
	"fmt"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// overcount is unreleasable for a lock that counts: its holder has released it as often as it was told that it got it, and the
// lock is still in place. An acquire that the client had given up was counted all the same, or a release was not.
//
// It counts from the command that made the lock, and gives up where the client itself cannot know the count: after an acquire or
// a release with an unknown outcome, and after a hold that ended otherwise than by its releases.
type overcount struct {
	tallies []holdings // by lock
}

// holdings counts the answers that the client which created a lock has had since.
type holdings struct {
	client   int
	made     int // index of the command that made the lock; 0: it is gone, or its owner is not known
	acquired int // answered ok
	released int // called
	changed  int // index of the last command of a release that changed the lock; 0: none did
	unsure   bool
}

func (m *overcount) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Lock == 0 || !v.Locks[f.Lock].Reentrant {
		return nil
	}
	for len(m.tallies) <= f.Lock {
		m.tallies = append(m.tallies, holdings{})
	}
	t := &m.tallies[f.Lock]
	switch {
	case f.Event.Kind == history.KindCommand:
		t.note(f)
	case t.made == 0 || f.Client != t.client:
	case f.Event.Kind == history.KindLost:
		t.unsure = true
	case f.Event.Kind == history.KindCall && f.Op.Kind == history.OpRelease:
		t.released++
		t.unsure = t.unsure || !f.Hold.Active(f.Event.At)
	case f.Event.Kind == history.KindReturn:
		return t.returned(f, v)
	}
	return nil
}

// note takes in a command that named the lock.
func (t *holdings) note(f *timeline.Fact) {
	if f.Foreign {
		*t = holdings{} // it counts from another time
	}
	own := t.made != 0 && t.client == f.Client
	switch f.Effect {
	case history.EffectCreated:
		*t = holdings{}
		if f.Mine.Op != 0 {
			t.client, t.made = f.Client, f.Index
		}
	case history.EffectReplaced:
		if !own {
			*t = holdings{}
		} else if f.Op.Kind == history.OpRelease {
			t.changed = f.Index
		}
	case history.EffectRemoved, history.EffectUnclear:
		*t = holdings{}
	}
}

// returned takes in the outcome of an operation of the client.
func (t *holdings) returned(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	switch f.Op.Kind {
	case history.OpAcquire:
		if f.Op.Outcome == history.OK {
			t.acquired++
		}
		t.unsure = t.unsure || f.Op.Outcome == history.Unknown && !f.Op.GaveUp
		return nil
	case history.OpRelease:
		t.unsure = t.unsure || f.Op.Outcome != history.OK
	default:
		return nil
	}
	l := &v.Locks[f.Lock].Ledger
	over := t.released == t.acquired && t.changed > f.Op.Called && v.Ops.Acquiring(f.Client, f.Lock).ID == 0
	inPlace := l.There && !l.Off && !l.Stale && l.Owner.Client == f.Client && l.Owner.Leased(f.Event.At)
	if t.unsure || !over || !inPlace {
		return nil
	}
	client := v.Clients.Name(f.Client)
	return []Anomaly{{
		Name: Unreleasable, Lock: v.LockNames.Name(f.Lock), Clients: []string{client}, At: f.Event.At,
		Why: fmt.Sprintf("%s acquired the lock %s and its release number %d returned ok at %s, but the lock is still in place.",
			client, times(t.acquired), t.released, seconds(f.Event.At)),
		Events: inOrder(t.made, f.Op.Called, t.changed, f.Index),
	}}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
