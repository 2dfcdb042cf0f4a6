package sim

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
)

// step carries out one line of the script and compares what it came to with what must be seen.
func (c *cell) step(step *scenarios.Step) error {
	if err := c.pass(stride); err != nil {
		return err
	}
	cl := c.clients[step.Client] // nil where the lab acts
	if cl != nil && cl.Skips(step) {
		c.note(step, step.Text+"  (skipped: "+cl.name+" does not hold the lock)")
		return nil
	}
	c.note(step, step.Text)
	result, err := c.perform(cl, step)
	if err != nil {
		return err
	}
	if len(step.Want) == 0 || slices.Contains(step.Want, result) {
		return nil
	}
	return cells.PremiseMissed("line %d: %q came to %s", step.Line, step.Text, result)
}

func (c *cell) note(step *scenarios.Step, text string) {
	c.rec.Add(history.Event{Kind: history.KindStep, Client: step.Client, Detail: &history.Detail{Line: step.Line, Text: text}})
}

// perform does what a step says.
func (c *cell) perform(cl *client, step *scenarios.Step) (scenarios.Result, error) {
	lease := c.script.Lease
	switch step.Verb {
	case scenarios.VerbOp:
		if err := cl.start(step); err != nil || step.Async {
			return scenarios.ResultDone, err
		}
		if step.Op == history.OpRelease {
			return cl.settleWithin(step.Within.Of(lease))
		}
		return cl.settle()
	case scenarios.VerbRenews:
		return cl.renews(step.Traps[0])
	case scenarios.VerbAwait, scenarios.VerbWaits:
		if cl.pending == nil {
			return "", cells.Undecided("line %d: %s has nothing in the background", step.Line, cl.name)
		}
		if step.Verb == scenarios.VerbWaits {
			return cl.awaitAsked()
		}
		return cl.settle()
	case scenarios.VerbContinue:
		if cl.heldUp == nil {
			return "", cells.Undecided("line %d: nothing of %s is held up", step.Line, cl.name)
		}
		return cl.letGo(step.Async)
	case scenarios.VerbGiveUp:
		if cl.pending == nil {
			return "", cells.Undecided("line %d: %s has nothing to give up", step.Line, cl.name)
		}
		return cl.giveUp()
	case scenarios.VerbWaitExpired:
		return c.waitExpired()
	case scenarios.VerbWaitHalf:
		return c.waitHalfOver()
	case scenarios.VerbWaitFreed:
		return c.waitFreed()
	case scenarios.VerbWaitRenewed:
		return c.waitRenewed()
	case scenarios.VerbServerJump:
		return scenarios.ResultDone, c.jumpClock(step.Servers, step.Span.Of(lease))
	case scenarios.VerbOperator:
		return scenarios.ResultDone, c.limitLock(step.Span.Of(lease))
	case scenarios.VerbRestart:
		c.restart(step.Servers, (*server).restart, "without its data", "the server answers again, and is empty")
		return scenarios.ResultDone, nil
	case scenarios.VerbSave:
		for _, s := range c.named(step.Servers) {
			s.saved = s.model.Clone()
		}
		return scenarios.ResultDone, nil
	case scenarios.VerbRestartSaved:
		c.restart(step.Servers, (*server).restartSaved, "with what it has saved", "the server answers again, with what it had saved")
		return scenarios.ResultDone, nil
	}
	return scenarios.ResultDone, cl.suffer(step)
}

// suffer does to a client, its clock or its link what a step says.
func (cl *client) suffer(step *scenarios.Step) error {
	lease := cl.cell.script.Lease
	switch step.Verb {
	case scenarios.VerbPause:
		cl.pause()
	case scenarios.VerbResume:
		cl.unpause()
	case scenarios.VerbCrash:
		cl.crash()
	case scenarios.VerbThreadDies:
		cl.loseThread()
	case scenarios.VerbClock:
		cl.setClock(step.Span.Of(lease), step.Rate)
	case scenarios.VerbHeal:
		return cl.heal(step.Servers)
	default:
		fault, ok := linkFaultOf(step, lease)
		if !ok {
			return fmt.Errorf("line %d: the model does not know how to %q", step.Line, step.Text)
		}
		cl.disturb(fault, step.Servers)
	}
	return nil
}
