package checker

import (
	"fmt"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/timeline"
)

// hungOperation: an operation missed its deadline, though from its call on no fault was in effect on its process or on a server. Its client
// gave it up. A release counts if every lease had ended by then: there was nothing left to wait for. An acquire with a bound counts if it
// began several more tries after twice its bound. A wrong clock does not excuse an acquire: to wait needs no clock time.
type hungOperation struct {
	pending []boundedOperation
}

// boundedOperation is a pending operation that its user waits for, for so long and no longer.
type boundedOperation struct {
	op      int64
	client  int
	acquire bool
	first   string // what an acquire sent first, and with each further try again
	late    int    // how often it did when twice its time was over
	last    int    // index of the latest of these commands; it may concern several keys
	excused bool   // a fault may have held it up
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
	case f.Op.Kind != history.OpRelease && f.Op.Kind != history.OpAcquire || f.Op.Bound == 0:
	case f.Event.Kind == history.KindCall:
		p := boundedOperation{op: f.Op.ID, client: f.Client, acquire: f.Op.Kind == history.OpAcquire}
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
	p := takeWaiting(&m.pending, func(p boundedOperation) bool { return p.op == f.Op.ID && p.client == f.Client })
	gaveUp := f.Op.Outcome == history.Unknown && f.Op.GaveUp
	if p.op == 0 || p.excused || !gaveUp {
		return nil
	}
	waited, why := f.Event.At-f.Op.CalledAt, "although no fault delayed it and every lease had ended"
	what := fmt.Sprintf("release, called at %s,", seconds(f.Op.CalledAt))
	switch {
	case p.acquire && p.late < triesOverdue(v.Locks[f.Lock].Session):
		return nil
	case p.acquire:
		what = fmt.Sprintf("acquire, called at %s for %s at most,", seconds(f.Op.CalledAt), seconds(f.Op.Bound))
		why = "although no fault delayed it, and it kept retrying"
	case waited < f.Op.Bound || f.Event.At < v.Locks[f.Lock].FreedBy(f.Op.CalledAt):
		return nil
	}
	client := v.Clients.Name(f.Client)
	return []Anomaly{{
		Name: HungOperation, Lock: v.LockNames.Name(f.Lock), Clients: []string{client}, At: f.Event.At,
		Why:    fmt.Sprintf("%s's %s had not returned when %s gave it up at %s, %s.", client, what, client, seconds(f.Event.At), why),
		Events: inOrder(f.Op.Called, f.Index),
	}}
}
