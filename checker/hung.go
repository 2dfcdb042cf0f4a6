package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// hungOperation: an operation missed its deadline, though from its call on no fault was in effect on its process or on a server. Its client
// gave it up. It counts if every lease had ended by then: there was nothing left to wait for. An operation that was given no bound has
// history.Patience. An acquire with a bound counts if it began several more tries after twice its bound, or if it went on for
// history.Patience after its bound. A wrong clock does not excuse an acquire: to wait needs no clock time.
type hungOperation struct {
	pending []boundedOperation
}

// boundedOperation is a pending operation that its user waits for, for so long and no longer.
type boundedOperation struct {
	op      int64
	client  int
	acquire bool
	bound   time.Duration // zero: its caller gave none
	first   string        // what an acquire sent first, and with each further try again
	late    int           // how often it did when twice its time was over
	last    int           // index of the latest of these commands; it may concern several keys
	excused bool          // a fault may have held it up
	sent    []sending
}

// sending is what an operation sent to one server.
type sending struct {
	server, what string // its latest command
	times, last  int    // how many commands, and the index of the latest
	at           time.Duration
}

// concerns says whether a fault may hold the operation up.
func (p boundedOperation) concerns(f *timeline.FaultSpan, client string) bool {
	if f.Recovered >= 0 || p.acquire && f.Kind == faults.Skew {
		return false
	}
	return f.Kind.OnServer() || history.ProcessOf(f.Target) == history.ProcessOf(client)
}

// excuse notes whether a fault that is in effect, or about to be, may hold the operation up: it hits the client's process, something else
// in that, or a server.
func (p *boundedOperation) excuse(v *timeline.Cursor) {
	client := v.Clients.Name(p.client)
	for n := range v.Faults {
		p.excused = p.excused || p.concerns(&v.Faults[n], client)
	}
}

// sends notes a command of the operation.
func (p *boundedOperation) sends(f *timeline.Fact) {
	n := slices.IndexFunc(p.sent, func(s sending) bool { return s.server == f.Sent.Server })
	if n < 0 {
		n, p.sent = len(p.sent), append(p.sent, sending{server: f.Sent.Server})
	}
	if to := &p.sent[n]; to.last != f.Index {
		to.what, to.times, to.last, to.at = word(f.Sent), to.times+1, f.Index, f.Event.At
	}
	if !p.acquire || p.bound == 0 {
		return
	}
	what := f.Sent.Server + " " + word(f.Sent)
	if p.first == "" {
		p.first = what
	}
	if what == p.first && p.last != f.Index && f.Event.At >= f.Op.CalledAt+2*f.Op.Bound {
		p.late, p.last = p.late+1, f.Index
	}
}

func (m *hungOperation) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	switch {
	case f.Event.Kind == history.KindFault:
		for n := range m.pending {
			m.pending[n].excuse(v)
		}
	case f.Lock == 0 || f.Op.Kind == history.OpWork || f.Op.Kind == history.OpNone:
	case f.Event.Kind == history.KindCall:
		p := boundedOperation{op: f.Op.ID, client: f.Client, acquire: f.Op.Kind == history.OpAcquire, bound: f.Op.Bound}
		p.excuse(v)
		m.pending = append(m.pending, p)
	case f.Event.Kind == history.KindCommand:
		for n := range m.pending {
			if p := &m.pending[n]; p.op == f.Op.ID && p.client == f.Client {
				p.sends(f)
			}
		}
	case f.Event.Kind == history.KindReturn:
		return m.returned(f, v)
	}
	return nil
}

// triesOverdue is how many tries after the deadline show that an acquire does not keep it: one may be due then, and one under way. In a
// session a third may be none: the look for a node of an acquire that was given up.
func triesOverdue(session bool) int {
	if session {
		return 4
	}
	return 3
}

func (m *hungOperation) returned(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	p := list.Take(&m.pending, func(p boundedOperation) bool { return p.op == f.Op.ID && p.client == f.Client })
	gaveUp := f.Op.Outcome == history.Unknown && f.Op.GaveUp
	if p.op == 0 || p.excused || !gaveUp {
		return nil
	}
	lock := &v.Locks[f.Lock]
	waits := p.acquire && p.bound > 0
	bound := p.bound
	switch {
	case waits:
		bound += history.Patience(lock.Lease)
	case bound == 0:
		bound = history.Patience(lock.Lease)
	}
	called := fmt.Sprintf("%v, called at %s,", f.Op.Kind, seconds(f.Op.CalledAt))
	if waits {
		called = fmt.Sprintf("acquire, called at %s for %s at most,", seconds(f.Op.CalledAt), seconds(f.Op.Bound))
	}
	why := "although no fault delayed it and every lease had ended"
	switch waited := f.Event.At - f.Op.CalledAt; {
	case waits && p.late >= triesOverdue(lock.Session):
		why = "although no fault delayed it, and it kept retrying"
	case waited < bound || f.Event.At < lock.FreedBy(f.Op.CalledAt):
		return nil
	}
	client := v.Clients.Name(f.Client)
	return []Anomaly{{
		Name: HungOperation, Lock: v.LockNames.Name(f.Lock), Clients: []string{client}, At: f.Event.At,
		Why:    fmt.Sprintf("%s's %s had not returned when %s gave it up at %s, %s. %s", client, called, client, seconds(f.Event.At), why, p.waitedFor(lock.Opaque)),
		Events: inOrder(f.Op.Called, f.Index),
	}}
}

// waitedFor says which servers an operation had asked, and when it did so last.
func (p *boundedOperation) waitedFor(opaque bool) string {
	if len(p.sent) == 0 {
		if opaque {
			return "What it sent is not on record."
		}
		return "No server had answered a command of it."
	}
	parts := make([]string, len(p.sent))
	for n, s := range p.sent {
		parts[n] = fmt.Sprintf("%s (%s, last %s at %s)", s.server, numbered(s.times, "command"), s.what, seconds(s.at))
	}
	return "It had been answered by " + strings.Join(parts, ", ") + "."
}
