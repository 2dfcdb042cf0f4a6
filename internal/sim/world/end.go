package world

import (
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// Losses suspects that an update is lost in a state in which all clients have ended.
func (s *Space) Losses(r *State) Suspicions {
	resource := s.parts.servers.list[r.resource].server
	if resource.counter() < int64(s.parts.monitor(r).acked) {
		return s.Suspect(checker.LostUpdate)
	}
	return 0
}

// Ending is all of a state on which it depends whether the lock is stuck.
func (r State) Ending() State {
	r.monitor, r.resource, r.struck = 0, 0, 0
	return r
}

// Stuck says whether the lock is stuck for a fresh client in a state in which all others have ended.
func (s *Space) Stuck(r *State) (bool, error) {
	if s.Suspect(checker.StuckLock) == 0 {
		return false, nil
	}
	return s.player.stuck(s.world(r))
}

// trialLength is how long a fresh client tries: until every lease ends that was taken before, or by a client that asked meanwhile.
func trialLength(lease time.Duration) int { return 2*ms(lease) + ms(ownership.LeaseMargin(lease)) }

// trial is that of a fresh client, which tries again and again, beside those that were refused.
type trial struct {
	player *player
	world  *world
	tried  []bool // the clients that have, at this time
	left   int    // how much longer it goes on
}

// stuck says whether no client ever gets the lock in a trial.
func (p *player) stuck(w *world) (bool, error) {
	defer func(before seen) { p.seen = before }(p.seen)
	fresh := len(w.clients)
	at, err := p.past.Start(fresh)
	if err != nil {
		return false, err
	}
	w.clients = append(w.clients, client{at: at, ends: never})
	p.recorder.tries(fresh)
	t := trial{player: p, world: w, tried: make([]bool, fresh+1), left: trialLength(p.Lease) + 1}
	for {
		if t.held() {
			return false, nil
		}
		o, there := t.next()
		if !there {
			p.recorder.closes(fresh, history.OpAcquire, history.Answer{Outcome: history.No})
			return true, nil
		}
		if err := p.make(w, o); err != nil {
			return false, err
		}
	}
}

// held says whether a client has the lock. Those that were refused try on.
func (t *trial) held() bool {
	for i := range t.world.clients {
		c := &t.world.clients[i]
		if c.active() || c.phase == holding {
			return true
		}
		if c.phase == tired {
			c.phase, c.count.tries = waiting, 0
		}
	}
	return false
}

// next is the first step that a client can make, none of which tries twice at the same time; or time passes, until the next try, or until a wait
// ends before it.
func (t *trial) next() (o Choice, there bool) {
	for i := range t.world.clients {
		for _, o := range t.player.ofClient(nil, &t.world.clients[i], i) {
			if o.kind != calls || !t.tried[i] {
				t.tried[i] = t.tried[i] || o.kind == calls
				return o, true
			}
		}
	}
	if t.left <= 0 {
		return o, false
	}
	next := min(ms(t.player.Grid), t.left)
	for i := range t.world.clients {
		for _, d := range t.world.clients[i].due {
			next = min(next, max(d.at, 1))
		}
	}
	t.left -= next
	clear(t.tried)
	return Choice{kind: passes, time: int32(next)}, true
}
