package reproduce

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// strike tells a fault.
func (w *writer) strike(i int, b *moment) error {
	who := b.who
	switch b.step.Fault {
	case faults.Pause:
		host := w.process(who)
		if !w.paused[host] && (w.open[who] == nil || w.lock.Renews || w.sessions() || w.timesOut(w.open[who].operation, i)) {
			w.paused[host] = true
			w.step(who, scenarios.Step{Verb: scenarios.VerbPause})
		}
	case faults.Crash:
		w.crash(w.process(who))
	case faults.Partition:
		w.cutOff(who)
	case faults.ReplyLost, faults.LateRequest:
		return w.lose(i, b)
	case faults.Duplicate:
		if b.operation == nil {
			return fmt.Errorf("what runs beside the operations is sent twice")
		}
		w.late[who] = append(w.late[who], b.step)
		return w.act(i, b)
	case faults.Skew:
		w.clock(who, w.trace.Leases(b.step.Passed))
	case faults.ClockAhead, faults.ClockBehind:
		if rate := w.trace.Rate(b.step.Fault); rate != 1 {
			w.step(who, scenarios.Step{Verb: scenarios.VerbClock, Rate: rate})
			return nil
		}
		if b.step.Fault == faults.ClockBehind {
			w.clock(who, -w.trace.Leases(w.trace.Skew))
			return nil
		}
		w.clock(who, w.trace.Leases(w.trace.Skew))
	case faults.StepAhead:
		w.resume(who)
		w.clock(who, w.clocks[who]+w.trace.Leases(w.trace.Skew))
	case faults.StepBack:
		w.resume(who)
		w.clock(who, w.clocks[who]-w.trace.Leases(w.trace.Skew))
	case faults.ClockJump, faults.ClockBack, faults.Restart, faults.FailOver:
		w.strikeServer(i, b)
	}
	return nil
}

// strikeServer writes a fault of a server.
func (w *writer) strikeServer(i int, b *moment) {
	servers := w.named(b.server)
	switch b.step.Fault {
	case faults.ClockJump:
		delete(w.touched, b.server)
		jump := scenarios.Step{Verb: scenarios.VerbServerJump, Servers: servers, Span: scenarios.Span{Leases: 2}}
		if b.step.Passed < 0 {
			jump.Span.Leases = w.trace.Leases(b.step.Passed)
		}
		w.lab(jump)
	case faults.ClockBack:
		if l, locked := w.touched[b.server]; locked {
			w.touched[b.server] = leased{l.at, l.lasts + 2*w.trace.Lease}
		}
		// A client of a script tries for three leases. What it waits for must last longer.
		w.lab(scenarios.Step{Verb: scenarios.VerbServerJump, Servers: servers, Span: scenarios.Span{Leases: -5}})
	case faults.Restart:
		delete(w.touched, b.server)
		w.outlast(i)
		w.beforeBreak(i)
		w.lab(scenarios.Step{Verb: scenarios.VerbRestart, Servers: servers})
	case faults.FailOver:
		delete(w.touched, b.server)
		if lease, locked := w.saved[b.server]; locked {
			w.touched[b.server] = lease
		}
		w.outlast(i)
		w.beforeBreak(i)
		w.lab(scenarios.Step{Verb: scenarios.VerbRestartSaved, Servers: servers})
	}
}

// crash kills a process with all its clients.
func (w *writer) crash(host int) {
	if w.dead[host] {
		return
	}
	w.step(host, scenarios.Step{Verb: scenarios.VerbCrash})
	w.dead[host] = true
	delete(w.paused, host)
	delete(w.apart, host)
	for who := range w.trace.Clients {
		if w.process(who) == host {
			delete(w.open, who)
		}
	}
}

// named is a server by its name, where there are several.
func (w *writer) named(server int) []string {
	if w.out.Servers == 0 || server < 0 {
		return nil
	}
	return scenarios.ServerNames(w.out.Servers)[server : server+1]
}

// save has a server keep a copy of its data.
func (w *writer) save(b *moment) {
	delete(w.saved, b.server)
	if lease, locked := w.touched[b.server]; locked {
		w.saved[b.server] = lease
	}
	w.lab(scenarios.Step{Verb: scenarios.VerbSave, Servers: w.named(b.server)})
}

// clock sets a client's clock: scripts say by how much it is then wrong.
func (w *writer) clock(who int, leases float64) {
	w.clocks[who] = leases
	w.step(who, scenarios.Step{Verb: scenarios.VerbClock, Span: scenarios.Span{Leases: leases}, Rate: 1})
}

// lose has a client do without the reply to a request. If its operation goes on, it is the connection that breaks; if not, the client
// gives up, which is shorter.
func (w *writer) lose(i int, b *moment) error {
	if b.operation == nil {
		w.loseReplyBeside(b)
		return nil
	}
	if !w.counted(b) && (w.goesOn(b) || w.arrivesLater(i)) {
		return fmt.Errorf("what is lost belongs to a request that breakpoints do not count")
	}
	if t := w.open[b.who]; t == nil || t.operation != b.operation {
		if err := w.begin(i, b); err != nil {
			return err
		}
	}
	if b.step.Fault == faults.LateRequest {
		w.late[b.who] = append(w.late[b.who], b.step)
	}
	if b.step.Waits {
		return nil
	}
	return w.unheardOf(i, b)
}

// arrivesLater says whether a request of the client that is late at the ith moment arrives.
func (w *writer) arrivesLater(i int) bool {
	return slices.ContainsFunc(w.moments[i:], func(b *moment) bool { return b.kind == trace.Arrive && b.who == w.moments[i].who })
}

// unheardOf has a client go on without a reply.
func (w *writer) unheardOf(i int, b *moment) error {
	t := w.open[b.who]
	if !w.goesOn(b) {
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbGiveUp, Want: []scenarios.Result{scenarios.ResultUnknown}})
		t.stop = false
		return nil
	}
	servers := w.named(b.operation.requests[b.request].Server)
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbLoseReplies, Servers: servers})
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbHeal, Servers: servers})
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbAwait})
	w.came(b.who, i+1)
	return nil
}

// stopped says whether an operation of the client is held.
func (w *writer) stopped(who int) bool { return w.open[who] != nil && w.open[who].stop }

// loseReplyBeside has what runs beside the operations of a client do without a reply: its connection breaks.
func (w *writer) loseReplyBeside(b *moment) {
	late := b.step.Fault == faults.LateRequest
	switch {
	case late && w.stopped(b.who): // only one thing of a client can be held
		w.resume(b.who)
		w.short, w.cut[b.who] = true, true
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbCutOff, Direction: faults.Requests, Servers: w.named(b.step.Server)})
		return
	case late:
		w.renews(b.who, w.breakpoint(faults.ActHoldRequest, b.step, nil))
	case !w.renewing[b.who] && (w.stopped(b.who) || b.step.Server == nowhere && w.out.Servers > 0):
		w.loseRenewal(b)
		return
	case !w.renewing[b.who]:
		w.renews(b.who, faults.Breakpoint{Action: faults.ActHoldReply, Nth: 1, Match: faults.Match{Kind: faults.MatchAny}})
	}
	delete(w.renewing, b.who)
	servers := w.named(b.step.Server)
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbLoseReplies, Servers: servers})
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbHeal, Servers: servers})
	if late {
		w.lateBeside[b.who] = true
		return
	}
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbContinue})
}

// loseRenewal has a client lose the reply to a renewal while an operation of it is held, or the replies of several servers. The first
// renewal may load a script; a later one is sure to prolong the lease.
func (w *writer) loseRenewal(b *moment) {
	w.resume(b.who)
	w.short = true
	servers := w.named(b.step.Server)
	w.lab(scenarios.Step{Verb: scenarios.VerbWaitRenewed})
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbLoseReplies, Servers: servers})
	w.lab(scenarios.Step{Verb: scenarios.VerbWaitRenewed})
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbHeal, Servers: servers})
}

// renews stops what runs beside the operations of a client.
func (w *writer) renews(who int, at faults.Breakpoint) {
	w.resume(who)
	w.short, w.renewing[who] = true, true
	w.step(who, scenarios.Step{Verb: scenarios.VerbRenews, Breakpoints: []faults.Breakpoint{at}, Want: []scenarios.Result{scenarios.ResultHeldUp}})
}

// unheard says whether the reply to what is served beside the operations of a client at the ith moment will be lost.
func (w *writer) unheard(i int) bool {
	served := w.moments[i].step
	for _, b := range w.moments[i+1:] {
		if b.step.Beside && b.step.Client == served.Client && b.step.Server == served.Server {
			return strikes(b, faults.ReplyLost)
		}
	}
	return false
}

// timesOut says whether a client will have waited too long for a part of its operation, at the ith moment or later.
func (w *writer) timesOut(d *operation, i int) bool {
	return slices.ContainsFunc(w.moments[i:], func(b *moment) bool { return b.kind == trace.Expire && b.operation == d })
}

// tooLate says whether the client stays paused until it will have waited too long for what is served at the ith moment.
func (w *writer) tooLate(i int) bool {
	for _, b := range w.moments[i+1:] {
		if b.operation == w.moments[i].operation {
			return b.kind == trace.Expire
		}
	}
	return false
}

// timeOut lets a client go on that has waited too long.
func (w *writer) timeOut(i int, b *moment) error {
	if b.operation == nil {
		return fmt.Errorf("what runs beside the operations waits for too long")
	}
	if w.isApart(i) {
		return w.timeOutApart(b)
	}
	if b.operation.lost {
		w.resume(b.who)
		return w.unheardOf(i, b)
	}
	if w.missed(b) == faults.ActHoldRequest {
		w.late[b.who] = append(w.late[b.who], b.operation.requests[b.request])
	}
	w.resume(b.who)
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbTimesOut})
	w.came(b.who, i+1)
	return nil
}

// breakOff lets a client go on whose connection has broken. One whose operation does not go on has given it up before.
func (w *writer) breakOff(i int, b *moment) error {
	switch {
	case b.operation == nil:
		return fmt.Errorf("what runs beside the operations loses its connection")
	case w.apart[w.process(b.who)]:
		return w.breakApart(i, b)
	case !w.counted(b):
		return fmt.Errorf("what is lost with a connection is a request that breakpoints do not count")
	case !w.goesOn(b):
		return nil
	}
	w.resume(b.who)
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbContinue})
	w.came(b.who, i+1)
	return nil
}

// beforeBreak prepares clients for the restart of a server at the ith moment, which breaks their connections: an operation that does not go on is
// given up, and a client whose next step comes later is paused until then.
func (w *writer) beforeBreak(i int) {
	for k, b := range w.moments[i+1:] {
		if b.kind != trace.Break || b.server != w.moments[i].server || b.operation == nil {
			continue
		}
		t, host := w.open[b.who], w.process(b.who)
		switch {
		case t == nil || t.operation != b.operation || !t.stop:
		case !w.goesOn(b):
			w.step(b.who, scenarios.Step{Verb: scenarios.VerbGiveUp, Want: []scenarios.Result{scenarios.ResultUnknown}})
			t.stop = false
		case k > 0 && !w.paused[host]:
			w.paused[host] = true
			w.step(b.who, scenarios.Step{Verb: scenarios.VerbPause})
		}
	}
}

// goesOn says whether an operation comes to something after it has lost a request or a reply. What it does only to tidy up, it does
// also when it is given up.
func (w *writer) goesOn(b *moment) bool {
	if b.operation.outcome == history.Unknown {
		return false
	}
	return b.operation.returned || len(b.operation.requests) > b.request+1
}

// arrive lets go what is late, or a copy.
func (w *writer) arrive(b *moment) error {
	if b.step.Beside && (w.lateBeside[b.who] || w.cut[b.who]) {
		w.touch(b)
		w.arriveBeside(b.who)
		return nil
	}
	late := w.late[b.who]
	last := len(late) - 1
	switch {
	case w.arrivesApart(b):
		w.touch(b)
		return nil
	case last < 0:
		return fmt.Errorf("a request arrives that no fault has delayed")
	case last > 0 && !sameRequest(late[last], b.step):
		return fmt.Errorf("a request arrives before another one that was given up later")
	}
	w.touch(b)
	w.late[b.who] = late[:last]
	w.resume(b.who)
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbArrives})
	return nil
}

func sameRequest(a, b *trace.Step) bool {
	return a.Server == b.Server && slices.EqualFunc(a.Request, b.Request, slices.Equal)
}

// arriveBeside lets go what has been held beside the operations of a client.
func (w *writer) arriveBeside(who int) {
	w.resume(who)
	if w.cut[who] {
		delete(w.cut, who)
		w.step(who, scenarios.Step{Verb: scenarios.VerbHeal})
		return
	}
	delete(w.lateBeside, who)
	w.step(who, scenarios.Step{Verb: scenarios.VerbContinue})
}

// outlast has the clients that are held at a reply of a server outlast its restart, which breaks their connections: the reply must have
// reached them, and they must not act upon it. So they are paused.
func (w *writer) outlast(i int) {
	server := w.moments[i].server
	for who := range w.trace.Clients {
		t := w.open[who]
		if t == nil || !t.stop || !w.betweenTwo(t.operation, i, server) {
			continue
		}
		if host := w.process(who); !w.paused[host] {
			w.paused[host] = true
			w.step(who, scenarios.Step{Verb: scenarios.VerbPause})
		}
		t.unread = true
		w.step(who, scenarios.Step{Verb: scenarios.VerbContinue, Async: true})
	}
}

// betweenTwo says whether at the ith moment an operation is between two requests to a server.
func (w *writer) betweenTwo(d *operation, i, server int) bool {
	for _, b := range w.moments[i+1:] {
		if b.operation == d && b.kind == trace.Break {
			return false
		}
		if b.operation == d && b.kind == trace.Serve {
			return b.server == server && b.request > 0 && d.requests[b.request-1].Server == server
		}
	}
	return false
}

func strikes(b *moment, faults ...faults.Kind) bool {
	return b.kind == trace.Fault && slices.Contains(faults, b.step.Fault)
}
