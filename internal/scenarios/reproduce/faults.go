package reproduce

import (
	"errors"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// strike writes a fault.
func (w *writer) strike(i int, b *moment) error {
	if b.who == nobody {
		w.strikeServer(i, b)
		return nil
	}
	a, skew := w.clients[b.who], w.trace.Leases(w.trace.Skew)
	switch b.step.Fault {
	case faults.Pause:
		if a.open == nil || w.leases.lock.Renews || w.leases.sessions() || w.moments.timesOut(a.open.operation, i) {
			w.script.pause(a)
		}
	case faults.Crash:
		w.script.crash(a.host)
	case faults.Partition:
		a.host.apart = true
		w.script.step(a, scenarios.Step{Verb: scenarios.VerbCutOff, Direction: faults.Both})
	case faults.ReplyLost, faults.LateRequest:
		return w.lose(i, b)
	case faults.Duplicate:
		if b.operation == nil {
			return errors.New("what runs beside the operations is sent twice")
		}
		a.late = append(a.late, b.step)
		return w.act(i, b)
	case faults.Skew:
		w.script.setClock(a, w.trace.Leases(b.step.Passed))
	case faults.ClockAhead, faults.ClockBehind:
		if rate := w.trace.Rate(b.step.Fault); rate != 1 {
			w.script.step(a, scenarios.Step{Verb: scenarios.VerbClock, Rate: rate})
			return nil
		}
		if b.step.Fault == faults.ClockBehind {
			skew = -skew
		}
		w.script.setClock(a, skew)
	case faults.StepAhead:
		w.script.resume(a)
		w.script.setClock(a, a.clock+skew)
	case faults.StepBack:
		w.script.resume(a)
		w.script.setClock(a, a.clock-skew)
	}
	return nil
}

// strikeServer writes a fault of a server.
func (w *writer) strikeServer(i int, b *moment) {
	step := scenarios.Step{Servers: w.script.server(b.server)}
	switch b.step.Fault {
	case faults.ClockJump:
		step.Verb, step.Span.Leases = scenarios.VerbServerJump, 2
		if b.step.Passed < 0 {
			step.Span.Leases = w.trace.Leases(b.step.Passed)
		}
	case faults.ClockBack:
		// A client of a script tries for three leases. What it waits for must last longer.
		step.Verb, step.Span.Leases = scenarios.VerbServerJump, -5
	case faults.Restart:
		step.Verb = scenarios.VerbRestart
		w.beforeRestart(i)
	case faults.FailOver:
		step.Verb = scenarios.VerbRestartSaved
		w.beforeRestart(i)
	default:
		return // no script needs it
	}
	w.leases.strike(b)
	w.script.lab(step)
}

// lose has a client do without the reply to a request. If its operation goes on, it is the connection that breaks; if not, the client
// gives up, which is shorter.
func (w *writer) lose(i int, b *moment) error {
	a := w.clients[b.who]
	if b.operation == nil {
		w.loseReplyBeside(a, b)
		return nil
	}
	if !b.counted() && (b.goesOn() || w.moments.arrivesLater(i)) {
		return errors.New("what is lost belongs to a request that breakpoints do not count")
	}
	if a.open == nil || a.open.operation != b.operation {
		if err := w.begin(i, b); err != nil {
			return err
		}
	}
	if b.step.Fault == faults.LateRequest {
		a.late = append(a.late, b.step)
	}
	if !b.step.Waits {
		w.unheardOf(i, b)
	}
	return nil
}

// unheardOf has a client go on without a reply.
func (w *writer) unheardOf(i int, b *moment) {
	a := w.clients[b.who]
	if !b.goesOn() {
		w.script.giveUp(a)
		return
	}
	w.script.reconnect(a, w.script.server(b.operation.requests[b.request].Server))
	w.script.does(a, scenarios.VerbAwait)
	w.came(a, i+1)
}

// loseReplyBeside has what runs beside the operations of a client do without a reply: its connection breaks.
func (w *writer) loseReplyBeside(a *actor, b *moment) {
	servers := w.script.server(b.step.Server)
	late := b.step.Fault == faults.LateRequest
	switch {
	case late && a.stopped(): // only one thing of a client can be held
		w.script.resume(a)
		w.leases.short, a.cut = true, true
		w.script.step(a, scenarios.Step{Verb: scenarios.VerbCutOff, Direction: faults.Requests, Servers: servers})
		return
	case late:
		w.renews(a, w.script.breakpoint(faults.ActHoldRequest, b.step))
	case !a.renewing && (a.stopped() || b.step.Server == nowhere && w.script.Servers > 0):
		w.loseRenewal(a, servers)
		return
	case !a.renewing:
		w.renews(a, faults.Breakpoint{Action: faults.ActHoldReply, Nth: 1, Match: faults.Match{Kind: faults.MatchAny}})
	}
	a.renewing = false
	w.script.reconnect(a, servers)
	if late {
		a.lateBeside = true
		return
	}
	w.script.does(a, scenarios.VerbContinue)
}

// loseRenewal has a client lose the reply to a renewal while an operation of it is held, or the replies of several servers. The first
// renewal may load a script; a later one is sure to prolong the lease.
func (w *writer) loseRenewal(a *actor, servers []string) {
	w.script.resume(a)
	w.leases.short = true
	w.script.lab(scenarios.Step{Verb: scenarios.VerbWaitRenewed})
	w.script.step(a, scenarios.Step{Verb: scenarios.VerbLoseReplies, Servers: servers})
	w.script.lab(scenarios.Step{Verb: scenarios.VerbWaitRenewed})
	w.script.step(a, scenarios.Step{Verb: scenarios.VerbHeal, Servers: servers})
}

// renews stops what runs beside the operations of a client.
func (w *writer) renews(a *actor, at faults.Breakpoint) {
	w.script.resume(a)
	w.leases.short, a.renewing = true, true
	w.script.step(a, scenarios.Step{Verb: scenarios.VerbRenews, Breakpoints: []faults.Breakpoint{at}, Want: []scenarios.Result{scenarios.ResultHeldUp}})
}

// beside writes what runs beside the operations: a lease is prolonged.
func (w *writer) beside(i int, b *moment) error {
	a := w.clients[b.who]
	switch {
	case b.kind != trace.Serve:
		return nil
	case w.moments.unheard(i) && a.stopped(): // see loseReplyBeside
		return nil
	case w.moments.unheard(i):
		w.renews(a, w.script.breakpoint(faults.ActHoldReply, b.step))
		return nil
	case !b.changes:
		return nil
	}
	if lock, known := b.change(); known && lock.Before.Exists() && !lock.After.Exists() {
		return errors.New("what a background task removes cannot be waited for")
	}
	w.script.resume(a)
	w.leases.short = true
	w.script.lab(scenarios.Step{Verb: scenarios.VerbWaitRenewed, Want: []scenarios.Result{scenarios.ResultOK}})
	return nil
}

// timeOut lets a client go on that has waited too long.
func (w *writer) timeOut(i int, b *moment) error {
	if b.operation == nil {
		return errors.New("what runs beside the operations waits for too long")
	}
	a := w.clients[b.who]
	switch {
	case w.moments.isApart(i):
		return a.timeOutApart(b)
	case b.operation.lost:
		w.script.resume(a)
		w.unheardOf(i, b)
		return nil
	case w.moments.missed(b) == faults.ActHoldRequest:
		a.late = append(a.late, b.operation.requests[b.request])
	}
	w.script.resume(a)
	w.script.does(a, scenarios.VerbTimesOut)
	w.came(a, i+1)
	return nil
}

// breakOff lets a client go on whose connection has broken. One whose operation does not go on has given it up before.
func (w *writer) breakOff(i int, b *moment) error {
	a := w.clients[b.who]
	switch {
	case b.operation == nil:
		return errors.New("what runs beside the operations loses its connection")
	case a.host.apart:
		return w.breakApart(i, b)
	case !b.counted():
		return errors.New("what is lost with a connection is a request that breakpoints do not count")
	case !b.goesOn():
		return nil
	}
	w.script.resume(a)
	w.script.does(a, scenarios.VerbContinue)
	w.came(a, i+1)
	return nil
}

// beforeRestart prepares clients for the restart of a server at the ith moment, which breaks their connections. The reply that a client is held at must
// have reached it, and the client must not act upon it: so it is paused. An operation that learns of its broken connection and does not go on is given up,
// and a client whose next step comes later is paused until then.
func (w *writer) beforeRestart(i int) {
	server := w.moments[i].server
	for _, a := range w.clients {
		if a.stopped() && w.moments.betweenTwo(a.open.operation, i, server) {
			w.script.pause(a)
			a.open.unread = true
			w.script.step(a, scenarios.Step{Verb: scenarios.VerbContinue, Async: true})
		}
	}
	for k, b := range w.moments[i+1:] {
		if b.kind != trace.Break || b.server != server || b.operation == nil {
			continue
		}
		switch a := w.clients[b.who]; {
		case !a.stopped() || a.open.operation != b.operation:
		case !b.goesOn():
			w.script.giveUp(a)
		case k > 0:
			w.script.pause(a)
		}
	}
}

// goesOn says whether an operation comes to something after it has lost a request or a reply. What it does only to tidy up, it does
// also when it is given up.
func (b *moment) goesOn() bool {
	if b.operation.outcome == history.Unknown {
		return false
	}
	return b.operation.returned || len(b.operation.requests) > b.request+1
}

// arrive lets go what is late, or a copy.
func (w *writer) arrive(b *moment) error {
	a := w.clients[b.who]
	last := len(a.late) - 1
	switch {
	case b.step.Beside && (a.lateBeside || a.cut):
		w.leases.touch(b)
		w.script.arriveBeside(a)
		return nil
	case a.arrivesApart(b):
		w.leases.touch(b)
		return nil
	case last < 0:
		return errors.New("a request arrives that no fault has delayed")
	case last > 0 && !sameRequest(a.late[last], b.step):
		return errors.New("a request arrives before another one that was given up later")
	}
	w.leases.touch(b)
	a.late = a.late[:last]
	w.script.resume(a)
	w.script.does(a, scenarios.VerbArrives)
	return nil
}

func sameRequest(a, b *trace.Step) bool {
	return a.Server == b.Server && slices.EqualFunc(a.Request, b.Request, slices.Equal)
}

func strikes(b *moment, faults ...faults.Kind) bool {
	return b.kind == trace.Fault && slices.Contains(faults, b.step.Fault)
}
