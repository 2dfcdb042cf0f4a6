package explore

import (
	"errors"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/internal/sim/process"
)

// A private step is one that no other client can notice and no fault can prevent. It takes a reply after which the lock reports nothing to
// its user, gives nothing up, reads no clock and begins no wait that time could end; so it changes the client's own part and nothing else.
// Its order with the steps of others makes no difference, so it comes first, and by itself (partial-order reduction). No other task of the
// client may come before it: they share a memory. A reply of a server whose connections can still break may be lost instead, so to take it is not private.
//
// A client that cannot be paused any more, and whose clock cannot step, makes its step before time passes. Such a step may also read the
// clock, begin a wait, or be the end of a sleep.

// private is what is known of a client's private step.
type private struct {
	asked bool
	there bool
	slot  uint8
	wakes bool
	after uint32 // the number of the client's part after it
	reads bool   // all this is so only at the time that the client's clock shows
	shown learn.Reading
}

// privately takes the first private step that some client can make.
func (x *explorer) privately(s *state, f *form) (m move, after form, found bool, err error) {
	if x.config.Plain || x.canSpend(s, replyLost) || x.sessions && x.canSpend(s, partition) {
		return move{}, form{}, false, nil
	}
	awake, which := !x.canSpend(s, pause) && !x.canSpend(s, longHold) && !x.canStep(s), 0
	if awake {
		which = 1
	}
	tears := x.canTear(s)
	if tears {
		which += 2
	}
	list := &x.parts.privates[which]
	for i := range x.clients {
		p := entry(list, f[i])
		if !p.asked || p.reads && p.shown != x.reading(s, i) {
			found, err := x.findPrivate(s, i, awake, tears)
			if err != nil {
				return move{}, form{}, false, err
			}
			p = entry(list, f[i])
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

// findPrivate finds the private step of a client. Awake: it cannot be paused any more, and its clock cannot step. Tears: its connections can
// still break.
func (x *explorer) findPrivate(s *state, i int, awake, tears bool) (p private, err error) {
	p.asked, p.shown = true, x.reading(s, i)
	c := &s.clients[i]
	if c.phase == crashed || c.silence > 0 || c.cut || c.come != 0 || c.has(asleep|busy|deaf) || c.phase == finished && !awake {
		return p, nil
	}
	n := &x.automaton.Nodes[c.node]
	for k := range n.Tasks {
		in, may := c.privateInput(n, k, awake)
		if !may || c.isTorn(k) || tears && in.Kind == learn.InputReply && n.Slots[k].Server != process.Resource {
			continue
		}
		t, err := x.automaton.Step(c.node, in, p.shown, func() uint16 { return x.usedTokens(s).Of(i) })
		if errors.Is(err, learn.ErrTokens) {
			p.asked = false // it depends on which are in use elsewhere
			continue
		}
		if err != nil {
			return p, err
		}
		p.asked, p.reads = p.asked && !t.Draws, p.reads || t.Reads && awake
		after := &x.automaton.Nodes[t.To]
		if !t.Unnoticed(after, awake) {
			continue
		}
		next := *c
		next.replies[k] = 0
		next.moveTo(t, after, x.slow)
		x.resetFinished(&next, i)
		p.there, p.slot, p.wakes, p.after = true, uint8(k), in.Kind == learn.InputWake, x.parts.clients.number(&next)
		return p, nil
	}
	return p, nil
}

// privateInput is the input of a task whose step may be private.
func (c *client) privateInput(n *learn.Node, slot int, awake bool) (in learn.Input, may bool) {
	sl := n.Slots[slot]
	in = learn.Input{Kind: learn.InputReply, Slot: uint8(slot), Arg: c.replies[slot]}
	switch {
	case !c.alone(n, slot, awake):
		return in, false
	case sl.Kind == process.Request && c.replies[slot] != 0 && c.due[slot] == never:
		return in, true
	}
	in.Kind = learn.InputWake
	return in, awake && sl.Kind == process.Sleep && c.due[slot] <= 0
}

// alone says whether nothing that a client does can come before the step of one of its tasks; if it is awake, unless time passes.
func (c *client) alone(n *learn.Node, slot int, awake bool) bool {
	if n.Idle && (c.phase != finished || c.has(unsure)) {
		return false
	}
	for k, sl := range n.Slots[:n.Tasks] {
		if k == slot {
			continue
		}
		switch sl.Kind {
		case process.Request, process.Message:
			return false
		case process.Contact:
			if !awake {
				return false
			}
		}
		if sl.Kind == process.Sleep && (!awake || c.due[k] <= 0) {
			return false
		}
	}
	return true
}
