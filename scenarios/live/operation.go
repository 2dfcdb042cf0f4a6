package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/locklab/locklab/faults/tap"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/worker/protocol"
)

var verbs = map[history.Op]string{
	history.OpAcquire: protocol.Acquire,
	history.OpRelease: protocol.Release,
	history.OpRenew:   protocol.Renew,
	history.OpCheck:   protocol.Check,
	history.OpWork:    protocol.Work,
}

// begin sends the request of a step, with its traps armed first.
func (cl *client) begin(step *scenarios.Step) error {
	if cl.pending != nil {
		return cells.Undecided("line %d: %s is still busy with its %v", step.Line, cl.name, cl.pending.op)
	}
	c := cl.cell
	op := &operation{by: cl, id: c.nextID(), op: step.Op, forsaken: c.storm != nil}
	within := step.Within.Of(c.script.Lease)
	req := protocol.Request{ID: op.id, Do: verbs[step.Op], Handle: cl.handle}
	if step.Op == history.OpAcquire {
		req.WithinMS = milliseconds(within)
		req.Wait = c.world.cfg.Wait
	}
	if step.Op == history.OpWork {
		cl.store.order(&req)
	}
	op.traps = c.arm(cl.name, op, step.Traps)

	cl.mu.Lock()
	cl.asked[op.id] = op
	cl.mu.Unlock()
	cl.inFlight.Store(op)
	cl.pending = op
	c.rec.Add(cells.Called(cl.name, cl.lockKey, op.op, op.id, within))
	cl.Begin(step.Op)
	reply, err := cl.conn.Send(req)
	if err != nil {
		return cl.gone()
	}
	op.reply = reply
	return nil
}

// arm sets the traps of an operation.
func (c *cell) arm(client string, op *operation, traps []scenarios.Trap) []armed {
	arm := c.traps.Arm
	if op.op == history.OpWork {
		arm = c.resourceTap.Arm
	}
	var out []armed
	for _, trap := range traps {
		out = append(out, armed{Trap: arm(tap.Breakpoint{
			Client: client, Server: trap.Server, ID: op.id, Nth: trap.Nth, Match: cells.MatchOf(trap.What), Action: actions[trap.Do],
		}), want: trap})
	}
	return out
}

// renews waits until the client's lock renews itself in the background, for two leases at most, and stops that on the wire.
func (cl *client) renews(ctx context.Context, want scenarios.Trap) (scenarios.Result, error) {
	lease := cl.cell.script.Lease
	trap := armed{Trap: cl.cell.traps.Arm(tap.Breakpoint{
		Client: cl.name, ID: tap.Background, Nth: want.Nth, Match: cells.MatchOf(want.What), Action: actions[want.Do],
	}), want: want}
	timer := time.NewTimer(2 * lease)
	defer timer.Stop()
	select {
	case <-trap.Reached():
	case <-timer.C:
		trap.Disarm()
		return "", cells.NotApplicable("%s renewed nothing for two leases by %s", cl.name, cells.Describe(want))
	case <-ctx.Done():
		return "", cl.silent(ctx, "with a renewal")
	}
	cl.cell.fault(cells.TrapFault(want.Do), cl.name, history.PhaseEffective, strings.Join(trap.Args(), " "))
	cl.heldUp = &trap
	return scenarios.ResultHeldUp, nil
}

// settle waits until the pending operation has returned, or is held up with all its traps reached.
func (cl *client) settle(ctx context.Context) (scenarios.Result, error) {
	op := cl.pending
	for {
		var reached <-chan struct{}
		if len(op.traps) > 0 {
			reached = op.traps[0].Reached()
		}
		select {
		case <-reached:
			if cl.spring(op) {
				return scenarios.ResultHeldUp, nil
			}
		case msg, ok := <-op.reply:
			if !ok {
				return "", cl.gone()
			}
			return cl.finish(ctx, op, msg)
		case <-ctx.Done():
			return "", cl.silent(ctx, op.op.String())
		}
	}
}

// spring notes that the next trap of an operation has been reached. It says whether the operation is held up there.
func (cl *client) spring(op *operation) (heldUp bool) {
	trap := op.traps[0]
	op.traps = op.traps[1:]
	cl.cell.fault(cells.TrapFault(trap.want.Do), cl.name, history.PhaseEffective, strings.Join(trap.Args(), " "))
	switch trap.want.Do {
	case scenarios.HoldRequest, scenarios.HoldReply:
		cl.heldUp = &trap
		return true
	case scenarios.HoldCopy:
		cl.late = &trap
	case scenarios.DropReply:
		return len(op.traps) == 0
	}
	return false
}

// springReached notes the traps that the answered operation has met. Where one has, but a duplicate is still on its way, it waits.
func (cl *client) springReached(ctx context.Context, op *operation) error {
	for len(op.traps) > 0 {
		trap := op.traps[0]
		select {
		case <-trap.Delivered(): // before the client had its answer
			select {
			case <-trap.Reached():
			case <-ctx.Done():
				return cells.Undecided("%s of %s did not come to an end: %v", cells.TrapFault(trap.want.Do), cl.name, context.Cause(ctx))
			}
		case <-trap.Reached():
		default:
			return nil
		}
		cl.spring(op)
	}
	return nil
}

// finish takes note of the answer to the pending operation.
func (cl *client) finish(ctx context.Context, op *operation, msg protocol.Message) (scenarios.Result, error) {
	cl.pending = nil
	if msg.Unsupported && op.op == history.OpWork && cl.cell.store.Work != history.Counter {
		return "", cells.NotApplicable("%s", cells.LacksWork(cl.cell.store.Work))
	}
	if msg.Unsupported && op.op == history.OpAcquire && cl.cell.world.cfg.Wait != "" {
		cl.cell.lacks = fmt.Sprintf("the lock, or its client, cannot wait by %q", cl.cell.world.cfg.Wait)
		return "", cells.NotApplicable("%s", cl.cell.lacks)
	}
	if msg.Unsupported {
		return "", unsupported(cl.name, verbs[op.op])
	}
	if err := cl.springReached(ctx, op); err != nil {
		return "", err
	}
	missed := op.traps
	for _, trap := range missed {
		trap.Disarm()
	}
	outcome := outcomeOf(msg.Outcome)
	cl.Learn(op.op, outcome, cl.cell.traits.Reentrant)
	broken := cl.broken
	cl.broken = nil
	if err := cl.members[0].reconnect(ctx, broken); err != nil {
		return "", err
	}
	if len(missed) > 0 && !op.gaveUp.Load() {
		return "", cells.NotApplicable("%s's %v returned %v without %s", cl.name, op.op, outcome, cells.Describe(missed[0].want))
	}
	return cells.ResultOf(outcome), nil
}

// settleWithin settles the pending operation, and gives it up when so long has passed; zero: never.
func (cl *client) settleWithin(ctx context.Context, patience time.Duration) (scenarios.Result, error) {
	if patience == 0 {
		return cl.settle(ctx)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	op := cl.pending
	select {
	case msg, ok := <-op.reply:
		if !ok {
			return "", cl.gone()
		}
		return cl.finish(ctx, op, msg)
	case <-timer.C:
		return cl.giveUp(ctx)
	case <-ctx.Done():
		return "", cl.silent(ctx, op.op.String())
	}
}

// letGo lets go what is held of an operation, and waits for the operation to come to something, unless that is to happen in the
// background. A renewal that nobody waits for has been let go when the server has carried it out.
func (cl *client) letGo(ctx context.Context, inBackground bool) (scenarios.Result, error) {
	held := cl.heldUp
	cl.heldUp = nil
	cl.cell.fault(cells.TrapFault(held.want.Do), cl.name, history.PhaseRecover, strings.Join(held.Args(), " "))
	held.Release()
	switch {
	case inBackground:
		return scenarios.ResultDone, nil
	case cl.pending != nil:
		return cl.settle(ctx)
	}
	return cl.delivered(ctx, held)
}

// timeOut waits until the client takes what is held for lost, for a lease at most, and its operation comes to something without.
func (cl *client) timeOut(ctx context.Context) (scenarios.Result, error) {
	cl.forget()
	bound := cl.cell.script.Lease
	patience, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	result, err := cl.settle(patience)
	if err != nil && patience.Err() != nil && ctx.Err() == nil {
		return "", cells.NotApplicable("%s waits for more than %v for what is held", cl.name, bound)
	}
	return result, err
}

// arrives lets go what no operation waits for, and waits until the server has carried it out.
func (cl *client) arrives(ctx context.Context) (scenarios.Result, error) {
	held := cl.late
	cl.late = nil
	cl.cell.fault(cells.TrapFault(held.want.Do), cl.name, history.PhaseRecover, strings.Join(held.Args(), " "))
	held.Release()
	return cl.delivered(ctx, held)
}

func (cl *client) delivered(ctx context.Context, held *armed) (scenarios.Result, error) {
	select {
	case <-held.Delivered():
		return scenarios.ResultDone, nil
	case <-ctx.Done():
		return "", cells.Undecided("the held request of %s was not delivered: %v", cl.name, context.Cause(ctx))
	}
}

// giveUp orders the client to cancel its operation, and waits for the answer.
func (cl *client) giveUp(ctx context.Context) (scenarios.Result, error) {
	op := cl.pending
	op.gaveUp.Store(true)
	if _, err := cl.ask(ctx, protocol.Request{Do: protocol.Cancel, Op: op.id}); err != nil {
		return "", err
	}
	select {
	case msg, ok := <-op.reply:
		if !ok {
			return "", cl.gone()
		}
		result, err := cl.finish(ctx, op, msg)
		cl.forget()
		return result, err
	case <-ctx.Done():
		return "", cl.silent(ctx, protocol.Cancel)
	}
}

// forget turns what is held of an operation into something late: the operation does not wait for it any more.
func (cl *client) forget() {
	if cl.heldUp != nil {
		cl.late, cl.heldUp = cl.heldUp, nil
	}
}
