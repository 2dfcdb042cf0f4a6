package checker

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// deadGrant: an acquire was answered ok, though the validity that it declared was over, and its lock could know that: it looks at its clock
// between the last reply that it got and its answer. A validity counts from the call, where the acquire tries once, and is between half a
// lease and a lease. If it may have ended after the look, as when the client was paused there, nobody is blamed. Nor is a lock whose
// client's clock was set.
type deadGrant struct{}

func (deadGrant) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	k, client := &v.Locks[f.Lock], v.Clients.Name(f.Client)
	switch {
	case f.Event.Kind != history.KindReturn || f.Op.Kind != history.OpAcquire || f.Lock == 0:
		return nil
	case f.Op.Outcome != history.OK || f.Event.Valid != history.ValidityExpired || k.Lease == 0 || clockWasSet(client, v):
		return nil
	}
	called, room := f.Op.CalledAt, ownership.LeaseMargin(k.Lease)
	early := f.Event.At+room < called+k.Lease/2
	late := f.Op.Bound == 0 && f.Op.Heard() > called+k.Lease+room
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
