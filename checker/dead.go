package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/timeline"
	"github.com/locklab/locklab/timeline/ownership"
)

// deadGrant: an acquire was answered ok, though the validity that it declared was over, and its lock could know that: it looks at its clock
// between the last reply that it got and its answer. A validity counts from the call, where the acquire tries once, and is between half a
// lease and a lease. If it may have ended after the look, as when the client was paused there, nobody is blamed. Nor is a lock whose
// client's clock was set.
type deadGrant struct {
	pending []answering
}

// answering is an acquire under way.
type answering struct {
	op     int64
	client int
	heard  time.Duration // when its client got the latest reply; zero: it got none
}

func (m *deadGrant) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	switch said := f.Event.Fault(); {
	case said != nil:
		m.fault(said, f.Event.At, v)
	case f.Op.Kind != history.OpAcquire || f.Lock == 0:
	case f.Event.Kind == history.KindCall:
		m.pending = append(m.pending, answering{op: f.Op.ID, client: f.Client})
	case f.Event.Kind == history.KindCommand:
		m.reply(f)
	case f.Event.Kind == history.KindReturn:
		return m.returned(f, v)
	}
	return nil
}

// fault takes in that a held reply was let go: its client gets it only then.
func (m *deadGrant) fault(said *history.Fault, now time.Duration, v *timeline.Cursor) {
	if faults.Kind(said.Name) != faults.HoldReply || said.Phase != history.PhaseRecover {
		return
	}
	for n := range m.pending {
		if a := &m.pending[n]; v.Clients.Name(a.client) == said.Target {
			a.heard = now
		}
	}
}

// reply takes in a command whose reply the client got.
func (m *deadGrant) reply(f *timeline.Fact) {
	if f.Sent.Late || f.Sent.ReplyDropped {
		return
	}
	for n := range m.pending {
		if a := &m.pending[n]; a.op == f.Op.ID && a.client == f.Client {
			a.heard = f.Event.At
		}
	}
}

func (m *deadGrant) returned(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	a := takeWaiting(&m.pending, func(a answering) bool { return a.op == f.Op.ID && a.client == f.Client })
	k, client := &v.Locks[f.Lock], v.Clients.Name(f.Client)
	if a.op == 0 || f.Op.Outcome != history.OK || f.Event.Valid != history.ValidityExpired || k.Lease == 0 || clockWasSet(client, v) {
		return nil
	}
	called, room := f.Op.CalledAt, ownership.LeaseMargin(k.Lease)
	early := f.Event.At+room < called+k.Lease/2
	late := f.Op.Bound == 0 && a.heard > called+k.Lease+room
	if !early && !late {
		return nil
	}
	return []Anomaly{{
		Name: DeadGrant, Lock: v.LockNames.Name(f.Lock), Clients: []string{client}, At: f.Event.At,
		Why: fmt.Sprintf("%s's acquire, called at %s, was answered ok at %s, although the validity that came with the answer was over.",
			client, seconds(called), seconds(f.Event.At)),
		Events: inOrder(f.Op.Called, f.Index),
	}}
}

// clockWasSet says whether the clock of a client's process was set at any time so far.
func clockWasSet(client string, v *timeline.Cursor) bool {
	return slices.ContainsFunc(v.Faults, func(g timeline.FaultSpan) bool {
		return g.Kind == faults.Skew && history.ProcessOf(g.Target) == history.ProcessOf(client)
	})
}
