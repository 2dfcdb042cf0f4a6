package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/impls/waiting"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/sim/process"
	"github.com/locklab/locklab/worker/work"
)

// operation is a request that the script made of a client.
type operation struct {
	id       int64
	op       history.Op
	task     int
	traps    []*trap // those not yet reached, in the order of the script
	gaveUp   bool
	answer   cells.Answer
	answered bool
	lacking  string // what the lock lacks for it
}

// start begins the operation of a step, with its traps armed first.
func (cl *client) start(step *scenarios.Step) error {
	if cl.pending != nil {
		return cells.Undecided("line %d: %s is still busy with its %v", step.Line, cl.name, cl.pending.op)
	}
	c := cl.cell
	c.ids++
	op := &operation{id: c.ids, op: step.Op}
	within := step.Within.Of(c.script.Lease)
	for _, want := range step.Traps {
		op.traps = append(op.traps, c.arm(cl.name, op.id, op.op == history.OpWork, want))
	}
	cl.pending, cl.inFlight = op, op
	c.rec.Add(cells.Called(cl.name, cl.lockKey, op.op, op.id, within))
	cl.Begin(op.op)
	cl.hand(func() {
		op.task = cl.proc.Call(cl.name, op.op, func(ctx process.Context, lock impls.Lock) process.Answer {
			op.answer = cl.carryOut(ctx, lock, op, within)
			return process.Answer{Outcome: op.answer.Outcome}
		})
	})
	return nil
}

// carryOut is what the client does for an operation. It runs in the process.
func (cl *client) carryOut(ctx process.Context, lock impls.Lock, op *operation, within time.Duration) cells.Answer {
	switch op.op {
	case history.OpAcquire:
		held, err := cl.acquire(ctx, lock, op, within)
		return declare(lock, held, err)
	case history.OpRelease:
		return settled(lock.Release(ctx.Ctx()))
	case history.OpRenew:
		held, err := lock.(impls.Renewer).Renew(ctx.Ctx())
		return declare(lock, held, err)
	case history.OpCheck:
		return settled(lock.(impls.Checker).Held(ctx.Ctx()))
	}
	task := work.Task{
		Resource: cl.proc.ResourceOf(cl.name), Shared: cl.proc.Env(cl.name).Shared, Client: cl.peer.name, Key: cl.data.Key,
		Stock: cl.data.Stock, Item: cl.data.Item,
	}
	return worked(task.Under(lock).Do(ctx.Ctx(), cl.data.Work))
}

// acquire tries for some time, which is real unless the lock measures it: a client whose clock is wrong is to wait no longer and no shorter
// for it.
func (cl *client) acquire(ctx process.Context, lock impls.Lock, op *operation, within time.Duration) (bool, error) {
	way, why := waiting.For(cl.cell.world.cfg.Wait, lock)
	if why != "" {
		op.lacking = why
		return false, nil
	}
	env := cl.proc.Env(cl.name)
	if within == 0 {
		return waiting.Acquire(ctx.Ctx(), ended(), env, lock, way)
	}
	if timed, ok := lock.(impls.SelfTimed); ok {
		return waiting.Acquire(ctx.Ctx(), ctx.Ctx(), env, lock, cl.paced(waiting.ByLock(way, timed, within)))
	}
	patience, timer := ctx.Fork()
	cl.cell.after(within, func() { cl.expire(timer) })
	return waiting.Acquire(ctx.Ctx(), patience.Ctx(), env, lock, cl.paced(way))
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// paced is a way to wait by which time goes on: a client that tries again at once, and asks nobody, would try for ever in one moment.
func (cl *client) paced(way waiting.Way) waiting.Way {
	return func(env impls.Env, lock impls.Lock) waiting.Waiter {
		return &pacer{Waiter: way(env, lock), env: env, cell: cl.cell, last: -1}
	}
}

type pacer struct {
	waiting.Waiter
	env  impls.Env
	cell *cell
	last time.Duration // when the last wait ended
}

func (p *pacer) Wait(ctx context.Context) error {
	err := p.Waiter.Wait(ctx)
	if err == nil && p.cell.now == p.last {
		err = p.env.Sleep(ctx, hop)
	}
	p.last = p.cell.now
	return err
}

// settled is the answer to an operation that returned ok and err.
func settled(ok bool, err error) cells.Answer {
	answer := cells.Answer{Outcome: impls.Outcome(ok, err)}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

// declare is the answer to an operation that began or prolonged a hold, with its validity and its fence where the lock has them.
func declare(lock impls.Lock, held bool, err error) cells.Answer {
	answer := settled(held, err)
	if limited, ok := lock.(impls.Limited); ok && answer.Outcome == history.OK {
		valid := limited.Valid()
		answer.Valid = &valid
	}
	if fencer, ok := lock.(impls.Fencer); ok && answer.Outcome == history.OK {
		answer.Fence = fencer.Fence()
	}
	return answer
}

func worked(r work.Result) cells.Answer {
	return cells.Answer{Outcome: r.Outcome, Error: r.Error, Did: r.Did, Read: r.Read, Wrote: r.Wrote}
}

// answered records what an operation came to, before anybody acts on it.
func (cl *client) answered() {
	op := cl.inFlight
	cl.inFlight, op.answered = nil, true
	cl.cell.witness(cells.Returned(cl.name, cl.lockKey, op.op, op.id, op.answer, op.gaveUp))
}

// settle lets time go on until the pending operation has returned, or is held up with all its traps reached.
func (cl *client) settle() (scenarios.Result, error) {
	op := cl.pending
	for {
		reached := func() bool { return len(op.traps) > 0 && op.traps[0].reached }
		if err := cl.cell.until(func() bool { return op.answered || reached() }); err != nil {
			return "", silent(cl.name, op.op, err)
		}
		switch {
		case !reached():
			return cl.finish(op)
		case cl.spring(op):
			return scenarios.ResultHeldUp, nil
		}
	}
}

// silent says that a client did not answer in time.
func silent(client string, op history.Op, err error) error {
	if early, ok := err.(*cells.Ending); ok {
		return cells.Undecided("%s did not answer %v: %s", client, op, early.Why)
	}
	return err
}

// spring notes that the next trap of an operation has been reached. It says whether the operation is held up there.
func (cl *client) spring(op *operation) (heldUp bool) {
	t := op.traps[0]
	op.traps = op.traps[1:]
	cl.cell.fault(cells.TrapFault(t.want.Do), cl.name, history.PhaseEffective, strings.Join(t.args, " "))
	switch t.want.Do {
	case scenarios.HoldRequest, scenarios.HoldReply:
		cl.heldUp = t
		return true
	case scenarios.DropReply:
		return len(op.traps) == 0
	}
	return false
}

// finish takes note of the answer to the pending operation.
func (cl *client) finish(op *operation) (scenarios.Result, error) {
	c := cl.cell
	cl.pending = nil
	if op.lacking != "" {
		c.lacks = fmt.Sprintf("the lock, or its client, cannot wait by %q", c.world.cfg.Wait)
		return "", cells.NotApplicable("%s", c.lacks)
	}
	missed := op.traps
	for _, t := range missed {
		c.disarm(t)
	}
	outcome := op.answer.Outcome
	cl.Learn(op.op, outcome, c.traits.Reentrant)
	if len(missed) > 0 && !op.gaveUp {
		return "", cells.NotApplicable("%s's %v returned %v without %s", cl.name, op.op, outcome, cells.Describe(missed[0].want))
	}
	return cells.ResultOf(outcome), nil
}

// settleWithin settles the pending operation, and gives it up when so long has passed; zero: never.
func (cl *client) settleWithin(patience time.Duration) (scenarios.Result, error) {
	if patience == 0 {
		return cl.settle()
	}
	op, over := cl.pending, false
	cl.cell.after(patience, func() { over = true })
	if err := cl.cell.until(func() bool { return op.answered || over }); err != nil {
		return "", silent(cl.name, op.op, err)
	}
	if op.answered {
		return cl.finish(op)
	}
	return cl.giveUp()
}

// giveUp orders the client to cancel its operation, and waits for the answer.
func (cl *client) giveUp() (scenarios.Result, error) {
	op := cl.pending
	op.gaveUp = true
	cl.hand(func() {
		if !op.answered {
			cl.proc.Cancel(op.task)
		}
	})
	if err := cl.cell.until(func() bool { return op.answered }); err != nil {
		return "", silent(cl.name, op.op, err)
	}
	return cl.finish(op)
}

// letGo lets go what is held of an operation, and waits for the operation to come to something, unless that is to happen in the
// background. If the client has given the operation up meanwhile, it waits until the server has carried the request out all the
// same.
func (cl *client) letGo(inBackground bool) (scenarios.Result, error) {
	held := cl.heldUp
	cl.heldUp = nil
	cl.cell.fault(cells.TrapFault(held.want.Do), cl.name, history.PhaseRecover, strings.Join(held.args, " "))
	held.release()
	switch {
	case inBackground:
		return scenarios.ResultDone, nil
	case cl.pending != nil:
		return cl.settle()
	}
	err := cl.cell.until(func() bool { return held.delivered })
	if early, ok := err.(*cells.Ending); ok {
		return "", cells.Undecided("the held request of %s was not delivered: %s", cl.name, early.Why)
	}
	return scenarios.ResultDone, err
}

// renews waits until the client's lock renews itself in the background, for two leases at most, and stops that on the wire.
func (cl *client) renews(want scenarios.Trap) (scenarios.Result, error) {
	c := cl.cell
	t, over := c.arm(cl.name, background, false, want), false
	c.after(2*c.script.Lease, func() { over = true })
	if err := c.until(func() bool { return t.reached || over }); err != nil {
		return "", err
	}
	if !t.reached {
		c.disarm(t)
		return "", cells.NotApplicable("%s renewed nothing for two leases by %s", cl.name, cells.Describe(want))
	}
	c.fault(cells.TrapFault(want.Do), cl.name, history.PhaseEffective, strings.Join(t.args, " "))
	cl.heldUp = t
	return scenarios.ResultHeldUp, nil
}
