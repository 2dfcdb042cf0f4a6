package scenarios

import (
	"fmt"

	"github.com/locklab/locklab/history"
)

// actor follows what a client may do at a point of a script. Lines are zero where a thing is not so.
type actor struct {
	name     string
	appeared bool
	acquired bool // it has tried to
	crashed  int
	paused   int
	pending  *Step // the operation under way
	// traps are those of the pending operation that it has not reached.
	traps []Trap
	// unseen: the pending operation is in the background, so nobody knows yet how far it has come.
	unseen bool
	held   bool // a request or reply is held on the wire
	link   trouble
}

// trouble is what is wrong with a client's link, and since which line.
type trouble struct {
	line int
	what string // "" where the script may leave it so
}

func (a *actor) act(step Step) error {
	a.appeared = true
	if a.crashed > 0 {
		return fmt.Errorf("%s crashed on line %d and does nothing any more", a.name, a.crashed)
	}
	switch step.Verb {
	case VerbResume:
		if a.paused == 0 {
			return fmt.Errorf("%s is not paused", a.name)
		}
		a.paused = 0
		return nil
	case VerbCrash:
		*a = actor{name: a.name, appeared: true, crashed: step.Line}
		return nil
	case VerbCutOff, VerbRefuse, VerbLoseReplies, VerbDelay, VerbHeal:
		return a.onLink(step)
	}
	if a.paused > 0 {
		return fmt.Errorf("%s has been paused since line %d and can do nothing; put '%s resume' before", a.name, a.paused, a.name)
	}
	switch step.Verb {
	case VerbPause:
		a.paused = step.Line
	case VerbOp:
		return a.start(step)
	case VerbAwait:
		return a.await()
	case VerbContinue:
		return a.goOn()
	case VerbGiveUp:
		return a.giveUp()
	}
	return nil
}

func (a *actor) onLink(step Step) error {
	switch step.Verb {
	case VerbCutOff:
		a.link = trouble{step.Line, "cut off"}
	case VerbRefuse:
		a.link = trouble{step.Line, "refused its connections"}
	case VerbLoseReplies:
		a.link = trouble{step.Line, "losing replies"}
	case VerbDelay:
		a.link = trouble{line: step.Line}
	case VerbHeal:
		if a.link.line == 0 {
			return fmt.Errorf("there is nothing to heal; %s's link is whole", a.name)
		}
		a.link = trouble{}
	}
	return nil
}

func (a *actor) start(step Step) error {
	if a.pending != nil {
		return fmt.Errorf("%s's operation of line %d is still under way; %s", a.name, a.pending.Line, a.wayOn())
	}
	if step.Op == history.OpAcquire {
		a.acquired = true
	}
	if !a.acquired {
		return fmt.Errorf("%s has acquired nothing, so this step would always be skipped", a.name)
	}
	a.pending, a.traps, a.unseen = &step, step.Traps, step.Async
	if !a.unseen {
		a.run()
	}
	return nil
}

// run lets the pending operation come to its next hold, or to its last trap, or to its end.
func (a *actor) run() {
	waits := false
	for len(a.traps) > 0 {
		trap := a.traps[0]
		a.traps = a.traps[1:]
		if trap.Do == HoldRequest || trap.Do == HoldReply {
			a.held = true
			return
		}
		waits = trap.Do == DropReply
	}
	if !waits {
		a.pending = nil
	}
}

func (a *actor) await() error {
	switch {
	case a.pending == nil:
		return fmt.Errorf("%s has nothing under way to wait for; an operation 'in background' comes first", a.name)
	case a.unseen:
		a.unseen = false
		a.run()
	case a.held:
		return fmt.Errorf("%s's operation of line %d is held up and will not end by itself; write '%s continue'", a.name, a.pending.Line, a.name)
	default:
		a.pending = nil
	}
	return nil
}

func (a *actor) goOn() error {
	switch {
	case a.unseen:
		return fmt.Errorf("nobody knows yet whether %s is held up; write '%s await => held-up' first", a.name, a.name)
	case !a.held:
		return fmt.Errorf("nothing of %s is held here; a breakpoint such as 'hold before first DEL' comes first", a.name)
	}
	a.held = false
	if a.pending != nil {
		a.run()
	}
	return nil
}

func (a *actor) giveUp() error {
	if a.pending == nil {
		return fmt.Errorf("%s has nothing under way to give up", a.name)
	}
	for _, trap := range a.traps {
		a.held = a.held || trap.Do == HoldRequest || trap.Do == HoldReply
	}
	a.pending, a.traps, a.unseen = nil, nil, false
	return nil
}

// wayOn says what ends the pending operation.
func (a *actor) wayOn() string {
	if a.held {
		return fmt.Sprintf("'%s continue' or '%s give up' comes first", a.name, a.name)
	}
	return fmt.Sprintf("'%s await' or '%s give up' comes first", a.name, a.name)
}

// end complains about what the script leaves open.
func (a *actor) end(s *Script, wrong *complaints) {
	if a.paused > 0 {
		wrong.add(a.paused, "%s is still paused at the end; add '%s resume' or '%s crash'", a.name, a.name, a.name)
	}
	if a.link.what != "" {
		wrong.add(a.link.line, "%s is still %s at the end; add '%s heal'", a.name, a.link.what, a.name)
	}
	if a.pending != nil {
		wrong.add(a.pending.Line, "%s's operation is still under way at the end; %s", a.name, a.wayOn())
	}
	if !a.appeared {
		wrong.add(s.Steps[0].Line, "%s is declared but does nothing; take it out of 'clients'", a.name)
	}
}
