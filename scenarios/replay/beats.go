// Package replay writes scripts that show live what an exploration has found: a trace of the model becomes a .lab file whose
// breakpoints, faults and waits force the same order. It writes only what needs forcing: what comes out the same without is left out,
// and what nobody else notices moves to where it needs no breakpoint. The checker says of each such change whether the trace still
// shows its anomalies.
package replay

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/sim/trace"
)

// beat is one thing in a trace that has a place of its own in the story.
type beat struct {
	kind    trace.Kind
	step    *trace.Step
	who     int   // the client; nobody: the lab
	deed    *deed // the operation that it is a part of; nil: it is part of none
	request int   // which of the deed's requests it is about
	server  int   // where it takes effect
	changes bool  // what is there
	events  []history.Event
}

// Who is no client, and where there is no server.
const (
	nobody  = -1
	nowhere = -2
)

// deed is an operation.
type deed struct {
	op       history.Op
	requests []*trace.Step // those that breakpoints count
	outcome  history.Outcome
	returned bool
	ending   bool // it has not returned when the trace ends, and would with the next reply
	changed  bool // it changed what is on a server
	spoilt   bool // a fault struck one of its requests
	waits    bool // an acquire that was refused, and tried again
	endless  bool // a release that its user gave up, though nothing held it up
}

// tale is a trace, taken apart.
type tale struct {
	trace    *trace.Trace
	prologue []history.Event // who takes part
	beats    []*beat
	trial    []*beat // what happens from when a fresh client tries, in the end; empty: none does
	epilogue []history.Event
}

func newTale(t *trace.Trace) *tale {
	var rest []history.Event
	out := &tale{trace: t}
	for _, e := range t.Events {
		switch e.Kind {
		case history.KindOpen:
			e.At = 0
			out.prologue = append(out.prologue, e)
		case history.KindFinal, history.KindEnd:
			out.epilogue = append(out.epilogue, e)
		default:
			if !resumes(e) {
				rest = append(rest, e)
			}
		}
	}
	r := &reader{rest: rest, deeds: map[int64]*deed{}, open: map[int]*deed{}, deaf: map[int]bool{}}
	for i := range t.Steps {
		b := r.read(&t.Steps[i])
		switch {
		case b == nil:
		case len(out.trial) > 0 || isTrial(b):
			out.trial = append(out.trial, b)
		default:
			out.beats = append(out.beats, b)
		}
	}
	out.beats = withSaves(withoutEcho(out.beats))
	for who, d := range r.open {
		d.ending = who < len(t.Ending) && t.Ending[who] && !out.goesOnBeside(who, d)
	}
	return out
}

// resumes says whether an event is that a client goes on which stood still: its next step says as much.
func resumes(e history.Event) bool {
	return e.Kind == history.KindFault && e.Detail.Fault.Phase == history.PhaseRecover
}

// goesOnBeside says whether something that runs beside a client's operation comes after all that the operation does: so that it could
// end is no reason to let it.
func (t *tale) goesOnBeside(who int, d *deed) bool {
	for _, b := range slices.Backward(t.beats) {
		switch {
		case b.deed == d:
			return false
		case b.who == who && b.deed == nil && b.kind == trace.Serve:
			return true
		}
	}
	return false
}

// save as the kind of a beat: a server keeps a copy of its data, for the time after a fail-over.
const save trace.Kind = "save"

// withSaves has each server that will fail over save its data, right before the writes that are to be lost.
func withSaves(beats []*beat) []*beat {
	for i := len(beats) - 1; i >= 0; i-- {
		if !strikes(beats[i], faults.FailOver) {
			continue
		}
		server, lost := beats[i].server, beats[i].step.Lost
		for k := i - 1; k >= 0; k-- {
			written := beats[k]
			if written.server != server || !written.changes {
				continue
			}
			if lost--; lost == 0 {
				saved := &beat{kind: save, step: &trace.Step{At: written.step.At, Client: nobody}, who: nobody, server: server}
				beats = slices.Insert(beats, k, saved)
				i++
				break
			}
		}
	}
	return beats
}

// isTrial says whether a fresh client begins to try.
func isTrial(b *beat) bool { return b.kind == trace.Call && b.step.Fresh }

// withoutEcho takes out the reply that comes with an operation's return: they are one.
func withoutEcho(beats []*beat) []*beat {
	echo := map[*beat]bool{}
	last := map[int]*beat{}
	for _, b := range beats {
		if before := last[b.who]; b.kind == trace.Return && before != nil && before.kind == trace.Reply {
			echo[before] = true
		}
		last[b.who] = b
	}
	return slices.DeleteFunc(beats, func(b *beat) bool { return echo[b] })
}

// reader goes through the steps of a trace and the events that belong to them.
type reader struct {
	rest  []history.Event
	deeds map[int64]*deed
	open  map[int]*deed // by client
	deaf  map[int]bool  // the client's next reply is to a request that does not count
}

// take takes the next event if it is of a kind.
func (r *reader) take(kinds ...history.Kind) []history.Event {
	if len(r.rest) == 0 || !slices.Contains(kinds, r.rest[0].Kind) {
		return nil
	}
	taken := r.rest[:1:1]
	r.rest = r.rest[1:]
	return taken
}

// read makes a beat of a step; nil: it has no place of its own.
func (r *reader) read(step *trace.Step) *beat {
	b := &beat{kind: step.Kind, step: step, who: step.Client, server: nowhere}
	switch step.Kind {
	case trace.Call:
		b.events = r.take(history.KindCall)
		b.deed = &deed{op: step.Op}
		r.deeds[step.ID], r.open[step.Client] = b.deed, b.deed
	case trace.Return:
		if step.Retries {
			r.open[step.Client].waits = true
			return nil
		}
		b.events = r.take(history.KindReturn)
		b.deed = r.open[step.Client]
		b.deed.returned, b.deed.outcome = true, step.Answer.Outcome
		b.deed.endless = step.Op == history.OpRelease && b.events[0].Detail.GaveUp
		delete(r.open, step.Client)
	case trace.Serve, trace.Arrive:
		b.events = r.take(history.KindCommand)
		b.server, b.changes = step.Server, changes(b.events[0].Detail.Command)
		if !counts(step) {
			r.deaf[step.Client] = step.Kind == trace.Serve && !step.Beside
			return nil
		}
		r.served(b)
	case trace.Reply:
		if step.Beside || r.deaf[step.Client] {
			r.deaf[step.Client] = r.deaf[step.Client] && step.Beside
			return nil
		}
		b.deed = r.open[step.Client]
		b.request = len(b.deed.requests) - 1
	case trace.Fault:
		r.struck(b)
	case trace.Time:
		b.who = nobody
	case trace.Notice:
		b.events = r.take(history.KindLost, history.KindValid)
	case trace.Expire:
		r.timedOut(b)
	default:
		return nil
	}
	return b
}

// served notes a request with its operation.
func (r *reader) served(b *beat) {
	d := r.deeds[b.step.ID]
	if d == nil || b.kind == trace.Arrive {
		return
	}
	b.deed, b.request = d, len(d.requests)
	d.requests = append(d.requests, b.step)
	d.changed = d.changed || b.changes
}

// timedOut notes what an operation has stopped waiting for.
func (r *reader) timedOut(b *beat) {
	b.server = nowhere
	if b.step.Beside || r.deaf[b.step.Client] {
		return
	}
	b.deed = r.open[b.step.Client]
	if b.step.Request != nil {
		b.deed.requests = append(b.deed.requests, b.step)
	}
	b.request = len(b.deed.requests) - 1
}

func (r *reader) struck(b *beat) {
	b.events = r.take(history.KindFault)
	who := b.step.Client
	switch b.step.Fault {
	case faults.Crash:
		b.events = slices.Concat(b.events, r.take(history.KindExit))
		delete(r.open, who)
	case faults.ReplyLost, faults.LateRequest, faults.Duplicate:
		if b.step.Beside {
			return
		}
		b.deed = r.open[who]
		b.deed.spoilt = true
		if b.step.Fault == faults.LateRequest {
			b.deed.requests = append(b.deed.requests, b.step)
		}
		b.request = len(b.deed.requests) - 1
	case faults.ClockJump, faults.Restart, faults.FailOver:
		b.who, b.server, b.changes = nobody, b.step.Server, true
	}
}

// The keys of the model that breakpoints count: the lock's, and that of the data.
const (
	lockName = "k"
	dataName = "k:counter"
)

// counts says whether breakpoints count a request: it names a key, and a script that the server did not know is sent once more.
func counts(step *trace.Step) bool {
	if strings.HasPrefix(step.Reply, "(error) NOSCRIPT") {
		return false
	}
	return slices.ContainsFunc(step.Request, namesKey)
}

func namesKey(command []string) bool {
	return slices.ContainsFunc(command, func(word string) bool { return word == lockName || word == dataName })
}

// change is what a command has done to the lock.
func (b *beat) change() (history.Change, bool) {
	changes := b.events[0].Detail.Command.Changes
	if len(changes) == 0 {
		return history.Change{}, false
	}
	return changes[0], true
}

// changes says whether a command may have changed what is on its server. A script with several keys may change those that are not
// the lock's.
func changes(c *history.Command) bool {
	name := nameOf(c.Args)
	if len(c.Changes) == 0 {
		return name != "GET" && name != "WATCH"
	}
	switch name {
	case "EVAL":
		if len(c.Args) > 2 && c.Args[2] != "1" {
			return true
		}
	case "EXPIRE", "PEXPIRE":
		return c.Reply == "1"
	}
	return c.Changes[0].Before != c.Changes[0].After
}

// nameOf is a command's name as scripts write it.
func nameOf(command []string) string {
	if name := strings.ToUpper(command[0]); name != "EVALSHA" {
		return name
	}
	return "EVAL"
}
