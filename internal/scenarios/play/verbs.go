package play

import (
	"context"
	"fmt"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// call is a step being carried out; by is nil if the lab acts.
type call struct {
	cell *Cell
	by   *Handle
	step *scenarios.Step
}

// span is the step's length of time.
func (c call) span() time.Duration { return c.step.Span.Of(c.cell.Script.Lease) }

// verbs maps each verb that is no fault's to its effect, for every world.
var verbs = map[scenarios.Verb]func(call, context.Context) (scenarios.Result, error){
	scenarios.VerbOp: call.operate,
	scenarios.VerbRenews: func(c call, ctx context.Context) (scenarios.Result, error) {
		return c.by.renews(ctx, c.step.Breakpoints[0])
	},
	scenarios.VerbAwait: goesOn(busy, "%s has nothing in the background", func(h *Handle, ctx context.Context) (scenarios.Result, error) {
		h.forget() // the operation continues without the held request
		return h.settle(ctx, Ever)
	}),
	scenarios.VerbWaits:     goesOn(busy, "%s has nothing in the background", (*Handle).awaitAsked),
	scenarios.VerbWaitsLost: func(c call, ctx context.Context) (scenarios.Result, error) { return c.by.awaitLost(ctx) },
	scenarios.VerbTakesIn:   done(func(c call, ctx context.Context) error { return c.by.Client.Process.TakeIn(ctx, c.by) }),
	scenarios.VerbArrives:   goesOn(isLate, "nothing of %s is late", (*Handle).arrives),
	scenarios.VerbContinue: func(c call, ctx context.Context) (scenarios.Result, error) {
		letGo := func(h *Handle, ctx context.Context) (scenarios.Result, error) { return h.letGo(ctx, c.step.Async) }
		if c.by.heldUp == nil && isLate(c.by) {
			letGo = (*Handle).arrives
		}
		return goesOn(func(h *Handle) bool { return h.heldUp != nil || isLate(h) }, "nothing of %s is held up", letGo)(c, ctx)
	},
	scenarios.VerbTimesOut: goesOn(func(h *Handle) bool { return busy(h) && h.heldUp != nil }, "%s waits for nothing that is held", (*Handle).timeOut),
	scenarios.VerbGiveUp:   goesOn(busy, "%s has nothing to give up", (*Handle).giveUp),

	scenarios.VerbWaitFor:     done(func(c call, ctx context.Context) error { return c.cell.pass(ctx, c.span()) }),
	scenarios.VerbWaitExpired: call.waitExpired,
	scenarios.VerbWaitHalf:    call.waitHalfOver,
	scenarios.VerbWaitFreed:   call.waitFreed,
	scenarios.VerbWaitRenewed: call.waitRenewed,
	scenarios.VerbWaitRefused: call.waitRefused,

	// What prepares a fault, or is a form of one.
	scenarios.VerbSave:           done(call.save),
	scenarios.VerbHoldBack:       done(func(c call, ctx context.Context) error { return c.atReplicators(ctx, Replicator.HoldBack) }),
	scenarios.VerbRequireReplica: done(func(c call, ctx context.Context) error { return c.atReplicators(ctx, Replicator.RequireReplica) }),
	scenarios.VerbMigrateLock: done(func(c call, ctx context.Context) error {
		return c.whileLocked(ctx, ServerFault{Kind: faults.SlotMigration, LockOnly: true}, "the lock would migrate")
	}),
}

// begins are the faults that begin by more than their effect in a world.
var begins = map[faults.Kind]func(call, context.Context) error{
	faults.Pause: func(c call, ctx context.Context) error { return c.by.Client.Pause(ctx) },
	faults.Crash: call.crash,
	faults.ThreadDeath: func(c call, _ context.Context) error {
		c.by.threadDies()
		return nil
	},
	faults.Skew: func(c call, ctx context.Context) error { return c.by.Client.SetClock(ctx, c.span(), c.step.Rate) },
	faults.ClockJump: func(c call, ctx context.Context) error {
		return c.whileLocked(ctx, c.serverFault(faults.ClockJump), "the server's clock would jump")
	},
	faults.FailOver: func(c call, ctx context.Context) error {
		if err := c.ageCopies(ctx, c.span()); err != nil {
			return err
		}
		return c.strike(ctx, c.serverFault(faults.FailOver))
	},
	faults.Down: call.goDown,
}

// ends are the faults that end by more than that of their effect in a world.
var ends = map[faults.Kind]func(call, context.Context) error{
	faults.Pause: func(c call, ctx context.Context) error { return c.by.Client.Resume(ctx) },
	faults.Down:  call.comeBack,
}

// ofFault is what a verb of a fault does; nil: it begins and ends none.
func ofFault(verb scenarios.Verb) func(call, context.Context) error {
	f, ok := faults.BegunBy(string(verb))
	switch special := begins[f.Kind]; {
	case ok && special != nil:
		return special
	case ok && f.Target == faults.OnLink:
		return func(c call, ctx context.Context) error {
			return c.by.Client.Disturb(ctx, c.linkFault(f.Kind), c.step.Servers)
		}
	case ok && f.Target == faults.OnServer:
		return func(c call, ctx context.Context) error { return c.strike(ctx, c.serverFault(f.Kind)) }
	}
	f, ok = faults.EndedBy(string(verb))
	switch special := ends[f.Kind]; {
	case ok && special != nil:
		return special
	case ok && f.Target == faults.OnLink:
		return func(c call, ctx context.Context) error { return c.by.Client.Heal(ctx, c.step.Servers) }
	case ok && f.Target == faults.OnServer:
		return func(c call, ctx context.Context) error { return c.end(ctx, f) }
	}
	return nil
}

// serverFault is a fault of a server with what the step says of it.
func (c call) serverFault(kind faults.Kind) ServerFault {
	return ServerFault{Kind: kind, By: c.span(), Key: c.cell.LockKey, Held: c.step.HeldBack, Without: c.step.Without}
}

// linkFault is a fault of a link with what the step says of it.
func (c call) linkFault(kind faults.Kind) faults.LinkFault {
	return faults.LinkFault{Kind: kind, Direction: c.step.Direction, Each: c.span()}
}

// perform carries out a step.
func (c *Cell) perform(ctx context.Context, by *Handle, step *scenarios.Step) (scenarios.Result, error) {
	verb := verbs[step.Verb]
	if fault := ofFault(step.Verb); verb == nil && fault != nil {
		verb = done(fault)
	}
	if verb == nil {
		return "", fmt.Errorf("line %d: nothing carries out %q", step.Line, step.Text)
	}
	this := call{c, by, step}
	if step.OnWhichever() {
		server, err := this.whichever(ctx)
		if err != nil {
			return "", err
		}
		there := *step
		there.Servers = []string{server}
		this.step = &there
	}
	return verb(this, ctx)
}

// done is a verb whose result is always ResultDone.
func done(do func(call, context.Context) error) func(call, context.Context) (scenarios.Result, error) {
	return func(c call, ctx context.Context) (scenarios.Result, error) { return scenarios.ResultDone, do(c, ctx) }
}

// goesOn is a verb that goes on with an operation or a request. Where there is none, it ends the script.
func goesOn(there func(*Handle) bool, missing string, do func(*Handle, context.Context) (scenarios.Result, error)) func(call, context.Context) (scenarios.Result, error) {
	return func(c call, ctx context.Context) (scenarios.Result, error) {
		if !there(c.by) {
			return "", Undecided("line %d: "+missing, c.step.Line, c.by.Name)
		}
		return do(c.by, ctx)
	}
}

func busy(h *Handle) bool   { return h.pending != nil }
func isLate(h *Handle) bool { return len(h.late) > 0 }

func (c call) operate(ctx context.Context) (scenarios.Result, error) {
	op, err := c.by.Begin(c.step)
	if err != nil {
		return "", err
	}
	c.by.pending = op
	switch {
	case c.step.Async:
		return scenarios.ResultDone, nil
	case c.step.Op == history.OpRelease:
		return c.by.settleWithin(ctx, op.Within)
	}
	return c.by.settle(ctx, Ever)
}

func (c call) crash(ctx context.Context) error {
	if err := c.by.Client.Kill(ctx); err != nil {
		return err
	}
	for _, h := range c.by.Client.Handles {
		h.vanish()
	}
	return nil
}
