package world

import (
	"math/bits"
	"slices"

	"github.com/locklab/locklab/internal/sim/past"
)

// ofTime appends the choices by which time passes with so many faults. A client that has a step to make is paused meanwhile; or it is in a long hold, if it is
// its user's turn.
func (s *Space) ofTime(list []Choice, r *State, n int) []Choice {
	var pausing uint8
	var either []int
	for i := range s.Clients {
		p := s.parts.client(r, i)
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
	k := &s.parts.struck(r).struck
	for set := range 1 << len(either) {
		o := Choice{kind: passes, paused: pausing}
		for at, i := range either {
			if set>>at&1 == 0 {
				o.paused |= 1 << i
			} else {
				o.busy |= 1 << i
			}
		}
		if bits.OnesCount8(o.paused)+bits.OnesCount8(o.busy) != n || !s.player.budget.mayPass(k, o) {
			continue
		}
		u := upcoming{s, r, o.paused}
		for _, t := range u.instants() {
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

// upcoming finds what ends next in a state while clients, in bits, are paused. It has the list in the space, where it is used again.
type upcoming struct {
	space  *Space
	state  *State
	paused uint8
}

// instants are the times that may pass: not beyond the end of a wait of a client that is not paused. Where nothing ends any more, no time
// passes, unless clocks drift, or a client is under way that has read its clock. A lock that reads clocks sees more: quarters of a lease since it did,
// or since the beginning; and one that asks how long keys live sees quarters of a lease before they end.
func (u *upcoming) instants() []instant {
	s := u.space
	s.scratch.times = s.scratch.times[:0]
	due, horizon := u.limits()
	limit := min(due, horizon)
	u.addEnds()
	coming := len(s.scratch.times) > 0
	for i := range s.Clients {
		coming = coming || u.clocked(u.client(i))
	}
	if coming {
		u.readings(limit)
	}
	slices.SortStableFunc(s.scratch.times, func(a, b instant) int { return a.at - b.at }) // if something ends at a reading, that stays
	list := slices.CompactFunc(s.scratch.times, func(a, b instant) bool { return a.at == b.at })
	for len(list) > 0 && list[len(list)-1].at > limit {
		s.player.seen.beyond = s.player.seen.beyond || horizon < due
		list = list[:len(list)-1]
	}
	return list
}

func (u *upcoming) client(i int) *clientPart { return u.space.parts.client(u.state, i) }

// limits are how much time may pass: until a client that is not paused waits no more, and until the horizon of one that reads clocks, or sleeps.
func (u *upcoming) limits() (due, horizon int) {
	clocks, most := u.space.player.past.Clocks, ms(u.space.Horizon)
	due, horizon = never, never
	if clocks == past.Absolute {
		horizon = most - int(u.state.now)
	}
	for i := range u.space.Clients {
		p := u.client(i)
		if !p.c.paused && u.paused>>i&1 == 0 {
			due = min(due, p.due)
		}
		if p.c.at.Sleeps {
			horizon = min(horizon, most-p.c.ago.slept)
		}
		if clocks == past.Differences {
			horizon = min(horizon, most-p.c.ago.read)
		}
	}
	return due, horizon
}

// addEnds adds when something ends, and when it is about to.
func (u *upcoming) addEnds() {
	parts := &u.space.parts
	for i := range u.space.Clients {
		u.add(u.client(i).times...)
	}
	for i := range u.space.Servers {
		u.add(parts.server(u.state, i).times...)
	}
	if u.space.player.sessions {
		u.sessions(parts.server(u.state, 0).left)
	}
	if end := parts.monitor(u.state).owner.ends; end != never {
		u.add(around(end)...)
	}
}

func (u *upcoming) add(times ...int) {
	for _, t := range times {
		if t > 0 {
			u.note(instant{at: t})
		}
	}
}

func (u *upcoming) note(t instant) { u.space.scratch.times = append(u.space.scratch.times, t) }

// around is an end, a moment before it and one after, and the last one at which a lease certainly runs.
func around(end int) []int { return []int{end - safely, end - 1, end, end + 1} }

// safely is more than the margin by which the checker lets a lease end early.
const safely = 30

// sessions adds when sessions end of clients that are dead, paused or cut off.
func (u *upcoming) sessions(left []int) {
	for i := range u.space.Clients {
		c := &u.client(i).c
		ends := c.phase == crashed && len(c.session.made)+len(c.travel) > 0
		if left[i] > 0 && (ends || c.phase != crashed && (c.paused || u.paused>>i&1 != 0 || c.session.cut)) {
			u.add(around(left[i])...)
		}
	}
}

// clocked says whether a client may yet read a clock that it has read, or that runs since the beginning. One that is tired may when a fresh client tries.
func (u *upcoming) clocked(p *clientPart) bool {
	switch u.space.player.past.Clocks {
	case past.Absolute:
		return p.c.ops > 0 || u.space.ClockRate != 0
	case past.Differences:
		return p.c.at.Read && (!p.done || p.c.phase == tired)
	}
	return false
}

// readings adds when a lock that reads clocks, or asks how long keys live, may do so.
func (u *upcoming) readings(limit int) {
	for i := range u.space.Servers {
		for _, t := range u.space.parts.server(u.state, i).quarters {
			u.note(instant{t, true})
		}
	}
	step := ms(u.space.Grid)
	grid := func(since int) {
		for t := step; t-since <= limit; t += step {
			if t > since {
				u.note(instant{t - since, true})
			}
		}
	}
	switch u.space.player.past.Clocks {
	case past.Absolute:
		grid(int(u.state.now))
	case past.Differences:
		for i := range u.space.Clients {
			if c := &u.client(i).c; c.at.Read {
				grid(c.ago.read)
			}
		}
	}
}
