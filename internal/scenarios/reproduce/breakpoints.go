package reproduce

import (
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// breakpoints are the breakpoints of an operation: where something comes between two of its moments, and where a fault strikes.
func (w *writer) breakpoints(d *operation) []faults.Breakpoint {
	var breakpoints []faults.Breakpoint
	add := func(do faults.Action, request *trace.Step, before []*trace.Step) {
		breakpoints = append(breakpoints, w.breakpoint(do, request, before))
	}
	var held *moment // the moment after which it has been stopped
	var since int    // its place
	for i, b := range w.moments {
		if b.operation != d {
			continue
		}
		breakpoints = append(breakpoints, w.stopsAt(i, held, since)...)
		if b.kind == trace.Serve && w.copied(i) {
			add(faults.ActHoldCopy, b.step, d.requests[:b.request])
		}
		held = nil
		if interrupted(w.moments, i) && (!unanswered(b) || w.goesOn(b)) {
			held, since = b, i
		}
	}
	if held != nil {
		breakpoints = append(breakpoints, w.unfinished(d, held))
	}
	return breakpoints
}

// stopsAt is the breakpoint for the ith moment of the schedule, if its operation has to be stopped there. It was stopped after held, which is the
// moment at since, or was not stopped.
func (w *writer) stopsAt(i int, held *moment, since int) []faults.Breakpoint {
	b := w.moments[i]
	d := b.operation
	at := func(do faults.Action, request *trace.Step, before []*trace.Step) []faults.Breakpoint {
		return []faults.Breakpoint{w.breakpoint(do, request, before)}
	}
	switch {
	case strikes(b, faults.ReplyLost, faults.LateRequest) && !w.counted(b): // breakpoints do not count it, so it is held at what comes next
		return []faults.Breakpoint{{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchAny}}}
	case strikes(b, faults.LateRequest):
		return at(faults.ActHoldRequest, b.step, d.requests[:b.request])
	case strikes(b, faults.ReplyLost):
		return []faults.Breakpoint{w.lostReply(b)}
	case b.kind == trace.Expire && d.lost, b.kind == trace.Expire && w.isApart(i): // it is held already, or comes to nowhere
		return nil
	case b.kind == trace.Expire, b.kind == trace.Break:
		return at(w.missed(b), d.requests[b.request], d.requests[:b.request])
	case held == nil:
		return nil
	case b.kind == trace.Serve && w.atReply(since, i):
		return at(faults.ActHoldReply, d.requests[b.request-1], d.requests[:b.request-1])
	case b.kind == trace.Serve:
		return at(faults.ActHoldRequest, b.step, d.requests[:b.request])
	case len(d.requests) > 0 && b.kind != trace.Fault:
		last := min(b.last(), len(d.requests)-1)
		return at(faults.ActHoldReply, d.requests[last], d.requests[:last])
	}
	return nil
}

// unanswered says whether a client goes on at a moment without the reply that it has waited for, other than by its own time-out.
func unanswered(b *moment) bool {
	return b.kind == trace.Break || strikes(b, faults.ReplyLost, faults.LateRequest)
}

// counted says whether breakpoints count the request that a loss is about.
func (w *writer) counted(b *moment) bool {
	return b.request >= 0 && len(words(b.operation.requests[b.request], "")) > 0
}

// atReply says whether a client that is stopped before a request must be stopped at the reply to the one before instead.
func (w *writer) atReply(since, i int) bool {
	return w.moments[i].request > 0 && (w.breaksOff(since, i) || w.readsLater(since, i, w.moments[i].who))
}

// readsLater says whether a client's clock steps between two moments, before the client reads a reply.
func (w *writer) readsLater(since, i, who int) bool {
	return slices.ContainsFunc(w.moments[since:i], func(b *moment) bool { return b.unread && b.who == who })
}

// breaksOff says whether a request that is held would be lost, because its server restarts, where the client can be stopped at the
// reply to the request before.
func (w *writer) breaksOff(since, i int) bool {
	b := w.moments[i]
	return slices.ContainsFunc(w.moments[since:i], func(fault *moment) bool {
		return strikes(fault, faults.Restart, faults.FailOver) && fault.server == b.server
	})
}

// last is the request that the operation has sent last, at a moment that is none itself.
func (b *moment) last() int {
	if b.kind == trace.Return {
		return len(b.operation.requests) - 1
	}
	return b.request
}

// lostReply stops an operation at a reply that its client will not get.
func (w *writer) lostReply(b *moment) faults.Breakpoint {
	do := faults.ActDropReply
	if b.step.Waits || w.goesOn(b) {
		do = faults.ActHoldReply
	}
	return w.breakpoint(do, b.operation.requests[b.request], b.operation.requests[:b.request])
}

// missed is how a request is stopped that its client will wait for too long.
func (w *writer) missed(b *moment) faults.Action {
	answered := slices.ContainsFunc(w.moments, func(served *moment) bool {
		return served.kind == trace.Serve && served.operation == b.operation && served.request == b.request
	})
	if answered {
		return faults.ActHoldReply
	}
	return faults.ActHoldRequest
}

// copied says whether the request at a moment is sent twice.
func (w *writer) copied(i int) bool {
	for k := i - 1; k >= 0; k-- {
		if w.moments[k].operation == w.moments[i].operation {
			return strikes(w.moments[k], faults.Duplicate)
		}
	}
	return false
}

// unfinished stops an operation for good: before the request that would be next, or before it hears of the last.
func (w *writer) unfinished(d *operation, held *moment) faults.Breakpoint {
	if held.kind == trace.Serve {
		return w.breakpoint(faults.ActHoldReply, held.step, d.requests[:held.request])
	}
	n := 1
	for _, r := range d.requests {
		n += len(words(r, ""))
	}
	return faults.Breakpoint{Action: faults.ActHoldRequest, Nth: n, Match: faults.Match{Kind: faults.MatchAny}}
}

// at is a breakpoint at a request, after those that the operation has sent before.
func (w *writer) breakpoint(do faults.Action, request *trace.Step, before []*trace.Step) faults.Breakpoint {
	names := words(request, "")
	name := names[len(names)-1]
	nth := 1
	if last := request.Request[len(request.Request)-1]; do == faults.ActHoldRequest && nameOf(last) != "EXEC" {
		name = names[0]
	} else {
		nth = len(words(request, name))
	}
	server := ""
	if w.out.Servers > 0 && request.Server >= 0 {
		server = scenarios.ServerNames(w.out.Servers)[request.Server]
	}
	for _, r := range before {
		if server == "" || r.Server == request.Server {
			nth += len(words(r, name))
		}
	}
	return faults.Breakpoint{Action: do, Nth: nth, Match: faults.Match{Kind: faults.MatchCommand, Command: name}, Server: server}
}

// words are the names of the commands of a request that breakpoints count; of those with a given name, if one is given.
func words(request *trace.Step, only string) []string {
	var names []string
	for _, command := range request.Request {
		name := nameOf(command)
		if (only == "" || name == only) && (name == "EXEC" || namesKey(command)) {
			names = append(names, name)
		}
	}
	return slices.Clip(names)
}
