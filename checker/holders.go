package checker

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// doubleHolder: two clients held the lock at the same time, or one more than it has permits. A client whose check or renewal is answered ok believes that it holds the lock,
// too: that was untrue if another client held it from before the call until the return.
type doubleHolder struct {
	asked []checkAsked
}

// checkAsked is a pending check, or renewal, of a client that does not hold the lock, and one of the others that did when it was called.
type checkAsked struct {
	op            int64
	client, other int
	since         int // index of the event that began the other's hold
}

func (m *doubleHolder) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if (f.Op.Kind == history.OpCheck || f.Op.Kind == history.OpRenew) && f.Lock != 0 {
		switch f.Event.Kind {
		case history.KindCall:
			m.asks(f, v)
		case history.KindReturn:
			if told := m.told(f, v); !f.Began {
				return told
			}
		}
	}
	if !f.Began || holders(f, &v.Locks[f.Lock]) < v.Locks[f.Lock].Permits {
		return nil
	}
	why := "%s acquired the lock at %s, while %s held it (%s)."
	if f.Op.Kind == history.OpRenew || f.Event.Kind == history.KindValid {
		why = "%s renewed its hold at %s, which was over, while %s held the lock (%s)."
	}
	var found []Anomaly
	for client, h := range v.Locks[f.Lock].Holds {
		if client != f.Client && h.Active(f.Event.At) {
			found = append(found, twoHolders(f, v, client, why))
		}
	}
	return found
}

// holders is how many other clients hold the lock at an event of a client.
func holders(f *timeline.Fact, k *timeline.Lock) (n int) {
	for client, h := range k.Holds {
		if client != f.Client && h.Active(f.Event.At) {
			n++
		}
	}
	return n
}

// asks takes in the call of a check or a renewal.
func (m *doubleHolder) asks(f *timeline.Fact, v *timeline.Cursor) {
	if f.Hold.Active(f.Event.At) || v.Locks[f.Lock].Permits > 1 {
		return
	}
	for client, h := range v.Locks[f.Lock].Holds {
		if client != f.Client && h.Active(f.Event.At) {
			m.asked = append(m.asked, checkAsked{f.Op.ID, f.Client, client, h.Since})
		}
	}
}

// told takes in the answer to it.
func (m *doubleHolder) told(f *timeline.Fact, v *timeline.Cursor) (found []Anomaly) {
	for {
		c := list.Take(&m.asked, func(c checkAsked) bool { return c.op == f.Op.ID && c.client == f.Client })
		if c.op == 0 {
			return found
		}
		h := v.Locks[f.Lock].Holds[c.other]
		if f.Op.Outcome == history.OK && !f.Hold.Active(f.Event.At) && h.Active(f.Event.At) && h.Since == c.since {
			why := "%s was told at %s that it holds the lock, while %s held it (%s)."
			if f.Op.Kind == history.OpRenew {
				why = "%s's renewal was answered ok at %s, while %s held the lock (%s)."
			}
			found = append(found, twoHolders(f, v, c.other, why))
		}
	}
}

// twoHolders is the anomaly of an event that made its client believe that it holds the lock, while another held it.
func twoHolders(f *timeline.Fact, v *timeline.Cursor, client int, why string) Anomaly {
	mine, other, h := v.Clients.Name(f.Client), v.Clients.Name(client), v.Locks[f.Lock].Holds[client]
	since, events := "since "+seconds(h.SinceAt), []int{h.Since, f.Index}
	switch {
	case h.Renewed == 0:
	case h.Renewed == h.Since:
		since = "since its renewal at " + seconds(h.SinceAt)
	default:
		since += ", last renewed at " + seconds(h.RenewedAt)
		events = append(events, h.Renewed)
	}
	return Anomaly{
		Name: DoubleHolder, Lock: v.LockNames.Name(f.Lock), Clients: []string{mine, other}, At: f.Event.At,
		Why:    fmt.Sprintf(why, mine, seconds(f.Event.At), other, since),
		Events: inOrder(events...),
	}
}

// fences: a later grant got a smaller fence. Grants that overlap have no order.
type fences struct {
	highest []fence // by lock: the largest of the grants that have returned
	waiting []fenceWait
	recent  []fence // of the grants that have returned while others were under way
}

type fence struct {
	number int64
	client int
	event  int
	lock   int
}

// fenceWait is a pending acquire and the largest fence of the grants that had returned when it was called or, where it is known, when it took the
// lock.
type fenceWait struct {
	op     int64
	client int
	before fence
}

func (m *fences) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Event.Kind == history.KindExit {
		m.waiting = slices.DeleteFunc(m.waiting, func(w fenceWait) bool { return w.client == f.Client })
		return nil
	}
	if f.Op.Kind != history.OpAcquire || f.Lock == 0 {
		return nil
	}
	for len(m.highest) <= f.Lock {
		m.highest = append(m.highest, fence{})
	}
	highest := &m.highest[f.Lock]
	switch f.Event.Kind {
	case history.KindCall:
		if !f.Hold.Active(f.Event.At) {
			m.waiting = append(m.waiting, fenceWait{f.Op.ID, f.Client, *highest})
		}
	case history.KindCommand:
		m.took(f, *highest)
	case history.KindReturn:
		return m.returned(f, v)
	}
	return nil
}

func (m *fences) returned(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	wait := list.Take(&m.waiting, func(w fenceWait) bool { return w.op == f.Op.ID && w.client == f.Client })
	if len(m.waiting) == 0 {
		defer func() { m.recent = m.recent[:0] }()
	}
	if f.Op.Outcome != history.OK || f.Event.Fence == 0 {
		return nil
	}
	mine := fence{f.Event.Fence, f.Client, f.Index, f.Lock}
	if highest := &m.highest[f.Lock]; mine.number > highest.number {
		*highest = mine
	}
	if wait.op == 0 {
		return nil // its client has the lock already
	}
	before := wait.before
	if n := slices.IndexFunc(m.recent, func(g fence) bool { return g.lock == f.Lock && g.number == mine.number }); n >= 0 {
		before = m.recent[n] // two grants share it, whichever came first
	}
	if len(m.waiting) > 0 {
		m.recent = append(m.recent, mine)
	}
	if mine.number > before.number {
		return nil
	}
	client, other := v.Clients.Name(f.Client), v.Clients.Name(before.client)
	return []Anomaly{{
		Name: FenceRegression, Lock: v.LockNames.Name(f.Lock), Clients: []string{client, other}, At: f.Event.At,
		Why: fmt.Sprintf("%s got fencing token %d at %s, although %s had got %d before.",
			client, mine.number, seconds(f.Event.At), other, before.number),
		Events: inOrder(before.event, f.Op.Called, f.Index),
	}}
}

// took takes in that a pending acquire took the lock by a command: it did so after all grants that had returned.
func (m *fences) took(f *timeline.Fact, highest fence) {
	switch f.Effect {
	case history.EffectCreated, history.EffectReplaced, history.EffectUnclear:
	default:
		return
	}
	if f.Op.Lock != f.Lock {
		return
	}
	for n := range m.waiting {
		if w := &m.waiting[n]; w.op == f.Op.ID && w.client == f.Client {
			w.before = highest
		}
	}
}
