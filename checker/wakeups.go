package checker

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// wakeups counts what waiting for a lock on a ZooKeeper costs: the requests, and how many waiters one release wakes. A waiter is woken when,
// after the release and before the next, its acquire sends a request, or one is held on its way.
type wakeups struct {
	requests, grants int
	pending          map[string]bool // clients with an acquire under way that had a request answered; whether the latest release has woken it
	asked            map[string]bool // clients with an acquire under way
	woken, most      int
}

// wakeupsOf says in one line what waiting cost; empty: nobody waited in a session.
func wakeupsOf(events []history.Event) string {
	w := wakeups{pending: map[string]bool{}, asked: map[string]bool{}}
	session := false
	for i := range events {
		e := &events[i]
		session = session || e.Kind == history.KindOpen && e.Detail != nil && e.Detail.Session
		w.take(e)
	}
	if !session || w.most == 0 {
		return ""
	}
	return fmt.Sprintf("%s for %s; a release woke %s at most", numbered(w.requests, "request"), numbered(w.grants, "grant"), numbered(w.most, "waiter"))
}

func numbered(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (w *wakeups) take(e *history.Event) {
	switch e.Kind {
	case history.KindCall:
		if e.Op == history.OpAcquire {
			w.asked[e.Client] = true
		}
	case history.KindReturn:
		if e.Op == history.OpAcquire && e.Outcome == history.OK {
			w.grants++
		}
		delete(w.asked, e.Client)
		delete(w.pending, e.Client)
	case history.KindFault:
		if f := e.Fault(); f != nil && faults.Kind(f.Name) == faults.HoldRequest && f.Phase == history.PhaseEffective {
			w.wake(f.Target)
		}
	case history.KindCommand:
		w.command(e)
	}
}

func (w *wakeups) command(e *history.Event) {
	c := e.Command()
	if c.Server == history.Resource || len(c.Args) == 0 {
		return
	}
	if !c.ByServer() && c.Args[0] != "PING" { // these are no requests of an operation
		w.requests++
		w.wake(e.Client)
		if w.asked[e.Client] && !c.Late {
			if _, known := w.pending[e.Client]; !known {
				w.pending[e.Client] = true // it is about to look: nothing has woken it yet
			}
		}
	}
	freed := slices.ContainsFunc(c.Changes, func(ch history.Change) bool { return ch.Before.Exists() && !ch.After.Exists() })
	if freed {
		w.woken = 0
		for client := range w.pending {
			w.pending[client] = false
		}
	}
}

// wake takes in that a client goes on.
func (w *wakeups) wake(client string) {
	if woken, waits := w.pending[client]; waits && !woken {
		w.pending[client] = true
		w.woken++
		w.most = max(w.most, w.woken)
	}
}
