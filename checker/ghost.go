package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/timeline"
)

// ghostLock: the service holds the lock for a client that was told, or concluded, that it did not get it; and another client was
// refused because of that. What a crashed client leaves behind is no ghost. Each ghost is reported once.
type ghostLock struct {
	met      []ghostMet
	reported []int64 // acquires whose ghosts have been reported
}

// ghostMet is a pending acquire and the ghost that a command of it met.
type ghostMet struct {
	op     int64
	client int
	ghost  timeline.Claim
	event  int // index of the command
	at     time.Duration
}

func (m *ghostLock) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if f.Op.Kind != history.OpAcquire || f.Lock == 0 {
		return nil
	}
	switch f.Event.Kind {
	case history.KindCommand:
		if isGhost(f, v) && !slices.Contains(m.reported, f.Owner.Op) {
			m.meet(ghostMet{op: f.Op.ID, client: f.Client, ghost: f.Owner, event: f.Index, at: f.Event.At})
		}
	case history.KindReturn:
		if len(m.met) > 0 {
			return m.returned(f, v)
		}
	}
	return nil
}

// isGhost says whether the command of an acquire found the lock held by a ghost.
func isGhost(f *timeline.Fact, v *timeline.Cursor) bool {
	o := f.Owner
	claim := o.Facts(f.Event.At, false)
	claim.Dead = v.Dead[o.Client]
	return f.Change != nil && !f.Elsewhere && !f.Foreign && f.Change.Before.Exists() && f.Effect == history.EffectNone &&
		o.Op != 0 && o.Client != f.Client && o.Settled < f.Op.Called && claim.Ghost()
}

// meet remembers the first ghost that an acquire met.
func (m *ghostLock) meet(met ghostMet) {
	if !slices.ContainsFunc(m.met, func(g ghostMet) bool { return g.op == met.op && g.client == met.client }) {
		m.met = append(m.met, met)
	}
}

func (m *ghostLock) returned(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	met := takeWaiting(&m.met, func(g ghostMet) bool { return g.op == f.Op.ID && g.client == f.Client })
	if met.op == 0 || f.Op.Outcome != history.No || slices.Contains(m.reported, met.ghost.Op) {
		return nil
	}
	m.reported = append(m.reported, met.ghost.Op)
	client, ghost := v.Clients.Name(f.Client), v.Clients.Name(met.ghost.Client)
	return []Anomaly{{
		Name: GhostLock, Lock: v.LockNames.Name(f.Lock), Clients: []string{ghost, client}, At: f.Event.At,
		Why: fmt.Sprintf("%s was refused at %s: the lock was %s's by its command at %s, although %s's acquire had ended at %s without it.",
			client, seconds(f.Event.At), ghost, seconds(met.ghost.At), ghost, seconds(met.ghost.SettledAt)),
		Events: inOrder(met.ghost.Command, met.ghost.Settled, met.event, f.Index),
	}}
}
