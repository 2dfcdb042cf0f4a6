package explore

import (
	"errors"

	"github.com/locklab/locklab/sim/process"
)

// A private step is one that nobody but its client can notice, and that no fault can prevent: in which order it comes with those of
// others makes no difference, so it comes first, and by itself. It takes a reply to which the lock answers nothing to its user, gives
// nothing up, asks no clock and begins no wait that time could end; so it changes the client's own part and nothing else.

// private is what is known of a client's private step.
type private struct {
	asked bool
	there bool
	slot  uint8
	after uint32 // the number of the client's part after it
}

// privately takes the first private step that some client can make.
func (x *explorer) privately(s *state, f *form) (m move, after form, found bool, err error) {
	if x.config.Plain || x.canSpend(s, LostReply) {
		return move{}, form{}, false, nil
	}
	for i := range x.clients {
		p := &x.parts.of(f[i]).private
		if !p.asked {
			found, err := x.findPrivate(s, i)
			if err != nil {
				return move{}, form{}, false, err
			}
			p = &x.parts.of(f[i]).private
			*p = found
		}
		if p.there {
			after = *f
			after[i] = p.after
			return move{kind: moveTake, client: uint8(i), slot: p.slot}, after, true, nil
		}
	}
	return move{}, form{}, false, nil
}

// findPrivate finds the private step of a client.
func (x *explorer) findPrivate(s *state, i int) (p private, err error) {
	p.asked = true
	c := &s.clients[i]
	if c.phase == finished || c.phase == crashed || c.has(asleep|busy) {
		return p, nil
	}
	n := &x.automaton.nodes[c.node]
	for k := range n.tasks {
		if n.slots[k].kind != process.Request || c.replies[k] == 0 || c.due[k] != never {
			continue
		}
		in := input{inputReply, uint8(k), c.replies[k]}
		l, err := x.automaton.step(c.node, in, func() circumstances { return x.circumstances(s, i) })
		if errors.Is(err, errTokens) {
			p.asked = false // it depends on which are in use elsewhere
			continue
		}
		if err != nil {
			return p, err
		}
		if l.said != 0 || l.dropped != 0 || l.reads {
			continue
		}
		p.asked = p.asked && !l.draws
		after, quiet := &x.automaton.nodes[l.to], true
		for k := range after.tasks {
			quiet = quiet && (l.fresh&(1<<k) == 0 || after.slots[k].due == never)
		}
		if quiet {
			next := *c
			next.replies[k] = 0
			next.goes(l, after)
			return private{asked: p.asked, there: true, slot: uint8(k), after: x.parts.clients.number(&next)}, nil
		}
	}
	return p, nil
}
