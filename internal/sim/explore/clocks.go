package explore

import (
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"
)

// setClock makes a client's clocks wrong from the start, or its wall clock step.
func (x *explorer) setClock(s *state, m move) {
	c, f, by := &s.clients[m.client], clockAhead, int8(1)
	if m.kind == moveBehind {
		f, by = clockBehind, -1
	}
	if m.slot == stepping {
		s.spent[f+stepAhead-clockAhead]++
		c.steps += by
	} else {
		s.spent[f]++
		c.skew = by
	}
	c.set(struck)
}

// clock is what a client's monotonic clock shows.
func (x *explorer) clock(s *state, i int) ms { return x.clockAt(&s.clients[i], s.now) }

// clockAt is what it shows at a time. A clock that runs at another rate has been right at the beginning.
func (x *explorer) clockAt(c *client, now ms) ms {
	if x.slow != 0 {
		return ms(int64(now) * int64(x.slow.rate(c)) / rightRate)
	}
	return now + ms(c.skew)*x.skew
}

// shows is when a client's monotonic clock shows so much.
func (x *explorer) shows(c *client, clock ms) ms {
	if x.slow != 0 {
		return x.slow.takes(c, clock)
	}
	return clock - ms(c.skew)*x.skew
}

// slowRate is at how many thousandths of the right speed a slow clock runs; 0: wrong clocks run right, and are off. A fast clock is as many times too fast.
type slowRate ms

const rightRate = 1000

// rate is at how many thousandths of the right speed a client's clocks run.
func (r slowRate) rate(c *client) ms {
	switch {
	case r == 0 || c.skew == 0:
		return rightRate
	case c.skew < 0:
		return ms(r)
	}
	return rightRate * rightRate / ms(r)
}

// takes is how long so much time by a client's clocks takes.
func (r slowRate) takes(c *client, d ms) ms {
	rate := int64(r.rate(c))
	if d == never || rate == rightRate {
		return d
	}
	return ms(min((int64(d)*rightRate+rate-1)/rate, int64(never)))
}

// lasts is the same to the nanosecond, as the checker has it.
func (r slowRate) lasts(c *client, d time.Duration) time.Duration {
	if r.rate(c) == rightRate {
		return d
	}
	return time.Duration(float64(d) / (float64(r.rate(c)) / rightRate))
}

// reading is what a client's clocks show.
func (x *explorer) reading(s *state, i int) learn.Reading {
	c := &s.clients[i]
	shown := learn.Reading{Clock: x.clock(s, i), Steps: c.steps}
	if x.sessions {
		shown.Life, shown.Lasts = c.life, c.lasts()
	}
	return shown
}

// canStep says whether a wall clock can still step.
func (x *explorer) canStep(s *state) bool {
	return x.walls && (x.canSpend(s, stepAhead) || x.canSpend(s, stepBack))
}

// instantsOfDrift appends the lengths of time after which a clock that drifts is off by another lease: what it stamps then is late, or early, by as much,
// though no client's own step shows it.
func (x *explorer) instantsOfDrift(list []ms, s *state, limit ms) []ms {
	for i := range x.clients {
		c := &s.clients[i]
		apart := int64(x.slow.rate(c)) - rightRate
		if apart == 0 || c.phase == crashed {
			continue
		}
		apart = max(apart, -apart)
		for off := int64(x.lease); ; off += int64(x.lease) {
			at := ms((off*rightRate+apart-1)/apart) + 1
			if at > x.horizon || at-s.now >= limit {
				break
			}
			if at > s.now && !slices.Contains(list, at-s.now) {
				list = append(list, at-s.now)
			}
		}
	}
	return list
}
