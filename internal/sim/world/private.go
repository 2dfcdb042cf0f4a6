package world

import (
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/process"
)

// A private step is one that no other client can notice and no fault can prevent. It takes a reply after which the lock reports nothing to its
// user, gives nothing up, reads no clock and begins no wait that time could end: so it changes the client's own part and nothing else. Its order
// with the steps of others makes no difference, so it comes first, and by itself (partial-order reduction). No other task of the client may
// come before it: they share a memory. A reply of a server whose connections can still break may be lost instead, so to take it is not private.
//
// A client that cannot be paused any more, and whose clock cannot step, makes its step before time passes. Such a step may also begin a wait, or be the end
// of a sleep, or begin the work of a holder.

// harmless are the faults that may still strike while a client makes a private step: each comes to the same before it and after it.
var harmless = [...]faults.Kind{
	faults.Pause, faults.LongHold, faults.Crash, faults.LateRequest, faults.Duplicate, faults.ClockAhead, faults.ClockBehind, faults.StepAhead, faults.StepBack,
	faults.ClockJump, faults.ClockBack, faults.Restart, faults.FailOver,
}

// private is what is known of a client's private step.
type private struct {
	asked, there bool
	choice       Choice
}

// circumstances are what it depends on beside the client whether its step is private, in bits.
type circumstances uint8

const (
	awake circumstances = 1 << iota // it cannot be paused any more, and its clock cannot step
	tears                           // its connections to servers can still break
)

// Privately is the first private step that some client can make.
func (s *Space) Privately(r *State) (o Choice, there bool, err error) {
	in := s.parts.struck(r).in
	if in == nil {
		return o, false, nil
	}
	for i := range s.Clients {
		p := s.parts.client(r, i)
		step := &p.private[*in]
		if !step.asked {
			if *step, err = s.findPrivate(r, &p.c, i, *in); err != nil {
				return o, false, err
			}
		}
		if step.there {
			return step.choice, true, nil
		}
	}
	return o, false, nil
}

// circumstances are those after some faults; nil: no step is private.
func (p *player) circumstances(k struck) *circumstances {
	if p.sessions || p.Without.Public {
		return nil
	}
	in := awake
	for _, kind := range p.budget.kinds {
		switch may := p.budget.may(&k, kind, 1); {
		case !may:
		case !slices.Contains(harmless[:], kind):
			return nil
		case kind == faults.Restart, kind == faults.FailOver:
			in |= tears
		case kind == faults.Pause, kind == faults.LongHold, kind == faults.StepAhead, kind == faults.StepBack:
			in &^= awake
		}
	}
	return &in
}

// findPrivate finds the private step of a client.
func (s *Space) findPrivate(r *State, c *client, i int, in circumstances) (found private, err error) {
	found = private{asked: true, choice: Choice{client: uint8(i)}}
	if c.phase == crashed || c.paused || c.busy || c.deaf {
		return found, nil
	}
	if in == awake && len(c.travel) == 0 && s.player.next(c) == history.OpWork && c.alone(noTask, true) { // what is on its way counts as part of it
		found.choice.kind = calls
		found.there, err = s.unnoticed(r, c, noTask, past.Input{Kind: past.Call, Op: history.OpWork}, in)
		return found, err
	}
	if !c.at.Busy && (s.player.next(c) != history.OpNone || c.mayReleaseAgain()) {
		return found, nil // its user may come first
	}
	for _, wait := range c.at.Waits {
		given, may := c.givenAlone(&wait, in)
		if !may {
			continue
		}
		if found.there, err = s.unnoticed(r, c, wait.Task, given, in); found.there || err != nil {
			if found.choice.kind = takes; given.Kind == past.Wake {
				found.choice.kind = wakes
			}
			found.choice.task = uint8(wait.Task)
			return found, err
		}
	}
	return found, nil
}

// givenAlone is what a task may be given while nothing else can come before that.
func (c *client) givenAlone(wait *process.Wait, in circumstances) (given past.Input, may bool) {
	if !c.alone(wait.Task, in&awake != 0) {
		return given, false
	}
	due := c.dueAt(wait.Task)
	if wait.Kind == process.Sleep {
		return past.Input{Kind: past.Wake, Task: wait.Task}, in == awake && due <= 0
	}
	at := c.answer(wait.Task)
	if wait.Kind != process.Request || at < 0 || c.torn.has(wait.Task) || in&tears != 0 && wait.Server != process.Resource {
		return given, false
	}
	return past.Input{Kind: past.Reply, Task: wait.Task, Replies: c.answers[at].replies}, due == never || in&awake != 0 && due > 0
}

// noTask is none of a client's.
const noTask = -1

// alone says whether nothing that a client's tasks do can come before the step of one of them; if it is awake, unless time passes.
func (c *client) alone(task int, awake bool) bool {
	return !slices.ContainsFunc(c.at.Waits, func(w process.Wait) bool {
		return w.Task != task && !(awake && w.Kind == process.Sleep && c.dueAt(w.Task) > 0)
	})
}

// unnoticed says whether nobody can notice that a client is given that.
func (s *Space) unnoticed(r *State, c *client, task int, given past.Input, in circumstances) (bool, error) {
	after, err := s.player.past.After(c.at, given, s.player.shown(&world{now: int(r.now)}, c))
	if err != nil || after.Reads || len(after.Notices) > 0 {
		return false, err
	}
	for _, old := range c.at.Waits {
		if old.Task != task && !after.Awaits(&old) {
			return false, nil
		}
	}
	now := after.Wait(task)
	if in&awake != 0 {
		return now == nil || now.Kind == process.Request || now.Kind == process.Sleep, nil
	}
	return now != nil && now.Kind == process.Request && now.Timer == 0, nil
}
