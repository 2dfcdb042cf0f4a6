package checker

import (
	"fmt"
	"time"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// missedWakeup: a waiter did not take a free lock. An acquire with a bound had been refused when a command freed the lock. From then on nobody
// took the lock, and the acquire sent nothing, for longer than a lease or five seconds, until its bound was over and it ended without the lock.
//
// A fault of a server excuses it, and one of the process of any waiter, or its end: that one may have been woken. A wrong clock does not.
// A lock on several servers is not judged, because no single command frees it, nor one in a session, whose waiters are there before it is free.
type missedWakeup struct {
	waiters []sleeper
	free    []freed // by lock
}

// longestSleep is longer than anybody sleeps between two tries.
const longestSleep = 5 * time.Second

// freed is the command by which a lock became free; the zero value: it is not known to be free.
type freed struct {
	event, by int
	at        time.Duration
	what      string
}

// sleeper is a pending acquire with a bound.
type sleeper struct {
	timeline.Operation
	refused int  // index of the latest command by which it was refused; zero: there is none, or one after it was not
	sent    int  // index of its latest command
	excused bool // since the lock became free, a fault may have kept a waiter from taking it
}

func (m *missedWakeup) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	switch f.Event.Kind {
	case history.KindFault:
		for n := range m.waiters {
			m.excuse(&m.waiters[n], v)
		}
	case history.KindExit:
		for n := range m.waiters {
			if m.waiters[n].Client == f.Client {
				m.excuseAll(m.waiters[n].Lock)
			}
		}
		list.Take(&m.waiters, func(w sleeper) bool { return w.Client == f.Client })
	case history.KindCommand:
		m.command(f, v)
	case history.KindCall:
		if f.Op.Kind == history.OpAcquire && f.Op.Bound > 0 && f.Lock != 0 {
			m.waiters = append(m.waiters, sleeper{Operation: f.Op})
			m.excuse(&m.waiters[len(m.waiters)-1], v)
		}
	case history.KindReturn:
		return m.returned(f, v)
	}
	return nil
}

// of is when a lock became free.
func (m *missedWakeup) of(lock int) *freed {
	for len(m.free) <= lock {
		m.free = append(m.free, freed{})
	}
	return &m.free[lock]
}

// excuse notes whether a fault is in effect that may keep a waiter, and so all of them, from taking the lock.
func (m *missedWakeup) excuse(w *sleeper, v *timeline.Cursor) {
	process := history.ProcessOf(v.Clients.Name(w.Client))
	for n := range v.Faults {
		if f := &v.Faults[n]; f.Kind != faults.Skew && (f.Kind.OnServer() || history.ProcessOf(f.Target) == process) {
			m.excuseAll(w.Lock)
		}
	}
}

func (m *missedWakeup) excuseAll(lock int) {
	for n := range m.waiters {
		w := &m.waiters[n]
		w.excused = w.excused || w.Lock == lock
	}
}

func (m *missedWakeup) command(f *timeline.Fact, v *timeline.Cursor) {
	if f.Work {
		return
	}
	if f.Change == nil { // nobody asked what it did
		clear(m.free)
	}
	for n := range m.waiters {
		if w := &m.waiters[n]; w.Is(f.Op) {
			w.sent = f.Index
			if f.Change != nil && f.Lock == w.Lock {
				w.refused = 0
				if f.Change.Before.Exists() && f.Change.After.Exists() && !f.Sent.ReplyDropped {
					w.refused = f.Index
				}
			}
		}
	}
	switch free := m.of(f.Lock); {
	case f.Change == nil:
	case f.Change.After.Exists():
		*free = freed{}
	case f.Effect == history.EffectRemoved:
		*free = freed{f.Index, f.Client, f.Event.At, commandWord(f)}
		for n := range m.waiters {
			m.waiters[n].excused = m.waiters[n].excused && m.waiters[n].Lock != f.Lock
		}
		for n := range m.waiters {
			if m.waiters[n].Lock == f.Lock {
				m.excuse(&m.waiters[n], v)
			}
		}
	}
}

func (m *missedWakeup) returned(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	w := list.Take(&m.waiters, func(w sleeper) bool { return w.Is(f.Op) })
	k := &v.Locks[f.Lock]
	free := *m.of(f.Lock)
	switch {
	case w.ID == 0 || w.excused || !f.Op.Refused() || k.Spread() || k.Session || k.Lease == 0:
		return nil
	case free.event == 0 || w.refused == 0 || w.sent > free.event:
		return nil
	case f.Event.At-f.Op.CalledAt < f.Op.Bound || f.Event.At <= free.at+min(k.Lease+ownership.LeaseMargin(k.Lease), longestSleep):
		return nil
	}
	client, by := v.Clients.Name(f.Client), v.Clients.Name(free.by)
	return []Anomaly{{
		Name: MissedWakeup, Lock: v.LockNames.Name(f.Lock), Clients: []string{client, by}, At: f.Event.At,
		Why: fmt.Sprintf("%s waited from %s to %s. %s's %s freed the lock at %s; then nobody took it, and %s sent nothing.",
			client, seconds(f.Op.CalledAt), seconds(f.Event.At), by, free.what, seconds(free.at), client),
		Events: inOrder(f.Op.Called, w.refused, free.event, f.Index),
	}}
}
