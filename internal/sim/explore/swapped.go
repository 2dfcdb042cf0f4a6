package explore

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/learn"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// Two acquires are told each other's answers if one is told ok although the service keeps the lock from it for the other, and the other is told
// that it has not got it, before or after: that is a ghost-lock, too. So an acquire remembers for whom its latest command found the lock kept.

// keptForRefused: the lock is kept for an acquire that has ended without it.
const keptForRefused = learn.MostClients + 1

// noteKept remembers for whom a command of an acquire found the lock kept: for a client whose acquire has not returned, or has been refused.
func (j *judge) noteKept(cmd command, kept bool) {
	if j.only&ghostLock == 0 || cmd.op != history.OpAcquire || cmd.ended || j.s.clients[cmd.client].phase != acquiring {
		return
	}
	c, o := &j.s.clients[cmd.client], &j.s.owner
	c.keptFor = 0
	if !kept || cmd.effect != history.EffectNone || o.client == 0 || int(o.client) == cmd.client+1 || o.ends <= o.margin {
		return
	}
	switch o.standing {
	case ownership.Pending:
		if j.s.clients[o.client-1].phase == acquiring {
			c.keptFor = o.client
		}
	case ownership.Refused:
		c.keptFor = keptForRefused
	}
}

// settleKept takes in how a client's acquire has ended: it may have been told ok although the lock was kept for another's, and it may be the one
// for which others found it kept.
func (j *judge) settleKept(n int, ok bool) {
	c := &j.s.clients[n]
	if ok && !c.has(took) {
		switch {
		case c.keptFor == keptForRefused:
			j.found |= ghostLock
		case c.keptFor != 0:
			j.s.swapped |= 1 << (c.keptFor - 1)
		}
	}
	c.keptFor = 0
	if j.s.swapped&(1<<n) != 0 && !ok {
		j.found |= ghostLock
	}
	for i := range j.clients {
		if other := &j.s.clients[i]; int(other.keptFor) == n+1 {
			other.keptFor = keptForRefused
			if ok {
				other.keptFor = 0
			}
		}
	}
	j.s.swapped &^= 1 << n
}

// crashesKept takes in that a client has crashed: what its acquire would have been told stays unknown.
func (j *judge) crashesKept(n int) {
	for i := range j.clients {
		if other := &j.s.clients[i]; int(other.keptFor) == n+1 {
			other.keptFor = 0
		}
	}
	j.s.swapped &^= 1 << n
}
