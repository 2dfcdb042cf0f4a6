package reproduce

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/scenarios"
)

// Script writes the script of a trace. The error names a step that a script cannot express.
func Script(lock impls.Spec, t *trace.Trace) (*scenarios.Script, error) {
	plan, err := newSchedule(t)
	if err != nil {
		return nil, err
	}
	plan.prune()
	plan.arrange()
	w := &writer{
		trace: t, moments: plan.moments, trial: plan.trial, clients: actorsOf(t),
		leases: leases{trace: t, lock: lock, given: map[int]leased{}, saved: map[int]leased{}},
		script: script{&scenarios.Script{
			Name: lock.Name, Title: title(t), About: about(t), Source: "lab explore " + lock.Name,
			Expect: scenarios.Expectation{Lock: lock.Name, Anomalies: t.Anomalies},
		}},
	}
	if t.Servers > 1 {
		w.script.Servers = t.Servers
	}
	if err := w.write(); err != nil {
		return nil, err
	}
	checked, err := Check(renamed(w.script.Script))
	if err != nil {
		return nil, fmt.Errorf("no script forces this trace: %w", err)
	}
	return checked, nil
}

func title(t *trace.Trace) string {
	faults := "without any fault"
	if len(t.Faults) > 0 {
		faults = "after " + listed(t.Faults)
	}
	return fmt.Sprintf("%s %s: %s.", t.Lock, faults, listed(t.Anomalies))
}

func listed[T ~string](names []T) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = string(name)
	}
	return strings.Join(words, ", ")
}

func about(t *trace.Trace) []string {
	lines := []string{"Found by trying every order of what clients, server and time can do; within those bounds fewer faults do not show it."}
	var faults []string
	for _, s := range t.Steps {
		if s.Kind == trace.Fault {
			faults = append(faults, fmt.Sprintf("%s: %s.", s.Fault, t.Meaning(s)))
		}
	}
	slices.Sort(faults)
	return append(lines, slices.Compact(faults)...)
}

// opened is an operation that has begun in the script.
type opened struct {
	operation *operation
	stop      bool // it is held up
	unread    bool // its reply has come, to a paused process
	apart     bool // its client was cut off when it began
	givenUp   bool
}

// writer writes a script that forces an order of moments.
type writer struct {
	trace   *trace.Trace
	moments order
	trial   []*moment // see schedule
	clients []*actor
	leases  leases
	script  script
}

func (w *writer) write() error {
	for i, b := range w.moments {
		if err := w.moment(i, b); err != nil {
			return fmt.Errorf("step %q at %v: %w", b.step.Kind, b.step.At, err)
		}
	}
	w.writeTrial()
	w.close()
	w.script.Lease = w.leases.length()
	return nil
}

func (w *writer) moment(i int, b *moment) error {
	switch b.kind {
	case trace.Time:
		var next *moment
		if i+1 < len(w.moments) {
			next = w.moments[i+1]
		}
		if wait := w.leases.pass(b, next); wait != nil {
			w.script.lab(*wait)
		}
		return nil
	case trace.Fault:
		return w.strike(i, b)
	case trace.Arrive:
		return w.arrive(b)
	case trace.Expire:
		return w.timeOut(i, b)
	case trace.Break:
		return w.breakOff(i, b)
	case trace.Heal:
		w.script.heal(w.clients[b.who])
		return nil
	case save:
		w.leases.save(b.server)
		w.script.lab(scenarios.Step{Verb: scenarios.VerbSave, Servers: w.script.server(b.server)})
		return nil
	}
	w.leases.touch(b)
	if b.operation == nil {
		return w.beside(i, b)
	}
	return w.act(i, b)
}

// act begins an operation, or lets it go on after something has come between.
func (w *writer) act(i int, b *moment) error {
	a := w.clients[b.who]
	t := a.open
	switch {
	case t == nil || t.operation != b.operation:
		if b.operation.waits && slices.Contains(w.trace.Anomalies, checker.Unfair) && len(w.breakpoints(b.operation)) > 0 {
			return errors.New("who is held on the wire while it waits for its turn does not count as overtaken")
		}
		if err := w.begin(i, b); err != nil {
			return err
		}
	case t.apart:
		t.apart = false
		w.script.does(a, scenarios.VerbAwait)
		w.came(a, i)
	case b.operation.beside:
		w.follow(b)
	case t.stop && w.moments.interruptedBefore(i):
		if !w.moments.tooLate(i) {
			w.script.resume(a)
		}
		w.script.goOn(a)
		w.came(a, i)
	}
	if b.kind == trace.Return {
		a.open = nil
	}
	return nil
}

// follow writes what becomes of an acquire that goes on trying: it is refused, or its client gives it up.
func (w *writer) follow(b *moment) {
	switch {
	case b.kind == trace.Return:
		w.script.does(w.clients[b.who], scenarios.VerbGiveUp)
	case b.operation.bound > 0:
		w.script.does(w.clients[b.who], scenarios.VerbWaits)
	}
}

// begin begins an operation.
func (w *writer) begin(i int, b *moment) error {
	a, d := w.clients[b.who], b.operation
	w.script.resume(a)
	a.open = &opened{operation: d}
	step := scenarios.Step{Verb: scenarios.VerbOp, Op: d.op}
	switch {
	case d.hung: // by itself
		step.Within, step.Want = scenarios.Span{Leases: 1.25}, []scenarios.Result{scenarios.ResultUnknown}
		w.script.step(a, step)
	case a.host.apart && d.op != history.OpWork: // which does not use the ZooKeeper
		return w.beginApart(i, b)
	case d.bound > 0:
		w.leases.tries = true
		step.Within, step.Async = scenarios.Span{Leases: w.trace.Leases(d.bound)}, true
		w.script.step(a, step)
	case d.beside && len(d.requests) > 0: // it has been refused before anything else happens
		step.Within, step.Async = scenarios.Span{Leases: 10}, true
		w.script.step(a, step)
		w.script.does(a, scenarios.VerbWaits)
	case d.beside: // it holds what it needs for a try before anything else happens
		step.Within = scenarios.Span{Leases: 3}
		step.Breakpoints = []faults.Breakpoint{{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchAny}}}
		w.script.step(a, step)
		w.script.step(a, scenarios.Step{Verb: scenarios.VerbContinue, Async: true})
	default:
		if step.Breakpoints = w.breakpoints(d); d.waits {
			step.Within = scenarios.Span{Fixed: time.Minute} // longer than anything takes here
		}
		w.script.step(a, step)
		w.came(a, i)
	}
	return nil
}

func (w *writer) breakpoints(d *operation) []faults.Breakpoint {
	return w.moments.breakpoints(d, w.script.names())
}

// came says what the latest step came to: the operation is held up, or it has ended.
func (w *writer) came(a *actor, i int) {
	t, step := a.open, &w.script.Steps[len(w.script.Steps)-1]
	t.stop = w.moments.stops(t.operation, i) || i > 0 && w.moments[i-1].operation == t.operation && w.moments.interrupted(i-1)
	switch {
	case t.stop:
		step.Want = []scenarios.Result{scenarios.ResultHeldUp}
	case t.operation.returned:
		step.Want = []scenarios.Result{scenarios.Result(t.operation.outcome.String())}
	}
}

// writeTrial has a fresh client try for longer than any lease lasts, where it is to find the lock stuck.
func (w *writer) writeTrial() {
	if len(w.trial) == 0 || !slices.Contains(w.trace.Anomalies, checker.StuckLock) {
		return
	}
	w.close()
	w.leases.short = true
	w.script.step(w.clients[w.trial[0].who], scenarios.Step{
		Verb: scenarios.VerbOp, Op: history.OpAcquire, Within: scenarios.Span{Leases: 3}, Want: []scenarios.Result{scenarios.ResultNo},
	})
}

// close leaves nothing of any client open.
func (w *writer) close() {
	for _, a := range w.clients {
		w.script.resume(a)
		w.script.heal(a)
		if (a.lateBeside || a.cut) && !a.host.dead {
			w.script.arriveBeside(a)
		}
		switch t := a.open; {
		case t == nil:
		case t.stop:
			w.script.goOn(a)
		case t.operation.beside, t.apart:
			w.script.does(a, scenarios.VerbAwait)
		}
		a.open = nil
	}
}
