// Package reproduce owns the writing of scripts that force a schedule: the explorer's counterexamples, and what storms have found.
//
// Both are a trace (internal/sim/trace): the explorer's own, or what FromHistory reads in the history of a storm. One writer makes a .lab file of
// it whose breakpoints, faults and waits force the same order. It writes only what needs forcing: what comes out the same without is
// left out, and what nobody else notices moves to where it needs no breakpoint; the checker says of each such change whether the trace
// still shows its anomalies. Shrink then leaves out what a script does not need.
//
// The package is pure: whoever uses it plays the scripts. It must not know worlds, servers or the search.
package reproduce

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
)

// moment is a step of the trace that has a place of its own in the order.
type moment struct {
	kind      trace.Kind
	step      *trace.Step
	who       int        // the client; nobody: the lab
	host      int        // its process, by the first client there
	operation *operation // the operation that it is a part of; nil: it is part of none
	request   int        // which of the operation's requests it is about
	server    int        // where it takes effect
	changes   bool       // what is there
	unread    bool       // a step of its client's clock: the client has not read the latest reply
	breaks    *moment    // its operation waits for a server next, and learns at this moment that the connection has broken
	events    []history.Event
	own       *execution  // of a request that breakpoints count
	asides    []execution // those that come with it, and that they do not count
}

// Who is no client, and where there is no server.
const (
	nobody  = -1
	nowhere = -2
)

// operation is an operation.
type operation struct {
	op       history.Op
	requests []*trace.Step // those that breakpoints count
	outcome  history.Outcome
	returned bool
	ending   bool          // it has not returned when the trace ends, and would with the next reply
	changed  bool          // it changed what is on a server
	aside    bool          // it may have changed what is not under the lock's key
	learned  bool          // its lock may remember something else after it
	faulted  bool          // a fault hit one of its requests
	lost     bool          // it waits for what is lost
	waits    bool          // an acquire that was refused, and tried again
	beside   bool          // an acquire that goes on trying beside all that follows; it is given up where the trace has its return
	bound    time.Duration // for how long the client of such an acquire lets it try; zero: for long
	hung     bool          // a release that its user gave up, though nothing held it up
	latest   *moment       // its latest moment so far
	asides   []execution   // since then; see asides.go
}

// schedule is a trace, taken apart.
type schedule struct {
	trace    *trace.Trace
	prologue []history.Event // who takes part
	moments  order
	trial    []*moment // what happens from when a fresh client tries, in the end; empty: none does
	epilogue []history.Event
}

// newSchedule reads a trace. One that a damaged history has left may lack what a step belongs to, which is an error.
func newSchedule(t *trace.Trace) (*schedule, error) {
	var rest []history.Event
	out := &schedule{trace: t}
	for _, e := range t.Events {
		switch e.Kind {
		case history.KindOpen:
			e.At = 0
			out.prologue = append(out.prologue, e)
		case history.KindFinal, history.KindEnd:
			out.epilogue = append(out.epilogue, e)
		default:
			if !stepless(e) {
				rest = append(rest, e)
			}
		}
	}
	r := &reader{rest: rest, operations: map[int64]*operation{}, open: map[int]*operation{}, learned: t.Learned, uncounted: map[int]bool{}}
	for i := range t.Steps {
		r.at = i
		b, err := r.read(&t.Steps[i])
		if b != nil && b.operation != nil {
			b.operation.takeAsides(b)
		}
		if b != nil && (i+1 == len(t.Steps) || t.Steps[i+1].Kind != trace.Time) {
			b.events = slices.Concat(b.events, r.entries())
		}
		if b != nil {
			b.host = processOf(t, b.who)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("step %d of the schedule: %w", i+1, err)
		case b == nil:
		case len(out.trial) > 0 || isTrial(b):
			out.trial = append(out.trial, b)
		default:
			out.moments = append(out.moments, b)
		}
	}
	for _, o := range r.operations {
		o.takeAsides(nil)
	}
	markUnread(out.moments)
	markBroken(out.moments)
	out.moments = withSaves(withoutReplies(out.moments))
	for who, d := range r.open {
		d.ending = who < len(t.Ending) && t.Ending[who] && !out.goesOnBeside(who, d)
	}
	return out, nil
}

// markUnread notes which steps of clocks come between a command and its client's reading of the reply.
func markUnread(moments []*moment) {
	unread := map[int]bool{}
	for _, b := range moments {
		switch {
		case stepsClock(b):
			b.unread = unread[b.who]
		case !b.step.Beside && b.who != nobody:
			unread[b.who] = b.kind == trace.Serve || unread[b.who] && b.kind == trace.Fault
		}
	}
}

// markBroken notes since when an operation has waited that learns in the end that its connection has broken.
func markBroken(moments []*moment) {
	last := map[*operation]*moment{}
	for _, b := range moments {
		if b.operation == nil {
			continue
		}
		if before := last[b.operation]; b.kind == trace.Break && before != nil {
			before.breaks = b
		}
		last[b.operation] = b
	}
}

func stepsClock(b *moment) bool { return strikes(b, faults.StepAhead, faults.StepBack) }

// processOf is the first client in the process of a client.
func processOf(t *trace.Trace, who int) int {
	if t.Names == nil || who < 0 {
		return who
	}
	return slices.IndexFunc(t.Names, func(name string) bool {
		return history.ProcessOf(name) == history.ProcessOf(t.Names[who])
	})
}

// stepless says whether an event has no step of the trace: a paused client is resumed, as its next step shows, or what is late never arrives.
func stepless(e history.Event) bool {
	f, without := e.Fault(), []faults.Kind{faults.Pause, faults.LateRequest.Of().Recorded}
	return f != nil && f.Phase == history.PhaseRecover && slices.Contains(without, faults.Kind(f.Name))
}

// goesOnBeside says whether something that runs beside a client's operation comes after all that the operation does: so that it could
// end is no reason to let it.
func (t *schedule) goesOnBeside(who int, d *operation) bool {
	for _, b := range slices.Backward(t.moments) {
		switch {
		case b.operation == d:
			return false
		case b.who == who && b.operation == nil && b.kind == trace.Serve:
			return true
		}
	}
	return false
}

// save as the kind of a moment: a server keeps a copy of its data, for the time after a fail-over.
const save trace.Kind = "save"

// withSaves has each server that will fail over save its data, right before the writes that are to be lost.
func withSaves(moments []*moment) []*moment {
	for i := len(moments) - 1; i >= 0; i-- {
		if !strikes(moments[i], faults.FailOver) {
			continue
		}
		server, lost := moments[i].server, moments[i].step.Lost
		for k := i - 1; k >= 0; k-- {
			written := moments[k]
			if written.server != server || !written.changes {
				continue
			}
			if lost--; lost == 0 {
				saved := &moment{kind: save, step: &trace.Step{At: written.step.At, Client: nobody}, who: nobody, host: nobody, server: server}
				moments = slices.Insert(moments, k, saved)
				i++
				break
			}
		}
	}
	return moments
}

// isTrial says whether a fresh client begins to try.
func isTrial(b *moment) bool { return b.kind == trace.Call && b.step.Fresh }

// withoutReplies takes out the reply that comes with an operation's return: they are one.
func withoutReplies(moments []*moment) []*moment {
	merged := map[*moment]bool{}
	last := map[int]*moment{}
	for _, b := range moments {
		if before := last[b.who]; b.kind == trace.Return && before != nil && before.kind == trace.Reply {
			merged[before] = true
		}
		last[b.who] = b
	}
	return slices.DeleteFunc(moments, func(b *moment) bool { return merged[b] })
}
