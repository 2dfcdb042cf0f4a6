package world

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/sim/suspicion"
)

// ofOwners are the anomalies of whose the lock is on the server.
var ofOwners = [...]checker.Name{
	checker.Overwrite, checker.WrongfulDelete, checker.WrongfulRenew, checker.EarlyGrant, checker.GhostLock, checker.Unreleasable, checker.FalseAlarm,
}

// interest is what a search looks for. What only other suspicions need is not kept, so there are fewer states.
type interest struct {
	suspicions                     suspicion.Set
	owners, writes, updates, fence bool
	nothing                        monitor // that knows nothing
}

// interestIn is that of a search, which need not be in all that can be judged.
func interestIn(config *Config) (in interest) {
	wanted := func(name checker.Name) bool { return len(config.Only) == 0 || slices.Contains(config.Only, name) }
	for _, d := range checker.Definitions() {
		if wanted(d.Name) {
			in.suspicions.Add(d.Name)
		}
	}
	in.suspicions &= judged(config)
	in.nothing, in.owners = newMonitor(config), slices.ContainsFunc(ofOwners[:], wanted)
	in.writes, in.updates, in.fence = wanted(checker.StaleWrite), wanted(checker.LostUpdate), wanted(checker.FenceRegression)
	return in
}

// keep drops all else from a monitor.
func (in *interest) keep(m *monitor) {
	if !in.owners {
		m.key, m.owner, m.challengers, m.charges, m.left, m.shares = key{}, nobodys, noChallengers, suspicion.Charges{}, false, in.nothing.shares
		for i := range m.clients {
			l := &m.clients[i]
			*l = looks{took: l.took, passed: l.passed, inner: l.inner}
		}
	}
	if !in.writes {
		m.turn, m.contested, m.overtaken = nobody, false, 0
		for i := range m.clients {
			m.clients[i].passed = false
		}
	}
	if !in.updates {
		m.acked, m.greatest = 0, 0
	}
	if !in.fence {
		m.fence = 0
	}
}

// judged are the anomalies that are suspected: the others speak of one owner, which a semaphore has not, or of tries, which in a queue are none.
func judged(config *Config) (list suspicion.Set) {
	switch {
	case config.Queue:
		list.Add(checker.Unfair)
	case config.Lock.Permits > 1:
		list.Add(checker.DoubleHolder)
		list.Add(checker.StuckLock)
		list.Add(checker.HungOperation)
	default:
		list = ^list
	}
	return list
}
