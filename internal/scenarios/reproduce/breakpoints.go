package reproduce

import (
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/trace"
)

// breakpoints are the breakpoints of an operation: where something comes between two of its moments, and where a fault strikes.
func (o order) breakpoints(d *operation, servers []string) []faults.Breakpoint {
	var breakpoints []faults.Breakpoint
	var held *moment // the moment after which it has been stopped
	var since int    // its place
	for i, b := range o {
		if b.operation != d {
			continue
		}
		breakpoints = append(breakpoints, o.stopsAt(i, held, since, servers)...)
		if b.kind == trace.Serve && o.copied(i) {
			breakpoints = append(breakpoints, breakpoint(faults.ActHoldCopy, d.requests[:b.request+1], servers))
		}
		held = nil
		if o.interrupted(i) && (!unanswered(b) || b.goesOn()) {
			held, since = b, i
		}
	}
	if held != nil {
		breakpoints = append(breakpoints, unfinished(d, held, servers))
	}
	return breakpoints
}

// stopsAt is the breakpoint for the ith moment of the schedule, if its operation has to be stopped there. It was stopped after held, which is the
// moment at since, or was not stopped.
func (o order) stopsAt(i int, held *moment, since int, servers []string) []faults.Breakpoint {
	b := o[i]
	d := b.operation
	at := func(do faults.Action, request int) []faults.Breakpoint {
		return []faults.Breakpoint{breakpoint(do, d.requests[:request+1], servers)}
	}
	switch {
	case strikes(b, faults.ReplyLost, faults.LateRequest) && !b.counted(): // breakpoints do not count it, so it is held at what comes next
		return []faults.Breakpoint{{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchAny}}}
	case strikes(b, faults.LateRequest):
		return at(faults.ActHoldRequest, b.request)
	case strikes(b, faults.ReplyLost):
		do := faults.ActDropReply
		if b.step.Waits || b.goesOn() {
			do = faults.ActHoldReply
		}
		return at(do, b.request)
	case b.kind == trace.Expire && d.lost, b.kind == trace.Expire && o.isApart(i): // it is held already, or comes to nowhere
		return nil
	case b.kind == trace.Expire, b.kind == trace.Break:
		return at(o.missed(b), b.request)
	case held == nil:
		return nil
	case b.kind == trace.Serve && o.atReply(since, i):
		return at(faults.ActHoldReply, b.request-1)
	case b.kind == trace.Serve:
		return at(faults.ActHoldRequest, b.request)
	case len(d.requests) > 0 && b.kind != trace.Fault:
		last := len(d.requests) - 1
		if b.kind != trace.Return {
			last = min(last, b.request)
		}
		return at(faults.ActHoldReply, last)
	}
	return nil
}

// unanswered says whether a client goes on at a moment without the reply that it has waited for, other than by its own time-out.
func unanswered(b *moment) bool {
	return b.kind == trace.Break || strikes(b, faults.ReplyLost, faults.LateRequest)
}

// counted says whether breakpoints count the request that a loss is about.
func (b *moment) counted() bool {
	return b.request >= 0 && len(words(b.operation.requests[b.request], "")) > 0
}

// atReply says whether a client that is stopped before a request must be stopped at the reply to the one before instead: a restart of the server would
// lose the request if it were held, or the client's clock steps before it reads that reply.
func (o order) atReply(since, i int) bool {
	b := o[i]
	return b.request > 0 && slices.ContainsFunc(o[since:i], func(other *moment) bool {
		return strikes(other, faults.Restart, faults.FailOver) && other.server == b.server || other.unread && other.who == b.who
	})
}

// missed is how a request is stopped that its client will wait for too long.
func (o order) missed(b *moment) faults.Action {
	answered := slices.ContainsFunc(o, func(served *moment) bool {
		return served.kind == trace.Serve && served.operation == b.operation && served.request == b.request
	})
	if answered {
		return faults.ActHoldReply
	}
	return faults.ActHoldRequest
}

// copied says whether the request at a moment is sent twice.
func (o order) copied(i int) bool {
	before := o.before(i)
	return before >= 0 && strikes(o[before], faults.Duplicate)
}

// unfinished stops an operation for good: before the request that would be next, or before it hears of the last.
func unfinished(d *operation, held *moment, servers []string) faults.Breakpoint {
	if held.kind == trace.Serve {
		return breakpoint(faults.ActHoldReply, d.requests[:held.request+1], servers)
	}
	n := 1
	for _, r := range d.requests {
		n += len(words(r, ""))
	}
	return faults.Breakpoint{Action: faults.ActHoldRequest, Nth: n, Match: faults.Match{Kind: faults.MatchAny}}
}

// breakpoint is one at the last of some requests, which follow on one another. Servers have names where there are several.
func breakpoint(do faults.Action, requests []*trace.Step, servers []string) faults.Breakpoint {
	before, request := requests[:len(requests)-1], requests[len(requests)-1]
	names := words(request, "")
	name := names[len(names)-1]
	nth := 1
	if last := request.Request[len(request.Request)-1]; do == faults.ActHoldRequest && nameOf(last) != "EXEC" {
		name = names[0]
	} else {
		nth = len(words(request, name))
	}
	server := ""
	if len(servers) > 0 && request.Server >= 0 {
		server = servers[request.Server]
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
