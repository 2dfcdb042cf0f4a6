package world

import (
	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// Losses suspects that an update is lost in a state in which all clients have ended.
func (s *Space) Losses(r *State) Suspicions {
	resource := s.parts.servers.list[r.resource].server
	if resource.counter() < int64(s.parts.monitors.list[r.monitor].acked) {
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
	for i := range s.Clients {
		p := &s.parts.clients.list[r.clients[i]]
		if !p.over && (p.main || p.beside || len(p.c.travel) > 0 || p.c.at.busy) {
			return false
		}
	}
	return true
}

// Stuck says whether the lock is stuck for a fresh client in a state in which all others rest.
func (s *Space) Stuck(r *State) (bool, error) {
	if s.Suspect(checker.StuckLock) == 0 {
		return false, nil
	}
	return s.player.stuck(s.world(r), s.player.often())
}

// trialLength is how long a fresh client tries: until every lease ends that was taken before, or by a client that asked meanwhile.
func (p *player) trialLength() int { return 2*ms(p.Lease) + ms(ownership.LeaseMargin(p.Lease)) }

// pace is how often clients try in a trial.
type pace struct {
	every int  // so often
	alone bool // only the fresh one
}

// often is as often as anything may happen, with the clients that were refused; seldom is at the beginning and in the end.
func (p *player) often() pace { return pace{every: ms(p.Grid)} }

func (p *player) seldom() pace { return pace{every: p.trialLength() + 1, alone: true} }

// How many leases longer a trial goes on for a try that does not end, and how many steps without any time.
const (
	mostSlept = 4
	mostSteps = 1000
)

// stuck has a fresh client try again and again, and says whether nobody ever gets the lock: a try that it began after so long was refused.
func (p *player) stuck(w *world, pace pace) (bool, error) {
	defer func(before seen) { p.seen = before }(p.seen)
	fresh := len(w.clients)
	at, err := p.locals.start(fresh)
	if err != nil {
		return false, err
	}
	w.clients = append(w.clients, client{at: at, ends: never})
	if p.recorder != nil {
		p.recorder.trial = fresh
		p.recorder.trace.Clients++
		p.recorder.opens(fresh)
	}
	tried := make([]bool, fresh+1)
	late := 0 // how many tries have begun at the end
	for end, steps := p.trialLength()+1, 0; ; steps++ {
		if w.held(pace.alone) {
			return false, nil
		}
		o, there := p.first(w, tried, pace.alone)
		switch {
		case steps > mostSteps, !there && end < -mostSlept*ms(p.Lease):
			p.endless = true
			return false, nil
		case !there && (late > 1 || late == 1 && !w.clients[fresh].at.busy):
			if p.recorder != nil {
				p.recorder.closes(fresh, history.OpAcquire, history.Answer{Outcome: history.No})
			}
			return true, nil
		case !there:
			o = p.later(w, pace.every, end)
			end -= int(o.time)
			clear(tried)
			steps = 0
		case o.kind == calls:
			if tried[o.client] = true; int(o.client) == fresh && end <= 0 {
				late++
			}
		}
		if err := p.make(w, o); err != nil {
			return false, err
		}
	}
}

// held says whether a client has got the lock. One that has been refused as often as it tries goes on, unless the fresh one is alone.
func (w *world) held(alone bool) bool {
	for i := range w.clients {
		c := &w.clients[i]
		if c.active() || c.phase == holding {
			return true
		}
		if c.phase == tired && !alone {
			c.phase, c.count.tries = waiting, 0
		}
	}
	return false
}

// first is the first step that a client can make; none tries twice at the same time.
func (p *player) first(w *world, tried []bool, alone bool) (Choice, bool) {
	for i := range w.clients {
		mayTry := !tried[i] && (!alone || i == len(w.clients)-1)
		for _, o := range p.ofClient(nil, &w.clients[i], i) {
			if o.kind != calls || mayTry {
				return o, true
			}
		}
	}
	return Choice{}, false
}

// later lets time pass until the next try, or until a wait ends before it.
func (p *player) later(w *world, next, end int) Choice {
	if end > 0 {
		next = min(next, end)
	}
	for i := range w.clients {
		for _, d := range w.clients[i].due {
			next = min(next, max(d.at, 1))
		}
	}
	return Choice{kind: passes, time: int32(next)}
}
