package explore

import (
	"math/bits"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// lastRelease is what is known of a client's release while it is under way.
type lastRelease struct {
	waits ms // how long ago it was called; negative: see disturbed
	// Of a lock on several servers only: those from which it has removed what was the client's own, and how many acquires ago, plus 1, that one was by
	// which the client certainly had the lock when the release was called. 0: it had not.
	freed, heldBy uint8
	Gap           [2]gap
}

func (j *judge) calledRelease(n int) {
	c := &j.s.clients[n]
	c.phase = releasing
	j.releaseBegins(c)
	j.forgetRelease(c)
	if j.active(n) && j.rightful(n, j.s.owner.ends) {
		c.set(tenure)
		if j.sharing != nil {
			c.heldBy = j.s.owner.ago + 1
		}
	}
	if t := &j.s.tally; int(t.client) == n+1 {
		t.released++
		t.unsure = t.unsure || !j.active(n)
	}
	if j.counts && j.active(n) && c.count > 1 {
		c.set(inner)
		c.count--
		return
	}
	j.endHold(n)
	if j.Leaseless && int(j.s.owner.client) == n+1 {
		j.s.owner.leaving = true
	}
}

// forgetRelease forgets what a client's release has done.
func (j *judge) forgetRelease(c *client) {
	c.clear(tenure | changed | removed | looked | inner)
	c.freed, c.heldBy = 0, 0
}

// noteRelease notes what a command of a client's release did.
func (j *judge) noteRelease(c *client, cmd command) {
	c.set(looked)
	if int(j.s.owner.client) != cmd.client+1 || j.s.owner.foreign {
		return
	}
	switch cmd.effect {
	case history.EffectRemoved:
		c.set(removed)
	case history.EffectReplaced:
		c.set(changed)
	}
}

// noteFreed notes what a command of a client's release removed from one server of several.
func (j *judge) noteFreed(c *client, cmd command, lost share) {
	if c.heldBy == 0 || int(lost.client) != cmd.client+1 || lost.ago != c.heldBy-1 {
		return
	}
	c.freed |= 1 << cmd.server
	if ownership.Freed(bits.OnesCount8(c.freed), j.sharing.need) {
		c.set(removed)
	}
}

// judgeRelease judges what a release has left behind and reported.
func (j *judge) judgeRelease(n int, outcome history.Outcome) {
	c := &j.s.clients[n]
	release := ownership.Release{
		Outcome: outcome, Inner: c.has(inner), Changed: c.has(changed), Removed: c.has(removed),
		// The claim is over since the call. What matters is that its lease still runs.
		Rightful: c.has(tenure) && !j.challenged() && j.rightful(n, j.s.owner.ends),
	}
	switch {
	case !release.Unreleasable():
	case c.has(looked) && outcome == history.No:
		j.found |= unreleasable
	default:
		j.s.owner.leaves(c.has(looked) || c.entered == 0) // a reentrant lock may count by itself
	}
	if release.FalseAlarm() {
		j.found |= falseAlarm
	}
}

// countRelease follows a lock that counts: released as often as acquired, it must be free.
func (j *judge) countRelease(n int, outcome history.Outcome) {
	t, o := &j.s.tally, &j.s.owner
	if int(t.client) != n+1 {
		return
	}
	t.unsure = t.unsure || outcome != history.OK
	left := int(o.client) == n+1 && o.there && !o.stale && o.ends > o.margin
	if !t.unsure && t.released == t.acquired && j.s.clients[n].has(changed) && left {
		j.found |= unreleasable
	}
}
