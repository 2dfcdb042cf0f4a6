package explore

import (
	"math"
	"slices"

	"github.com/locklab/locklab/internal/sim/service"
)

// A sample gives a client at another time what the search gives it. If that is a time stamp of another client, it may be one that nobody can have
// written by then, or that somebody has replaced. So at a fork it must be one that the search gives there, or as much later as the time is.

// moment is what the clock shows when a client is given something with time stamps.
type moment struct {
	stamps []float64
	clock  ms
}

// mostMoments is how many are told apart at a fork. Where there are more, any is possible.
const mostMoments = 64

// noteMoment notes that the search gives something at a fork.
func (p *sampler) noteMoment(f fork, m moment) {
	for _, stamp := range m.stamps {
		if first, known := p.firstMet[stamp]; !known || m.clock < first {
			p.firstMet[stamp] = m.clock
		}
	}
	list := p.moments[f]
	if len(m.stamps) == 0 || len(list) > mostMoments || slices.ContainsFunc(list, m.same) {
		return
	}
	p.moments[f] = append(list, m)
}

func (m moment) same(other moment) bool {
	return m.clock == other.clock && slices.Equal(m.stamps, other.stamps)
}

// offered says whether the search gives an input at a fork, at once or later, and if it has time stamps, ones that are possible by then. waited: time has
// passed just before, so it may be a reply that was on its way meanwhile.
func (p *sampler) offered(f fork, m moment, waited bool) bool {
	for _, later := range [...]bool{f.later, !f.later} {
		f.later = later
		if known := p.moments[f]; p.inputs[f] && (len(m.stamps) == 0 || len(known) == 0 || len(known) > mostMoments || p.possible(m, known, waited)) {
			return true
		}
	}
	return false
}

// possible says whether the stamps of a moment may be there by then: they are not met later only, and at the fork they are met as late, or others are
// as much later as the moment is.
func (p *sampler) possible(m moment, known []moment, waited bool) bool {
	written := !slices.ContainsFunc(m.stamps, func(stamp float64) bool { return p.firstMet[stamp] > m.clock })
	return slices.ContainsFunc(known, func(other moment) bool {
		same := slices.Equal(m.stamps, other.stamps)
		return same && written && (waited || m.clock <= other.clock) || !same && m.moved(other)
	})
}

// moved says whether all stamps of a moment are as much later than those of another as it is itself.
func (m moment) moved(other moment) bool {
	return slices.EqualFunc(m.stamps, other.stamps, func(is, was float64) bool {
		unit := unitOf(was)
		return math.Abs(is-was-float64(m.clock-other.clock)*unit) <= unit+1
	})
}

// since1970 is the least number that is taken for a time stamp, one in seconds.
const since1970 = 1e9

// unitOf is how many units a millisecond has in a time stamp, which may be in seconds, milliseconds, microseconds or nanoseconds.
func unitOf(stamp float64) float64 {
	unit := 1e-3
	for least := 1e11; stamp >= least && unit < 1e6; least *= 1e3 {
		unit *= 1e3
	}
	return unit
}

// stampsIn are the time stamps in a reply, but for what the client has sent itself.
func (a *automaton) stampsIn(in input, sent map[string]bool) (stamps []float64) {
	if in.kind != inputReply {
		return nil
	}
	note := func(text string) string {
		if sent[text] {
			return text
		}
		var m masked
		m.mask(text)
		for _, n := range m.numbers {
			if n >= since1970 {
				stamps = append(stamps, n)
			}
		}
		return text
	}
	for _, r := range renameReplies(a.texts.replies[in.arg].replies, note) {
		if r.Kind == service.Integer {
			note(r.String())
		}
	}
	return stamps
}

// noteSent notes what a client sends.
func (a *automaton) noteSent(sent map[string]bool, n *node) {
	for _, sl := range n.slots[:n.tasks] {
		for _, command := range a.texts.requests[sl.request].commands {
			for _, word := range command {
				sent[word] = true
			}
		}
	}
}
