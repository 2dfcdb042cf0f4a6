package world

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/past"
)

// ofTime appends the choices by which time passes. A client that has a step to make is paused meanwhile; or it is in a long hold, if it is
// its user's turn.
func (s *Space) ofTime(list []Choice, r *State) []Choice {
	var pausing uint8
	var either []int
	for i := range s.Clients {
		p := &s.parts.clients.list[r.clients[i]]
		switch {
		case p.soon:
			return list
		case p.c.paused || !p.main && !p.beside:
		case p.beside, !p.c.busy && !p.user:
			pausing |= 1 << i
		case !p.c.busy:
			either = append(either, i)
		}
	}
	k := &s.parts.strucks.list[r.struck].struck
	for set := range 1 << len(either) {
		o := Choice{kind: passes, paused: pausing}
		for at, i := range either {
			if set>>at&1 == 0 {
				o.paused |= 1 << i
			} else {
				o.busy |= 1 << i
			}
		}
		if !s.player.budget.mayPass(k, o) {
			continue
		}
		for _, t := range s.instants(r, o.paused) {
			o.time, o.clock = int32(t.at), t.clock
			list = append(list, o)
		}
	}
	return list
}

// instant is a time that may pass. clock: nothing ends then, but a client may read its clock.
type instant struct {
	at    int
	clock bool
}

// instants are the times that may pass: not beyond the end of a wait of a client that is not paused. Where nothing ends any more, no time
// passes, unless clocks drift. A lock that reads clocks sees more: quarters of a lease since it did, or since the beginning.
func (s *Space) instants(r *State, paused uint8) []instant {
	due, horizon := s.limits(r, paused)
	limit := min(due, horizon)
	list := s.appendEnds(s.scratch.times[:0], r, paused)
	if len(list) > 0 || s.mayDrift(r) {
		list = s.appendGrid(list, r, limit)
	}
	slices.SortFunc(list, func(a, b instant) int {
		switch {
		case a.at != b.at || a.clock == b.clock:
			return a.at - b.at
		case a.clock:
			return 1
		}
		return -1
	})
	s.scratch.times = list
	list = slices.CompactFunc(list, func(a, b instant) bool { return a.at == b.at })
	for len(list) > 0 && list[len(list)-1].at > limit {
		s.player.seen.beyond = s.player.seen.beyond || horizon < due
		list = list[:len(list)-1]
	}
	return list
}

// limits are how much time may pass: until a client that is not paused waits no more, and until the horizon of one that reads clocks, or sleeps.
func (s *Space) limits(r *State, paused uint8) (due, horizon int) {
	due, horizon = never, never
	if s.player.past.Clocks == past.Absolute {
		horizon = ms(s.Horizon) - int(r.now)
	}
	for i := range s.Clients {
		p := &s.parts.clients.list[r.clients[i]]
		if !p.c.paused && paused>>i&1 == 0 {
			due = min(due, p.due)
		}
		if p.c.at.Sleeps {
			horizon = min(horizon, ms(s.Horizon)-p.c.ago.slept)
		}
		if s.player.past.Clocks == past.Differences {
			horizon = min(horizon, ms(s.Horizon)-p.c.ago.read)
		}
	}
	return due, horizon
}

// appendEnds appends when something ends, and when it is about to.
func (s *Space) appendEnds(list []instant, r *State, paused uint8) []instant {
	add := func(t int) {
		if t > 0 {
			list = append(list, instant{at: t})
		}
	}
	for i := range s.Clients {
		for _, t := range s.parts.clients.list[r.clients[i]].times {
			add(t)
		}
	}
	for i := range s.Servers {
		for _, t := range s.parts.servers.list[r.servers[i]].times {
			add(t)
		}
	}
	if s.player.sessions {
		s.ofSessions(add, r, paused)
	}
	if end := s.parts.monitors.list[r.monitor].owner.ends; end != never {
		around(add, end)
	}
	return list
}

// around adds an end, a moment before it and one after, and the last one at which a lease certainly runs.
func around(add func(int), end int) {
	for _, t := range [...]int{end - safely, end - 1, end, end + 1} {
		add(t)
	}
}

// safely is more than the margin by which the checker lets a lease end early.
const safely = 30

// ofSessions adds when sessions end of clients that are dead, paused or cut off.
func (s *Space) ofSessions(add func(int), r *State, paused uint8) {
	for i := range s.Clients {
		c := &s.parts.clients.list[r.clients[i]].c
		ends := c.phase == crashed && len(c.session.made)+len(c.travel) > 0
		if left := s.parts.servers.list[r.servers[0]].left[i]; left > 0 && (ends || c.phase != crashed && (c.paused || paused>>i&1 != 0 || c.session.cut)) {
			around(add, left)
		}
	}
}

// mayDrift says whether what a client's clock shows matters although nothing ends.
func (s *Space) mayDrift(r *State) bool {
	if s.player.past.Clocks != past.Absolute {
		return false
	}
	for i := range s.Clients {
		if s.ClockRate != 0 || s.parts.clients.list[r.clients[i]].c.ops > 0 {
			return true
		}
	}
	return false
}

// appendGrid appends when a lock that reads clocks may do so.
func (s *Space) appendGrid(list []instant, r *State, limit int) []instant {
	grid := func(since int) {
		for t := ms(s.Grid); t-since <= limit; t += ms(s.Grid) {
			if t > since {
				list = append(list, instant{t - since, true})
			}
		}
	}
	switch s.player.past.Clocks {
	case past.Absolute:
		grid(int(r.now))
	case past.Differences:
		for i := range s.Clients {
			if c := &s.parts.clients.list[r.clients[i]].c; c.at.Read {
				grid(c.ago.read)
			}
		}
	}
	return list
}
