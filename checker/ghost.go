package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// ghostLock: the service holds the lock for a client that was told, or concluded, that it did not get it; and another client was
// refused because of that. What a crashed client leaves behind is no ghost. Each ghost is reported once.
//
// It is one as well if the other client was told that it has the lock that the service had refused to it: the two answers were swapped. The
// first client may then be told only later that it did not get it.
type ghostLock struct {
	met      []ghostMet
	found    []ghostMet // by pending acquire: the claim of another client that its last command found the lock held by
	swapped  []ghostMet // acquires that were told ok all the same, while that claim's acquire is pending
	reported []int64    // acquires whose ghosts have been reported
}

// ghostMet is a pending acquire and the ghost, or other claim, that a command of it met.
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
		m.find(f)
	case history.KindReturn:
		found := m.exchanged(f, v)
		if len(m.met) > 0 {
			found = append(found, m.returned(f, v)...)
		}
		return found
	}
	return nil
}

// find remembers the claim by which the service refused the lock to a pending acquire.
func (m *ghostLock) find(f *timeline.Fact) {
	mine := func(g ghostMet) bool { return g.op == f.Op.ID && g.client == f.Client }
	o := f.Owner
	m.found = slices.DeleteFunc(m.found, mine)
	if f.Change == nil || f.Elsewhere || f.Foreign || !f.Change.Before.Exists() || f.Effect != history.EffectNone || f.Op.Outcome != history.OutcomeNone ||
		o.Op == 0 || o.Client == f.Client || o.Standing != timeline.Pending && o.Standing != timeline.Refused || !o.Leased(f.Event.At) {
		return
	}
	m.found = append(m.found, ghostMet{op: f.Op.ID, client: f.Client, ghost: o, event: f.Index, at: f.Event.At})
}

// exchanged takes in the end of an acquire: it was told ok although another client's claim had kept the lock from it, or it is that claim's.
func (m *ghostLock) exchanged(f *timeline.Fact, v *timeline.Cursor) (found []Anomaly) {
	met := list.Take(&m.found, func(g ghostMet) bool { return g.op == f.Op.ID && g.client == f.Client })
	if met.op != 0 && f.Op.Outcome == history.OK && f.Op.Took == 0 {
		met.at = f.Event.At
		m.swapped = append(m.swapped, met)
	}
	isMine := func(g ghostMet) bool { return g.ghost.Op == f.Op.ID && g.ghost.Client == f.Client }
	for _, list := range [][]ghostMet{m.found, m.swapped} {
		for n := range list {
			if isMine(list[n]) {
				list[n].ghost.Settle(f.Op)
			}
		}
	}
	for {
		done := list.Take(&m.swapped, func(g ghostMet) bool { return g.ghost.Standing != timeline.Pending })
		if done.op == 0 {
			return found
		}
		if done.ghost.Standing != timeline.Refused || slices.Contains(m.reported, done.ghost.Op) {
			continue
		}
		m.reported = append(m.reported, done.ghost.Op)
		client, ghost := v.Clients.Name(done.client), v.Clients.Name(done.ghost.Client)
		found = append(found, Anomaly{
			Name: GhostLock, Lock: v.LockNames.Name(f.Lock), Clients: []string{ghost, client}, At: f.Event.At,
			Why: fmt.Sprintf("%s was told at %s that it has the lock: the lock was %s's by its command at %s, although %s's acquire ended at %s without it.",
				client, seconds(done.at), ghost, seconds(done.ghost.At), ghost, seconds(done.ghost.SettledAt)),
			Events: inOrder(done.ghost.Command, done.ghost.Settled, done.event, f.Index),
		})
	}
}

// isGhost says whether the command of an acquire found the lock held by a ghost.
func isGhost(f *timeline.Fact, v *timeline.Cursor) bool {
	o := f.Owner
	holds := v.Locks[f.Lock].Holds
	claim := o.Facts(f.Event.At, o.Client < len(holds) && holds[o.Client].Active(f.Event.At))
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
	met := list.Take(&m.met, func(g ghostMet) bool { return g.op == f.Op.ID && g.client == f.Client })
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
