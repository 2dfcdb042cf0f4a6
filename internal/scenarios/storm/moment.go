package storm

import (
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
)

// Moment is when a strike hits that is for whoever comes to it next. It stands in the place of the client's name.
type Moment string

// The moments.
const (
	Holder Moment = "holder" // it has been told that it has the lock
	Taker  Moment = "taker"  // a server has given it the lock, and it cannot know that yet
)

// strikeMoment draws faults for whoever comes to a moment that is short, and seldom hit by chance: a pause for longer than the lease, of a taker also
// one after which it learns late that it has the lock, while the lease runs; and, of a holder, a link that is broken only while the first renewal is due,
// a third of the lease after the hold began, one link that is cut for longer than the lease, or the replies to its release that are lost.
func (p *Plan) strikeMoment(m Moment) {
	d, replacements := p.dice(string(m)), p.dice("other "+string(m))
	kinds := p.chosen(faults.Pause)
	if m == Holder {
		kinds = p.chosen(faults.Pause, faults.Refuse, faults.ReplyLost, faults.Partition)
	}
	if len(kinds) == 0 {
		return
	}
	for at := d.between(p.Lease, 0.5, 2); ; at += d.between(p.Lease, 0.6, 1.6) {
		s := Strike{At: at, Client: string(m), Kind: kinds[d.IntN(len(kinds))]}
		switch {
		case s.Kind == faults.Pause && m == Taker && d.IntN(2) == 0:
			s.For = p.late(d)
		case s.Kind == faults.Pause:
			s.For = d.between(p.Lease, 1.3, 1.8)
		case s.Kind == faults.ReplyLost && d.IntN(2) == 0 && !p.Opaque:
			s.For = d.between(p.Lease, 0.1, 0.45)
			s.trap(faults.ActHoldRequest, faults.MatchRemoval)
		case s.Kind == faults.Partition: // from one of several servers, while others could renew the lock
			s.For, s.Links = d.long(p.Lease), 1<<d.IntN(3)
		default:
			s.After, s.For = d.between(p.Lease, 0.2, 0.25), d.between(p.Lease, 0.15, 0.2)
		}
		if m == Taker {
			s.Nth = []int{1, 3, 4, 5}[d.IntN(4)] // the first, or so many that the rest is no majority
			if p.Servers > 0 && s.Nth > p.Servers {
				s = p.replaced(replacements, at)
			}
		}
		took := s.After + s.For
		if len(s.Breakpoints) > 0 {
			took += p.Patience()
		}
		if at+took > p.For {
			return
		}
		p.Strikes = append(p.Strikes, s)
		if m == Holder { // one at a time; many takers do not get as far as the strike is for
			at += s.After + s.For
		}
	}
}

// replaced draws a strike in place of one for a taker of more servers than there are, which could not take effect. The taker learns of the grant late; or
// it loses the replies to its first request that may remove the lock, half of the time for so short that a client which sends again is answered; or it is
// cut off from all servers for longer than the lease.
func (p *Plan) replaced(d dice, at time.Duration) Strike {
	s := Strike{At: at, Client: string(Taker), Nth: 1}
	kinds := p.chosen(faults.Pause, faults.Pause, faults.ReplyLost, faults.ReplyLost, faults.Partition)
	switch s.Kind = kinds[d.IntN(len(kinds))]; s.Kind {
	case faults.ReplyLost:
		s.trap(faults.ActHoldRequest, faults.MatchRemoval)
		if s.For = d.between(p.Lease, 0.02, 0.08); d.IntN(2) == 0 {
			s.For = d.between(p.Lease, 0.1, 0.45)
		}
	case faults.Partition:
		s.For = d.long(p.Lease)
	default:
		s.For = p.late(d)
	}
	return s
}

// chosen are those of the kinds that the storm has.
func (p *Plan) chosen(kinds ...faults.Kind) []faults.Kind {
	return slices.DeleteFunc(kinds, func(k faults.Kind) bool { return !slices.Contains(p.Faults, k) })
}

// late is how late a taker learns of a grant, while the lease runs.
func (p *Plan) late(d dice) time.Duration { return d.between(p.Lease, 0.2, 0.45) }
