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
var verbs = map[scenarios.Verb]func(context.Context, call) (scenarios.Result, error){
	scenarios.VerbOp: func(ctx context.Context, c call) (scenarios.Result, error) { return c.operate(ctx) },
	scenarios.VerbRenews: func(ctx context.Context, c call) (scenarios.Result, error) {
		return c.by.renews(ctx, c.step.Breakpoints[0])
	},
	scenarios.VerbAwait: func(ctx context.Context, c call) (scenarios.Result, error) {
		if err := c.needs(c.by.pending != nil, "%s has nothing in the background"); err != nil {
			return "", err
		}
		c.by.forget() // the operation continues without the held request
		return c.by.settle(ctx, Ever)
	},
	scenarios.VerbWaits: func(ctx context.Context, c call) (scenarios.Result, error) {
		if err := c.needs(c.by.pending != nil, "%s has nothing in the background"); err != nil {
			return "", err
		}
		return c.by.awaitAsked(ctx)
	},
	scenarios.VerbWaitsLost: func(ctx context.Context, c call) (scenarios.Result, error) { return c.by.awaitLost(ctx) },
	scenarios.VerbTakesIn:   done(func(ctx context.Context, c call) error { return c.by.Client.Process.TakeIn(ctx, c.by) }),
	scenarios.VerbArrives: func(ctx context.Context, c call) (scenarios.Result, error) {
		if err := c.needs(len(c.by.late) > 0, "nothing of %s is late"); err != nil {
			return "", err
		}
		return c.by.arrives(ctx)
	},
	scenarios.VerbContinue: func(ctx context.Context, c call) (scenarios.Result, error) {
		if c.by.heldUp == nil && len(c.by.late) > 0 {
			return c.by.arrives(ctx)
		}
		if err := c.needs(c.by.heldUp != nil, "nothing of %s is held up"); err != nil {
			return "", err
		}
		return c.by.letGo(ctx, c.step.Async)
	},
	scenarios.VerbTimesOut: func(ctx context.Context, c call) (scenarios.Result, error) {
		if err := c.needs(c.by.pending != nil && c.by.heldUp != nil, "%s waits for nothing that is held"); err != nil {
			return "", err
		}
		return c.by.timeOut(ctx)
	},
	scenarios.VerbGiveUp: func(ctx context.Context, c call) (scenarios.Result, error) {
		if err := c.needs(c.by.pending != nil, "%s has nothing to give up"); err != nil {
			return "", err
		}
		return c.by.giveUp(ctx)
	},
	scenarios.VerbWaitFor:     done(func(ctx context.Context, c call) error { return c.cell.pass(ctx, c.span()) }),
	scenarios.VerbWaitExpired: func(ctx context.Context, c call) (scenarios.Result, error) { return c.cell.waitExpired(ctx) },
	scenarios.VerbWaitHalf:    func(ctx context.Context, c call) (scenarios.Result, error) { return c.cell.waitHalfOver(ctx) },
	scenarios.VerbWaitFreed:   func(ctx context.Context, c call) (scenarios.Result, error) { return c.cell.waitFreed(ctx) },
	scenarios.VerbWaitRenewed: func(ctx context.Context, c call) (scenarios.Result, error) { return c.cell.waitRenewed(ctx) },

	scenarios.VerbWaitRefused: func(ctx context.Context, c call) (scenarios.Result, error) { return c.cell.waitRefused(ctx) },

	// What prepares a fault, or is a form of one.
	scenarios.VerbSave:           done(func(ctx context.Context, c call) error { return c.cell.save(ctx, c.step.Servers) }),
	scenarios.VerbHoldBack:       done(func(ctx context.Context, c call) error { return c.cell.atReplicators(ctx, Replicator.HoldBack) }),
	scenarios.VerbRequireReplica: done(func(ctx context.Context, c call) error { return c.cell.atReplicators(ctx, Replicator.RequireReplica) }),
	scenarios.VerbMigrateLock:    done(func(ctx context.Context, c call) error { return c.cell.migrateLock(ctx) }),
}

// begins are the faults that begin by more than their effect in a world.
var begins = map[faults.Kind]func(context.Context, call) error{
	faults.Pause: func(ctx context.Context, c call) error { return c.by.Client.Pause(ctx) },
	faults.Crash: func(ctx context.Context, c call) error { return c.crash(ctx) },
	faults.ThreadDeath: func(_ context.Context, c call) error {
		c.by.threadDies()
		return nil
	},
	faults.Skew: func(ctx context.Context, c call) error { return c.by.Client.SetClock(ctx, c.span(), c.step.Rate) },
	faults.ClockJump: func(ctx context.Context, c call) error {
		return c.cell.whileLocked(ctx, c.cell.named(c.step.Servers), c.serverFault(faults.ClockJump), "the server's clock would jump")
	},
	faults.FailOver: func(ctx context.Context, c call) error {
		if err := c.cell.ageCopies(ctx, c.step.Servers, c.span()); err != nil {
			return err
		}
		return c.cell.strikeServers(ctx, c.cell.named(c.step.Servers), c.serverFault(faults.FailOver))
	},
	faults.Down: func(ctx context.Context, c call) error { return c.cell.goDown(ctx, c.step.Servers) },
}

// ends are the faults that end by more than that of their effect in a world.
var ends = map[faults.Kind]func(context.Context, call) error{
	faults.Pause: func(ctx context.Context, c call) error { return c.by.Client.Resume(ctx) },
	faults.Down:  func(ctx context.Context, c call) error { return c.cell.comeBack(ctx, c.step.Servers) },
}

// ofFault is what a verb of a fault does; nil: it begins and ends none.
func ofFault(verb scenarios.Verb) func(context.Context, call) error {
	f, ok := faults.BegunBy(string(verb))
	switch special := begins[f.Kind]; {
	case ok && special != nil:
		return special
	case ok && f.Target == faults.OnLink:
		return func(ctx context.Context, c call) error {
			return c.by.Client.Disturb(ctx, c.linkFault(f.Kind), c.step.Servers)
		}
	case ok && f.Target == faults.OnServer:
		return func(ctx context.Context, c call) error {
			return c.cell.strikeServers(ctx, c.cell.named(c.step.Servers), c.serverFault(f.Kind))
		}
	}
	f, ok = faults.EndedBy(string(verb))
	switch special := ends[f.Kind]; {
	case ok && special != nil:
		return special
	case ok && f.Target == faults.OnLink:
		return func(ctx context.Context, c call) error { return c.by.Client.Heal(ctx, c.step.Servers) }
	case ok && f.Target == faults.OnServer:
		return func(ctx context.Context, c call) error {
			return c.cell.recoverServers(ctx, c.cell.named(c.step.Servers), f)
		}
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
	if step.OnWhichever() {
		server, err := c.whichever(ctx, step)
		if err != nil {
			return "", err
		}
		there := *step
		there.Servers = []string{server}
		step = &there
	}
	return verb(ctx, call{c, by, step})
}

// done is a verb whose result is always ResultDone.
func done(do func(context.Context, call) error) func(context.Context, call) (scenarios.Result, error) {
	return func(ctx context.Context, c call) (scenarios.Result, error) { return scenarios.ResultDone, do(ctx, c) }
}

// needs ends the script unless there is an operation or request for the verb to continue.
func (c call) needs(there bool, format string) error {
	if there {
		return nil
	}
	return Undecided("line %d: "+format, c.step.Line, c.by.Name)
}

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
