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
	order, err := newSchedule(t)
	if err != nil {
		return nil, err
	}
	order.prune()
	order.arrange()
	w := &writer{
		schedule: order, lock: lock, naming: naming{map[int]string{}, map[int]string{}}, open: map[int]*opened{}, paused: map[int]bool{}, clocks: map[int]float64{}, dead: map[int]bool{}, partitions: partitions{apart: map[int]bool{}, unsent: map[int][]*trace.Step{}},
		late: map[int][]*trace.Step{}, lateBeside: map[int]bool{}, cut: map[int]bool{}, renewing: map[int]bool{}, touched: map[int]leased{}, saved: map[int]leased{},
		out: &scenarios.Script{
			Name: lock.Name, Title: title(t), About: about(t), Source: "lab explore " + lock.Name,
			Expect: scenarios.Expectation{Lock: lock.Name, Anomalies: t.Anomalies},
		},
	}
	if t.Servers > 1 {
		w.out.Servers = t.Servers
	}
	if err := w.write(); err != nil {
		return nil, err
	}
	script, err := Check(w.out)
	if err != nil {
		return nil, fmt.Errorf("no script forces this trace: %w", err)
	}
	return script, nil
}

func title(t *trace.Trace) string {
	faults := "without any fault"
	if len(t.Faults) > 0 {
		words := make([]string, len(t.Faults))
		for i, kind := range t.Faults {
			words[i] = string(kind)
		}
		faults = "after " + strings.Join(words, ", ")
	}
	names := make([]string, len(t.Anomalies))
	for i, name := range t.Anomalies {
		names[i] = string(name)
	}
	return fmt.Sprintf("%s %s: %s.", t.Lock, faults, strings.Join(names, ", "))
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

type writer struct {
	*schedule
	partitions
	naming
	lock       impls.Spec
	out        *scenarios.Script
	open       map[int]*opened
	paused     map[int]bool          // processes, each by its first client
	dead       map[int]bool          // processes
	late       map[int][]*trace.Step // requests of the client that it has given up, and copies, the latest last
	renewing   map[int]bool          // a renewal of the client is held up
	lateBeside map[int]bool          // the same of what runs beside its operations
	cut        map[int]bool          // the client's requests are cut off, since that is late beside an operation that is held
	touched    map[int]leased        // by server that has a lock whose lease has not been waited for
	saved      map[int]leased        // the same of what servers have saved
	clocks     map[int]float64       // by how many leases clients' clocks are wrong
	short      bool                  // a lease has to end
	exact      bool                  // clocks have to show what they do in the trace
	tries      bool                  // the client of an acquire has to try for too long
	passed     time.Duration         // since the latest step that is not time
	byClock    bool                  // and a client's clock made it so long
}

func (w *writer) write() error {
	for i, b := range w.moments {
		if err := w.moment(i, b); err != nil {
			return fmt.Errorf("step %q at %v: %w", b.step.Kind, b.step.At, err)
		}
	}
	w.writeTrial()
	for who := range w.trace.Clients {
		w.close(who)
	}
	w.out.Lease = w.lease()
	return nil
}

func (w *writer) moment(i int, b *moment) error {
	switch b.kind {
	case trace.Time:
		w.pass(i, b)
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
		w.heal(b.who)
		return nil
	case save:
		w.save(b)
		return nil
	}
	w.touch(b)
	if b.operation == nil {
		return w.beside(i, b)
	}
	return w.act(i, b)
}

// act begins an operation, or lets it go on after something has come between.
func (w *writer) act(i int, b *moment) error {
	t := w.open[b.who]
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
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbAwait})
		w.came(b.who, i)
	case b.operation.beside:
		w.follow(b)
	case t.stop && interruptedBefore(w.moments, i):
		if !w.tooLate(i) {
			w.resume(b.who)
		}
		w.goOn(b.who)
		w.came(b.who, i)
	}
	if b.kind == trace.Return {
		delete(w.open, b.who)
	}
	return nil
}

// follow writes what becomes of an acquire that goes on trying: it is refused, or its client gives it up.
func (w *writer) follow(b *moment) {
	switch {
	case b.kind == trace.Return:
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbGiveUp})
	case b.operation.bound > 0:
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbWaits})
	}
}

func (w *writer) begin(i int, b *moment) error {
	w.resume(b.who)
	w.open[b.who] = &opened{operation: b.operation}
	if b.operation.hung { // by itself
		w.step(b.who, scenarios.Step{
			Verb: scenarios.VerbOp, Op: b.operation.op, Within: scenarios.Span{Leases: 1.25}, Want: []scenarios.Result{scenarios.ResultUnknown},
		})
		return nil
	}
	if w.apart[w.process(b.who)] && !b.operation.worksApart() {
		return w.beginApart(i, b)
	}
	if b.operation.bound > 0 {
		w.tries = true
		within := scenarios.Span{Leases: w.trace.Leases(b.operation.bound)}
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbOp, Op: b.operation.op, Within: within, Async: true})
		return nil
	}
	if b.operation.beside && len(b.operation.requests) > 0 { // it has been refused before anything else happens
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbOp, Op: b.operation.op, Within: scenarios.Span{Leases: 10}, Async: true})
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbWaits})
		return nil
	}
	if b.operation.beside { // it holds what it needs for a try before anything else happens
		first := faults.Breakpoint{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchAny}}
		w.step(b.who, scenarios.Step{
			Verb: scenarios.VerbOp, Op: b.operation.op, Within: scenarios.Span{Leases: 3}, Breakpoints: []faults.Breakpoint{first},
		})
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbContinue, Async: true})
		return nil
	}
	step := scenarios.Step{Verb: scenarios.VerbOp, Op: b.operation.op, Breakpoints: w.breakpoints(b.operation)}
	if b.operation.waits {
		step.Within = scenarios.Span{Fixed: time.Minute} // longer than anything takes here
	}
	w.step(b.who, step)
	w.came(b.who, i)
	return nil
}

// came says what the latest step came to: the operation is held up, or it has ended.
func (w *writer) came(who, i int) {
	t := w.open[who]
	step := &w.out.Steps[len(w.out.Steps)-1]
	if t.stop = w.stops(t.operation, i) || i > 0 && w.moments[i-1].operation == t.operation && interrupted(w.moments, i-1); t.stop {
		step.Want = []scenarios.Result{scenarios.ResultHeldUp}
		return
	}
	if t.operation.returned {
		step.Want = []scenarios.Result{scenarios.Result(t.operation.outcome.String())}
	}
}

// stops says whether an operation is stopped once more, at the ith moment or later.
func (w *writer) stops(d *operation, i int) bool {
	for k := i; k < len(w.moments); k++ {
		b := w.moments[k]
		if b.operation == d && (interrupted(w.moments, k) || b.kind == trace.Expire || unanswered(b)) {
			return true
		}
	}
	return false
}

// interruptedBefore says whether something has come between a moment and the one before of its operation.
func interruptedBefore(moments []*moment, i int) bool {
	for k := i - 1; k >= 0; k-- {
		if moments[k].operation == moments[i].operation {
			return interrupted(moments, k)
		}
	}
	return false
}

// writeTrial has a fresh client try for longer than any lease lasts, where it is to find the lock stuck.
func (w *writer) writeTrial() {
	if len(w.trial) == 0 || !slices.Contains(w.trace.Anomalies, checker.StuckLock) {
		return
	}
	for who := range w.trace.Clients {
		w.close(who)
	}
	call := w.trial[0]
	w.short = true
	w.step(call.who, scenarios.Step{
		Verb: scenarios.VerbOp, Op: history.OpAcquire, Within: scenarios.Span{Leases: 3}, Want: []scenarios.Result{scenarios.ResultNo},
	})
}

// close leaves nothing of a client open.
func (w *writer) close(who int) {
	w.resume(who)
	w.heal(who)
	if (w.lateBeside[who] || w.cut[who]) && !w.dead[w.process(who)] {
		w.arriveBeside(who)
	}
	switch t := w.open[who]; {
	case t == nil:
	case t.stop:
		w.goOn(who)
	case t.operation.beside, t.apart:
		w.step(who, scenarios.Step{Verb: scenarios.VerbAwait})
	}
	delete(w.open, who)
}

// goOn lets an operation go on that is held up, or awaits it where its client can read the reply only now.
func (w *writer) goOn(who int) {
	verb := scenarios.VerbContinue
	if w.open[who].unread {
		verb, w.open[who].unread = scenarios.VerbAwait, false
	}
	w.step(who, scenarios.Step{Verb: verb})
}

// resume resumes a client that is paused.
func (w *writer) resume(who int) {
	if host := w.process(who); w.paused[host] {
		w.step(who, scenarios.Step{Verb: scenarios.VerbResume})
		delete(w.paused, host)
	}
}

func (w *writer) step(who int, s scenarios.Step) {
	s.Client = w.name(who)
	if scenarios.OfProcess(s.Verb) {
		s.Client = history.ProcessOf(s.Client)
	}
	w.lab(s)
}

// naming is how clients, and processes by their first clients, are called in the script.
type naming struct{ names, hosts map[int]string }

// name is a client by its name in the script: processes are numbered in the order in which they appear. Which of several clients in one are one
// lock object, or one thread's, is as in the history.
func (w *writer) name(who int) string {
	if w.names[who] != "" {
		return w.names[who]
	}
	host := w.process(who)
	if w.hosts[host] == "" {
		w.hosts[host] = fmt.Sprintf("C%d", len(w.out.Clients)+1)
		w.out.Clients = append(w.out.Clients, w.hosts[host])
	}
	w.names[who] = w.hosts[host] + w.handle(who)
	if w.names[who] != w.hosts[host] {
		w.out.Handles = append(w.out.Handles, w.names[who])
	}
	return w.names[who]
}

// handle is what a client's name adds to that of its process; nothing if it is the only one there.
func (w *writer) handle(who int) string {
	for other := range w.trace.Clients {
		if other != who && w.process(other) == w.process(who) {
			name := w.trace.Names[who]
			return name[len(history.ProcessOf(name)):]
		}
	}
	return ""
}

func (w *writer) lab(s scenarios.Step) { w.out.Steps = append(w.out.Steps, s) }
