package play

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// Handle is one lock object of a client's process. It belongs to the script's goroutine; Current, NoticeLoss and NoticeValidity are safe
// for concurrent use.
type Handle struct {
	Name   string // in the script: the client's own, or "C1.b"
	Client *Client
	Keys   int    // of its lock on the one server, if there are several
	Need   int    // how many of them its holder has
	Key    string // of its lock, as its client is given it; the history has it under this name
	Data   Data   // of the work under its lock
	cell   *Cell

	Belief
	pending  *Operation    // the operation whose answer the script has not processed; nil: none
	heldUp   *breakpoint   // the breakpoint at which it is held; nil: none
	late     []*breakpoint // hold requests for which no operation waits, the latest last
	inFlight atomic.Pointer[Operation]
	granted  atomic.Int64 // the latest acquire that was answered ok
}

// Operation is one operation of a handle.
type Operation struct {
	Handle *Handle
	ID     int64
	Op     history.Op
	Within time.Duration // how long an acquire retries; zero: one try
	answer history.Answer
	done   chan struct{}
	gaveUp atomic.Bool
	ahead  []*breakpoint // the breakpoints not yet reached, in the order of the script
}

// breakpoint is an armed breakpoint of the script.
type breakpoint struct {
	Armed
	want faults.Breakpoint
}

// Begin begins the operation of a step, with its breakpoints armed first.
func (h *Handle) Begin(step *scenarios.Step) (*Operation, error) {
	if h.pending != nil {
		return nil, Undecided("line %d: %s is still busy with its %v", step.Line, h.Name, h.pending.Op)
	}
	c := h.cell
	op := &Operation{Handle: h, ID: c.NextID(), Op: step.Op, Within: step.Within.Of(c.Script.Lease), done: make(chan struct{})}
	for _, at := range step.Breakpoints {
		op.ahead = append(op.ahead, h.arm(at, op.ID, op.Op == history.OpWork))
	}
	called := history.Event{Kind: history.KindCall, Client: h.Name, Lock: h.Key, Op: op.Op, ID: op.ID}
	if op.Within > 0 {
		called.Detail = &history.Detail{Bound: op.Within}
	}
	h.inFlight.Store(op)
	c.Record.Add(called)
	h.Belief.Begin(op.Op)
	return op, h.Client.Process.Call(op)
}

// arm sets a breakpoint for the requests of one operation.
func (h *Handle) arm(at faults.Breakpoint, op int64, work bool) *breakpoint {
	at.Ends = at.Action == faults.ActDropReply && h.cell.Traits.Resends == protocol.ResendsBroken
	return &breakpoint{Armed: h.cell.Stage.Arm(at, h.Name, op, work), want: at}
}

// Return records the answer to the operation, then marks the operation as done.
func (op *Operation) Return(a history.Answer) {
	h := op.Handle
	h.inFlight.CompareAndSwap(op, nil)
	gaveUp := op.gaveUp.Load() || h.cell.Forsakes && a.Outcome == history.Unknown
	if op.Op == history.OpAcquire && a.Outcome == history.OK {
		h.granted.Store(op.ID)
	}
	h.cell.Witness(a.Returned(h.Name, h.Key, op.Op, op.ID, gaveUp))
	op.answer = a
	close(op.done)
}

// Done is closed when the operation has been answered.
func (op *Operation) Done() <-chan struct{} { return op.done }

// Answer is the answer to the operation, once it is done.
func (op *Operation) Answer() history.Answer { return op.answer }

// Answered says whether the operation is done.
func (op *Operation) Answered() bool {
	select {
	case <-op.done:
		return true
	default:
		return false
	}
}

// GiveUp marks the operation as cancelled by the script.
func (op *Operation) GiveUp() { op.gaveUp.Store(true) }

// Current is the operation in flight to which a command at a lock server, or at the resource, belongs.
func (h *Handle) Current(onResource bool) (history.Op, int64) {
	op := h.inFlight.Load()
	if op == nil || (op.Op == history.OpWork) != onResource {
		return history.OpNone, 0
	}
	return op.Op, op.ID
}

// NoticeLoss records that the lock has announced the loss of the hold that an acquire began; zero: of the present one. The loss of an earlier one
// is no news to the client.
func (h *Handle) NoticeLoss(hold int64, why string) {
	if hold == 0 || hold >= h.granted.Load() || h.cell.Traits.Reentrant {
		h.Lost.Store(true)
	}
	h.cell.Witness(history.Event{Kind: history.KindLost, Client: h.Name, Lock: h.Key, ID: hold, Detail: &history.Detail{Why: why}})
}

// NoticeValidity records that the lock has declared, in the background, that its hold is valid for so long from now.
func (h *Handle) NoticeValidity(valid time.Duration) {
	h.cell.Witness(history.Event{Kind: history.KindValid, Client: h.Name, Lock: h.Key, Valid: history.Declared(valid)})
}

// settle waits, for at most d (Ever: as overdue does), until the pending operation has returned or is held up at a breakpoint.
func (h *Handle) settle(ctx context.Context, d time.Duration) (scenarios.Result, error) {
	op, stage := h.pending, h.cell.Stage
	deadline := stage.Now() + d
	for {
		reached := func() bool { return len(op.ahead) > 0 && op.ahead[0].Reached() }
		settled := func() bool { return op.Answered() || reached() }
		if d == Ever {
			if err := h.overdue(ctx, op, settled); err != nil {
				return "", err
			}
		} else if ok, err := stage.Until(ctx, max(0, deadline-stage.Now()), settled); err != nil {
			return "", silent(h.Name, op.Op.String(), err)
		} else if !ok {
			return "", NotApplicable("%s waits for more than %v for what is held", h.Name, d)
		}
		switch {
		case !reached():
			return h.finish(ctx, op)
		case h.meet(op):
			return scenarios.ResultHeldUp, nil
		}
	}
}

// meet records that the next breakpoint of an operation has been reached, and says whether the operation is held up there.
func (h *Handle) meet(op *Operation) (heldUp bool) {
	at := op.ahead[0]
	op.ahead = op.ahead[1:]
	h.record(at, history.PhaseEffective)
	switch at.want.Action {
	case faults.ActHoldRequest, faults.ActHoldReply:
		h.heldUp = at
		return true
	case faults.ActHoldCopy:
		h.late = append(h.late, at)
	case faults.ActDropReply:
		return len(op.ahead) == 0
	}
	return false
}

func (h *Handle) record(at *breakpoint, phase history.Phase) {
	h.cell.Fault(at.want.Action.Kind(), h.Name, phase, strings.Join(at.Args(), " "))
}

// finish processes the answer to the pending operation.
func (h *Handle) finish(ctx context.Context, op *Operation) (scenarios.Result, error) {
	h.pending = nil
	if op.answer.Unsupported {
		return "", h.unsupported(op)
	}
	if err := h.meetAll(ctx, op); err != nil {
		return "", err
	}
	for _, missed := range op.ahead {
		missed.Disarm()
	}
	h.Learn(op.Op, op.answer.Outcome, h.cell.Traits.Reentrant)
	if err := h.Client.reconnectBroken(ctx); err != nil {
		return "", err
	}
	if len(op.ahead) > 0 && !op.gaveUp.Load() {
		why := fmt.Sprintf("%s's %v returned %v without %s", h.Name, op.Op, op.answer.Outcome, op.ahead[0].want.Request())
		if op.answer.Outcome == history.Unknown { // an error, such as that of a broken connection, came before the request
			return "", unreached(why)
		}
		if h.cell.otherWork(op.Op) {
			return "", h.cell.unfit(why)
		}
		return "", NotApplicable("%s", why)
	}
	return resultOf(op.answer.Outcome), nil
}

// unsupported ends a script that needs an operation that the client does not know.
func (h *Handle) unsupported(op *Operation) error {
	c := h.cell
	switch {
	case op.Op == history.OpWork && h.Data.Work != history.Counter:
		return NotApplicable("%s", lacksWork(h.Data.Work))
	case op.Op == history.OpAcquire && c.Wait != "":
		return Lacking("the lock, or its client, cannot wait by %q", c.Wait)
	case op.Op == history.OpRenew, op.Op == history.OpCheck:
		return NotApplicable("the client does not know %q", op.Op.String())
	}
	return Undecided("%s does not know %q, which every client must", h.Name, op.Op.String())
}

// meetAll records the breakpoints that the answered operation has reached. It waits for a duplicate that is still in flight.
func (h *Handle) meetAll(ctx context.Context, op *Operation) error {
	for len(op.ahead) > 0 {
		at := op.ahead[0]
		switch {
		case at.Reached():
		case at.Delivered():
			if _, err := h.cell.Stage.Until(ctx, Ever, at.Reached); err != nil {
				return Undecided("%s of %s did not come to an end: %v", at.want.Action.Kind(), h.Name, err)
			}
		default:
			return nil
		}
		h.meet(op)
	}
	return nil
}

func resultOf(outcome history.Outcome) scenarios.Result {
	switch outcome {
	case history.OK:
		return scenarios.ResultOK
	case history.No:
		return scenarios.ResultNo
	}
	return scenarios.ResultUnknown
}

// settleWithin settles the pending operation, and cancels it after patience; zero: never.
func (h *Handle) settleWithin(ctx context.Context, patience time.Duration) (scenarios.Result, error) {
	if patience == 0 {
		return h.settle(ctx, Ever)
	}
	op := h.pending
	answered, err := h.cell.Stage.Until(ctx, patience, op.Answered)
	switch {
	case err != nil:
		return "", silent(h.Name, op.Op.String(), err)
	case answered:
		return h.finish(ctx, op)
	}
	return h.giveUp(ctx)
}

// giveUp orders the client to cancel its operation, and waits for the answer.
func (h *Handle) giveUp(ctx context.Context) (scenarios.Result, error) {
	op := h.pending
	op.GiveUp()
	if h.cell.Traits.Library.NoCancel {
		return h.breakOff(ctx, op)
	}
	if err := h.Client.Process.Cancel(ctx, op); err != nil {
		return "", err
	}
	if _, err := h.cell.Stage.Until(ctx, Ever, op.Answered); err != nil {
		return "", silent(h.Name, "cancel", err)
	}
	result, err := h.finish(ctx, op)
	h.forget()
	return result, err
}

// breakOff ends an operation of a client that cannot cancel: it breaks the client's connections, and lets it make no new ones until the operation
// has ended.
func (h *Handle) breakOff(ctx context.Context, op *Operation) (scenarios.Result, error) {
	c := h.Client
	if err := c.Disturb(ctx, faults.LinkFault{Kind: faults.Refuse}, nil); err != nil {
		return "", err
	}
	ended, err := h.cell.Stage.Until(ctx, h.cell.Script.Lease, op.Answered)
	switch {
	case err != nil:
		return "", silent(h.Name, op.Op.String(), err)
	case !ended:
		return "", NotApplicable("%s cannot cancel, and its %v went on for a lease after its connections had broken", h.Name, op.Op)
	}
	h.forget()
	if err := c.Heal(ctx, nil); err != nil {
		return "", err
	}
	return h.finish(ctx, op)
}

// forget marks the held request as late: the operation no longer waits for it.
func (h *Handle) forget() {
	if h.heldUp != nil {
		h.late, h.heldUp = append(h.late, h.heldUp), nil
	}
}

// letGo releases the held request or reply and waits for the operation, unless it continues in the background. For a background renewal it
// waits until the server has carried it out.
func (h *Handle) letGo(ctx context.Context, inBackground bool) (scenarios.Result, error) {
	held := h.heldUp
	h.heldUp = nil
	h.record(held, history.PhaseRecover)
	held.Release()
	switch {
	case inBackground:
		return scenarios.ResultDone, nil
	case h.pending != nil:
		return h.settle(ctx, Ever)
	}
	return h.delivered(ctx, held)
}

// arrives releases the latest of the late requests, and waits until the server has carried it out.
func (h *Handle) arrives(ctx context.Context) (scenarios.Result, error) {
	last := len(h.late) - 1
	held := h.late[last]
	h.late = h.late[:last]
	h.record(held, history.PhaseRecover)
	held.Release()
	return h.delivered(ctx, held)
}

// delivered waits until the server has carried out a request that was held. On a ZooKeeper the client gets the reply of a request that it has given
// up, on the connection that it goes on using: it may act on it in the background, and has done so when this returns.
func (h *Handle) delivered(ctx context.Context, held *breakpoint) (scenarios.Result, error) {
	if _, err := h.cell.Stage.Until(ctx, Ever, held.Delivered); err != nil {
		return "", Undecided("the held request of %s was not delivered: %v", h.Name, err)
	}
	if h.cell.Traits.ZooKeeper && !h.Client.Crashed() {
		return scenarios.ResultDone, h.Client.Process.TakeIn(ctx, h)
	}
	return scenarios.ResultDone, nil
}

// timeOut waits, for a lease at most, until the operation settles without the held request or reply.
func (h *Handle) timeOut(ctx context.Context) (scenarios.Result, error) {
	if h.heldUp.want.Action == faults.ActHoldRequest {
		h.forget()
	}
	h.heldUp = nil
	return h.settle(ctx, h.cell.Script.Lease)
}

// renews waits, for two leases at most, for a background renewal, and holds it on the wire.
func (h *Handle) renews(ctx context.Context, want faults.Breakpoint) (scenarios.Result, error) {
	at := h.arm(want, Background, false)
	reached, err := h.cell.Stage.Until(ctx, 2*h.cell.Script.Lease, at.Reached)
	switch {
	case err != nil:
		return "", silent(h.Name, "with a renewal", err)
	case !reached:
		at.Disarm()
		return "", NotApplicable("%s renewed nothing for two leases by %s", h.Name, want.Request())
	}
	h.record(at, history.PhaseEffective)
	h.heldUp = at
	return scenarios.ResultHeldUp, nil
}

// vanish resets the handle: the client is gone.
func (h *Handle) vanish() {
	h.Vanish()
	h.pending = nil
}
