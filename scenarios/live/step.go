package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
)

// step carries out one line of the script and compares what it came to with what must be seen.
func (c *cell) step(ctx context.Context, step *scenarios.Step) error {
	cl := c.clients[step.Client] // nil where the lab acts
	if cl != nil && cl.Skips(step) {
		c.note(step, step.Text+"  (skipped: "+cl.name+" does not hold the lock)")
		return nil
	}
	c.note(step, step.Text)
	began := c.world.since()
	result, err := c.perform(ctx, cl, step)
	if err != nil {
		return err
	}
	if err := c.inTime(step, c.world.since()-began); err != nil {
		return err
	}
	if len(step.Want) == 0 || slices.Contains(step.Want, result) {
		return nil
	}
	if c.busy > c.script.Lease/c.slices() { // a lease may have ended that should not have, or a time-out
		return cells.Stalled("line %d: %q came to %s, on a machine that was slow", step.Line, step.Text, result)
	}
	return cells.PremiseMissed("line %d: %q came to %s", step.Line, step.Text, result)
}

// inTime ends a script on a machine so slow that a lease may have ended by itself: one step took more than a quarter of it, or
// all since the last wait together more than half.
func (c *cell) inTime(step *scenarios.Step, took time.Duration) error {
	if step.Waits() {
		c.busy = 0
		return nil
	}
	c.busy += took
	switch lease := c.script.Lease; {
	case took > lease/4:
		return cells.Stalled("the machine stalled: line %d took %v, more than a quarter of the lease", step.Line, took.Round(time.Millisecond))
	case c.busy > lease/2:
		return cells.Stalled("the machine was slow: up to line %d the steps took %v, more than half the lease", step.Line, c.busy.Round(time.Millisecond))
	}
	return nil
}

// slices is into how many parts of its lease a lock may cut it: where there are several servers, it waits a tenth for each.
func (c *cell) slices() time.Duration {
	if len(c.servers) > 1 {
		return 10
	}
	return 4
}

func (c *cell) note(step *scenarios.Step, text string) {
	c.rec.Add(history.Event{Kind: history.KindStep, Client: step.Client, Detail: &history.Detail{Line: step.Line, Text: text}})
}

// perform does what a step says.
func (c *cell) perform(ctx context.Context, cl *client, step *scenarios.Step) (scenarios.Result, error) {
	switch step.Verb {
	case scenarios.VerbOp:
		if err := cl.begin(step); err != nil || step.Async {
			return scenarios.ResultDone, err
		}
		if step.Op == history.OpRelease {
			return cl.settleWithin(ctx, step.Within.Of(c.script.Lease))
		}
		return cl.settle(ctx)
	case scenarios.VerbRenews:
		return cl.renews(ctx, step.Traps[0])
	case scenarios.VerbAwait:
		if cl.pending == nil {
			return "", cells.Undecided("line %d: %s has nothing in the background", step.Line, cl.name)
		}
		cl.forget() // it goes on by itself
		return cl.settle(ctx)
	case scenarios.VerbArrives:
		if cl.late == nil {
			return "", cells.Undecided("line %d: nothing of %s is late", step.Line, cl.name)
		}
		return cl.arrives(ctx)
	case scenarios.VerbContinue:
		if cl.heldUp == nil && cl.late != nil {
			return cl.arrives(ctx)
		}
		if cl.heldUp == nil {
			return "", cells.Undecided("line %d: nothing of %s is held up", step.Line, cl.name)
		}
		return cl.letGo(ctx, step.Async)
	case scenarios.VerbTimesOut:
		if cl.pending == nil || cl.heldUp == nil {
			return "", cells.Undecided("line %d: %s waits for nothing that is held", step.Line, cl.name)
		}
		return cl.timeOut(ctx)
	case scenarios.VerbGiveUp:
		if cl.pending == nil {
			return "", cells.Undecided("line %d: %s has nothing to give up", step.Line, cl.name)
		}
		return cl.giveUp(ctx)
	case scenarios.VerbWaits:
		if cl.pending == nil {
			return "", cells.Undecided("line %d: %s has nothing in the background", step.Line, cl.name)
		}
		return cl.awaitAsked(ctx)
	case scenarios.VerbWaitExpired:
		return c.waitExpired(ctx)
	case scenarios.VerbWaitHalf:
		return c.waitHalfOver(ctx)
	case scenarios.VerbWaitFreed:
		return c.waitFreed(ctx)
	case scenarios.VerbWaitRenewed:
		return c.waitRenewed(ctx)
	case scenarios.VerbServerJump:
		return scenarios.ResultDone, c.jumpClock(ctx, step.Servers, step.Span.Of(c.script.Lease))
	case scenarios.VerbOperator:
		return scenarios.ResultDone, c.limitLock(ctx, step.Span.Of(c.script.Lease))
	case scenarios.VerbRestart:
		return scenarios.ResultDone, c.restart(ctx, step.Servers, c.restartEmpty)
	case scenarios.VerbSave:
		return scenarios.ResultDone, c.save(ctx, step.Servers)
	case scenarios.VerbRestartSaved:
		return scenarios.ResultDone, c.restart(ctx, step.Servers, c.restartSaved)
	}
	return scenarios.ResultDone, cl.suffer(ctx, step, c.script.Lease)
}

// suffer does to a client, its clock or its link what a step says.
func (cl *client) suffer(ctx context.Context, step *scenarios.Step, lease time.Duration) error {
	switch step.Verb {
	case scenarios.VerbPause:
		return cl.pause(ctx)
	case scenarios.VerbResume:
		return cl.resume(ctx)
	case scenarios.VerbCrash:
		return cl.crash(ctx)
	case scenarios.VerbThreadDies:
		cl.loseThread()
		return nil
	case scenarios.VerbClock:
		return cl.setClock(ctx, step.Span.Of(lease), step.Rate)
	case scenarios.VerbHeal:
		return cl.heal(ctx, step.Servers)
	}
	if fault, ok := linkFault(step, lease); ok {
		return cl.disturb(ctx, fault, step.Servers)
	}
	return fmt.Errorf("line %d: the live world does not know how to %q", step.Line, step.Text)
}
