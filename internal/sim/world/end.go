package world

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/suspicion"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// Losses suspects that an update is lost in a state in which all clients have ended.
func (s *Space) Losses(r *State) suspicion.Set {
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

// Rests says whether no client is in the middle of something: those that have not ended have not come yet, or were refused.
func (s *Space) Rests(r *State) bool {
	return !slices.ContainsFunc(r.clients[:s.Clients], func(n int32) bool {
		p := &s.parts.clients.list[n]
		return !p.done && (p.main || p.beside || len(p.c.travel) > 0 || p.c.at.Busy)
	})
}

// Stuck says whether the lock is stuck for a fresh client in a state in which all others rest.
func (s *Space) Stuck(r *State) (bool, error) {
	if s.Suspect(checker.StuckLock) == 0 {
		return false, nil
	}
	return s.player.stuck(s.world(r), false)
}

// trialLength is how long a fresh client tries: until every lease ends that was taken before, or by a client that asked meanwhile.
func trialLength(lease time.Duration) int { return 2*ms(lease) + ms(ownership.LeaseMargin(lease)) }

// How many leases longer a trial goes on for a try that does not end, and how many steps without any time.
const (
	mostSlept = 4
	mostSteps = 1000
)

// trial is that of a fresh client, the last one, which tries again and again.
type trial struct {
	player *player
	world  *world
	every  int    // how often clients try
	alone  bool   // only the fresh one does
	tried  []bool // the clients that have, at this time
	left   int    // how much longer it goes on; negative: for a try under way
	late   int    // how many tries of the fresh client have begun at the end
	steps  int    // at this time
}

// stuck has a fresh client try, and says whether nobody ever gets the lock: a try that it began after so long was refused. It tries as often as
// anything may happen, as do those that were refused, or alone, at the beginning and in the end.
func (p *player) stuck(w *world, alone bool) (bool, error) {
	defer func(before seen) {
		before.endless = p.seen.endless
		p.seen = before
	}(p.seen)
	fresh := len(w.clients)
	at, err := p.past.Start(fresh)
	if err != nil {
		return false, err
	}
	w.clients = append(w.clients, client{at: at, ends: never})
	p.recorder.tries(fresh)
	t := trial{player: p, world: w, every: ms(p.Grid), alone: alone, tried: make([]bool, fresh+1), left: trialLength(p.Lease) + 1}
	if alone {
		t.every = t.left
	}
	for ; !t.held(); t.steps++ {
		o, there := t.step()
		switch {
		case t.steps > mostSteps, !there && t.left < -mostSlept*ms(p.Lease):
			p.seen.endless = true
			return false, nil
		case !there && (t.late > 1 || t.late == 1 && !w.clients[fresh].at.Busy):
			p.recorder.closes(fresh, history.OpAcquire, history.Answer{Outcome: history.No})
			return true, nil
		case !there:
			o = t.later()
		}
		if err := p.make(w, o); err != nil {
			return false, err
		}
	}
	return false, nil
}

// held says whether a client has got the lock. One that has been refused as often as it tries goes on, unless the fresh one is alone.
func (t *trial) held() bool {
	for i := range t.world.clients {
		c := &t.world.clients[i]
		if c.active() || c.phase == holding {
			return true
		}
		if c.phase == tired && !t.alone {
			c.phase, c.count.tries = waiting, 0
		}
	}
	return false
}

// step is the first one that a client can make; none tries twice at the same time.
func (t *trial) step() (o Choice, there bool) {
	for i := range t.world.clients {
		fresh := i == len(t.world.clients)-1
		for _, o := range t.player.ofClient(nil, &t.world.clients[i], i) {
			switch {
			case o.kind != calls:
				return o, true
			case !t.tried[i] && (fresh || !t.alone):
				if t.tried[i] = true; fresh && t.left <= 0 {
					t.late++
				}
				return o, true
			}
		}
	}
	return o, false
}

// later lets time pass until the next try, or until a wait ends before it.
func (t *trial) later() Choice {
	next := t.every
	if t.left > 0 {
		next = min(next, t.left)
	}
	for i := range t.world.clients {
		for _, d := range t.world.clients[i].due {
			next = min(next, max(d.at, 1))
		}
	}
	t.left, t.steps = t.left-next, 0
	clear(t.tried)
	return Choice{kind: passes, time: int32(next)}
}
