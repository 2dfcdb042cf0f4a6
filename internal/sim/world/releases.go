package world

import (
	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

func (m *monitor) released(w *world, i int, outcome history.Outcome) {
	l := &m.clients[i]
	if outcome == history.OK && m.turn == i && !l.inner {
		m.turn = turnOver
	}
	own := m.rightful(i)
	if m.tally.Released(i, outcome) && l.changed && own {
		m.suspects.Add(checker.Unreleasable)
	}
	own = own && m.challengers[0].client < 0 // else it depends on how an acquire under way ends whose the lock is
	if own && !l.inner && (l.rightful || l.changed) && outcome != history.Unknown {
		if m.left = true; l.looked && outcome == history.No {
			m.suspects.Add(checker.Unreleasable)
		}
	}
	if outcome == history.No {
		m.denied(w, i, own)
	}
	if outcome != history.Unknown {
		m.shares.released(i)
	}
	*l = looks{}
}

// denied: a client's release was answered no; own: the lock is its own all the same.
func (m *monitor) denied(w *world, i int, own bool) {
	l := &m.clients[i]
	if (ownership.Release{Outcome: history.No, Changed: l.changed, Removed: l.removed, Rightful: own && l.rightful}).FalseAlarm() {
		m.suspects.Add(checker.FalseAlarm)
	}
	if l.inner {
		m.ends(i)
		w.clients[i].on = false
	}
}

// patience is how long a user waits for a release.
func patience(lease int) int { return lease * 5 / 4 }

// late says whether a client's release has taken too long, and its client has not been paused meanwhile.
func (c *client) late(lease int) bool {
	return c.phase == releasing && !c.delayed && c.called >= patience(lease)
}

// hangs: a client's release has taken too long, and no fault has struck.
func (m *monitor) hangs() {
	if !m.hung {
		m.hung = true
		m.suspects.Add(checker.HungOperation)
	}
}
