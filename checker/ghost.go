package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
)

// ghostLock: the service holds the lock for a client that was told, or concluded, that it did not get it; and another client was
// refused because of that. What a crashed client leaves behind is no ghost. Each ghost is reported once.
type ghostLock struct {
	met  []ghostMet
	told []int64 // acquires whose ghosts have been reported
}

// ghostMet is a pending acquire and the ghost that a command of it met.
type ghostMet struct {
	op     int64
	client int
	ghost  claim
	event  int // index of the command
	at     time.Duration
}

func (m *ghostLock) step(f *fact, v *view) []Anomaly {
	if f.op.kind != history.OpAcquire || f.lock == 0 {
		return nil
	}
	switch f.e.Kind {
	case history.KindCommand:
		if isGhost(f, v) && !slices.Contains(m.told, f.owner.op) {
			m.meet(ghostMet{op: f.op.id, client: f.client, ghost: f.owner, event: f.i, at: f.e.At})
		}
	case history.KindReturn:
		if len(m.met) > 0 {
			return m.returned(f, v)
		}
	}
	return nil
}

// isGhost says whether the command of an acquire found the lock held by a ghost.
func isGhost(f *fact, v *view) bool {
	o := f.owner
	return f.change != nil && !f.work && !f.elsewhere && !f.foreign && f.change.Before.Exists() && f.effect == history.EffectNone &&
		o.op != 0 && o.client != f.client && o.standing == refused && o.settled < f.op.called &&
		!o.over && !v.dead[o.client] && o.leased(f.e.At)
}

// meet remembers the first ghost that an acquire met.
func (m *ghostLock) meet(met ghostMet) {
	if !slices.ContainsFunc(m.met, func(g ghostMet) bool { return g.op == met.op && g.client == met.client }) {
		m.met = append(m.met, met)
	}
}

func (m *ghostLock) returned(f *fact, v *view) []Anomaly {
	met := takeWaiting(&m.met, func(g ghostMet) bool { return g.op == f.op.id && g.client == f.client })
	if met.op == 0 || f.op.outcome != history.No || slices.Contains(m.told, met.ghost.op) {
		return nil
	}
	m.told = append(m.told, met.ghost.op)
	client, ghost := v.clients.name(f.client), v.clients.name(met.ghost.client)
	return []Anomaly{{
		Name: GhostLock, Lock: v.locks.name(f.lock), Clients: []string{ghost, client}, At: f.e.At,
		Why: fmt.Sprintf("%s was refused at %s because the lock was %s's by its command at %s, though %s had ended its acquire at %s without it.",
			client, told(f.e.At), ghost, told(met.ghost.at), ghost, told(met.ghost.settledAt)),
		Events: inOrder(met.ghost.command, met.ghost.settled, met.event, f.i),
	}}
}
