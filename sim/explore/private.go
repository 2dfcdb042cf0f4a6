package explore

import (
	"errors"

	"github.com/locklab/locklab/sim/process"
)

// A private step is one that nobody but its client can notice, and that no fault can prevent: in which order it comes with those of
// others makes no difference, so it comes first, and by itself. It takes a reply to which the lock answers nothing to its user, gives
// nothing up, asks no clock and begins no wait that time could end; so it changes the client's own part and nothing else. No other task
// of the client may come before it: they share a memory.
//
// Who cannot be paused any more makes its step before time passes. Then it may also ask the clock, begin a wait, or be the end of a sleep.

// private is what is known of a client's private step.
type private struct {
	asked bool
	there bool
	slot  uint8
	wakes bool
	after uint32 // the number of the client's part after it
	reads bool   // all this is so only at the time that the client's clock shows
	clock ms
}

// privately takes the first private step that some client can make.
func (x *explorer) privately(s *state, f *form) (m move, after form, found bool, err error) {
	if x.config.Plain || x.canSpend(s, replyLost) {
		return move{}, form{}, false, nil
	}
	awake, which := !x.canSpend(s, pause) && !x.canSpend(s, longHold), 0
	if awake {
		which = 1
	}
	for i := range x.clients {
		p := &x.parts.of(f[i]).private[which]
		if !p.asked || p.reads && p.clock != x.clock(s, i) {
			found, err := x.findPrivate(s, i, awake)
			if err != nil {
				return move{}, form{}, false, err
			}
			p = &x.parts.of(f[i]).private[which]
			*p = found
		}
		if p.there {
			after = *f
			after[i] = p.after
			m = move{kind: moveTake, client: uint8(i), slot: p.slot}
			if p.wakes {
				m.kind = moveWake
			}
			return m, after, true, nil
		}
	}
	return move{}, form{}, false, nil
}

// findPrivate finds the private step of a client. Awake: it cannot be paused any more.
func (x *explorer) findPrivate(s *state, i int, awake bool) (p private, err error) {
	p.asked, p.clock = true, x.clock(s, i)
	c := &s.clients[i]
	if c.phase == crashed || c.has(asleep|busy) {
		return p, nil
	}
	n := &x.automaton.nodes[c.node]
	for k, sl := range n.slots[:n.tasks] {
		in := input{inputReply, uint8(k), c.replies[k]}
		switch {
		case c.phase == finished && !awake || !c.alone(n, k, awake):
			continue
		case sl.kind == process.Request && c.replies[k] != 0 && c.due[k] == never:
		case awake && sl.kind == process.Sleep && c.due[k] <= 0:
			in.kind = inputWake
		default:
			continue
		}
		l, err := x.automaton.step(c.node, in, x.clock(s, i), func() uint16 { return x.usedTokens(s).of(i) })
		if errors.Is(err, errTokens) {
			p.asked = false // it depends on which are in use elsewhere
			continue
		}
		if err != nil {
			return p, err
		}
		p.asked, p.reads = p.asked && !l.draws, p.reads || l.reads && awake
		if l.said != 0 || l.dropped != 0 || l.reads && !awake {
			continue
		}
		after, quiet := &x.automaton.nodes[l.to], true
		for k := range after.tasks {
			quiet = quiet && (awake || l.fresh&(1<<k) == 0 || after.slots[k].due == never)
		}
		if quiet {
			next := *c
			next.replies[k] = 0
			next.goes(l, after)
			p.there, p.slot, p.wakes, p.after = true, uint8(k), in.kind == inputWake, x.parts.clients.number(&next)
			return p, nil
		}
	}
	return p, nil
}

// alone says whether nothing that a client does can come before the step of one of its tasks; if it is awake, unless time passes.
func (c *client) alone(n *node, slot int, awake bool) bool {
	if n.idle && c.phase != finished {
		return false
	}
	for k, sl := range n.slots[:n.tasks] {
		if k != slot && (sl.kind == process.Request || sl.kind == process.Sleep && (!awake || c.due[k] <= 0)) {
			return false
		}
	}
	return true
}
