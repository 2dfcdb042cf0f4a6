package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/sim/explore"
)

// The leases of scripts: long where nothing has to end, so that no stall matters, and otherwise as short as a busy machine allows. By
// its lease a lock on several servers measures how long it waits for one of them.
const (
	longLease   = 30 * time.Second
	middleLease = 10 * time.Second
	shortLease  = 2 * time.Second
)

// Script writes the script of a trace. The error names a step that a script cannot express.
func Script(lock impls.Spec, t *explore.Trace) (string, error) {
	told := newTale(t)
	told.prune()
	told.arrange()
	w := &writer{tale: told, lock: lock, out: &scenarios.Script{
		Name: lock.Name, Title: title(t), About: about(t), Source: "lab explore " + lock.Name,
		Expect: scenarios.Expectation{Lock: lock.Name, Anomalies: t.Anomalies},
	}, names: map[int]string{}, open: map[int]*telling{}, paused: map[int]bool{}, dead: map[int]bool{}, late: map[int]bool{}, touched: map[int]time.Duration{}, saved: map[int]time.Duration{}}
	if t.Servers > 1 {
		w.out.Servers = t.Servers
	}
	if err := w.write(); err != nil {
		return "", err
	}
	text := scenarios.Format(w.out)
	if _, err := scenarios.Parse(lock.Name+".lab", text); err != nil {
		return "", fmt.Errorf("no script forces this trace: %w", err)
	}
	return string(text), nil
}

func title(t *explore.Trace) string {
	faults := "without any fault"
	if len(t.Faults) > 0 {
		faults = "after " + strings.Join(t.Faults, ", ")
	}
	names := make([]string, len(t.Anomalies))
	for i, name := range t.Anomalies {
		names[i] = string(name)
	}
	return fmt.Sprintf("%s %s: %s.", t.Lock, faults, strings.Join(names, ", "))
}

func about(t *explore.Trace) []string {
	lines := []string{"Found by trying every order of what clients, server and time can do; within those bounds nothing shorter shows it."}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(t.Faults))) {
		if fault, ok := explore.FaultByName(name); ok {
			lines = append(lines, fmt.Sprintf("%s: %s.", name, fault.Meaning()))
		}
	}
	return lines
}

// telling is an operation that has begun in the script.
type telling struct {
	deed   *deed
	stop   bool // it is held up
	unread bool // its reply has come, to a process that stands still
}

type writer struct {
	*tale
	lock    impls.Spec
	out     *scenarios.Script
	names   map[int]string // of clients, in the order in which they appear
	open    map[int]*telling
	paused  map[int]bool
	dead    map[int]bool
	late    map[int]bool          // something of the client is held that it has given up, or a copy
	touched map[int]time.Duration // by server that has a lock whose lease has not been waited for: when it got it
	saved   map[int]time.Duration // the same of what servers have saved
	short   bool                  // a lease has to end
}

func (w *writer) write() error {
	for i, b := range w.beats {
		if err := w.tell(i, b); err != nil {
			return fmt.Errorf("step %q at %v: %w", b.step.Kind, b.step.At, err)
		}
	}
	w.tellTrial()
	for who := range w.trace.Clients {
		w.close(who)
	}
	w.out.Lease = w.lease()
	return nil
}

func (w *writer) lease() time.Duration {
	switch {
	case !w.short:
		return longLease
	case w.out.Servers > 0:
		return middleLease
	}
	return shortLease
}

func (w *writer) tell(i int, b *beat) error {
	switch b.kind {
	case explore.StepTime:
		w.pass(i, b)
		return nil
	case explore.StepFault:
		return w.befall(i, b)
	case explore.StepArrive:
		return w.arrive(b)
	case explore.StepExpire:
		return w.timeOut(i, b)
	case save:
		w.save(b)
		return nil
	}
	w.touch(b)
	if b.deed == nil {
		w.beside(b)
		return nil
	}
	return w.act(i, b)
}

// touch notes when a lock got its lease.
func (w *writer) touch(b *beat) {
	if !b.changes || b.server < 0 {
		return
	}
	delete(w.touched, b.server)
	if b.step.After[b.server].Exists() {
		w.touched[b.server] = b.step.At
	}
}

// act begins an operation, or lets it go on after something has come between.
func (w *writer) act(i int, b *beat) error {
	t := w.open[b.who]
	switch {
	case t == nil || t.deed != b.deed:
		w.begin(i, b)
	case t.stop && interruptedBefore(w.beats, i):
		if !w.tooLate(i) {
			w.resume(b.who)
		}
		w.goOn(b.who)
		w.came(b.who, i)
	}
	if b.kind == explore.StepReturn {
		delete(w.open, b.who)
	}
	return nil
}

func (w *writer) begin(i int, b *beat) {
	w.resume(b.who)
	traps := w.traps(b.deed)
	w.open[b.who] = &telling{deed: b.deed}
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbOp, Op: b.deed.op, Traps: traps})
	w.came(b.who, i)
}

// came says what the latest step came to: the operation is held up, or it has ended.
func (w *writer) came(who, i int) {
	t := w.open[who]
	step := &w.out.Steps[len(w.out.Steps)-1]
	if t.stop = w.stops(t.deed, i) || i > 0 && w.beats[i-1].deed == t.deed && interrupted(w.beats, i-1); t.stop {
		step.Want = []scenarios.Result{scenarios.ResultHeldUp}
		return
	}
	if t.deed.returned {
		step.Want = []scenarios.Result{scenarios.Result(t.deed.outcome.String())}
	}
}

// stops says whether an operation is stopped once more, at the ith beat or later.
func (w *writer) stops(d *deed, i int) bool {
	for k := i; k < len(w.beats); k++ {
		b := w.beats[k]
		if b.deed == d && (interrupted(w.beats, k) || b.kind == explore.StepExpire || strikes(b, explore.LostReply, explore.LateRequest)) {
			return true
		}
	}
	return false
}

func strikes(b *beat, faults ...explore.Fault) bool {
	return b.kind == explore.StepFault && slices.Contains(faults, b.step.Fault)
}

// interruptedBefore says whether something has come between a beat and the one before of its operation.
func interruptedBefore(beats []*beat, i int) bool {
	for k := i - 1; k >= 0; k-- {
		if beats[k].deed == beats[i].deed {
			return interrupted(beats, k)
		}
	}
	return false
}

// pass waits for a lease to end. What else time brings comes by itself.
func (w *writer) pass(i int, b *beat) {
	if i+1 == len(w.beats) || w.beats[i+1].kind == explore.StepTime {
		return // who tries in the end waits by itself; or more of it passes
	}
	before := len(w.touched)
	maps.DeleteFunc(w.touched, func(_ int, at time.Duration) bool { return b.step.At+b.step.Passed-at >= w.trace.Lease })
	switch {
	case w.lock.Leaseless:
		return
	case len(w.touched) == before:
		w.age(i, b)
		return
	}
	w.short = true
	w.lab(scenarios.Step{Verb: scenarios.VerbWaitExpired})
}

// age lets a good part of a lease pass, where it matters that somebody adds to what is left.
func (w *writer) age(i int, b *beat) {
	old := func(at time.Duration) bool { return b.step.At+b.step.Passed-at > w.trace.Lease/2 }
	next := w.beats[i+1]
	if next.deed == nil || !slices.Contains(w.trace.Anomalies, checker.WrongfulRenew) || !slices.ContainsFunc(slices.Collect(maps.Values(w.touched)), old) {
		return
	}
	w.short = true
	w.lab(scenarios.Step{Verb: scenarios.VerbWaitHalf})
}

// beside tells what runs beside the operations: a lease is prolonged.
func (w *writer) beside(b *beat) {
	if b.kind != explore.StepServe || !b.changes {
		return
	}
	w.resume(b.who)
	w.short = true
	w.lab(scenarios.Step{Verb: scenarios.VerbWaitRenewed, Want: []scenarios.Result{scenarios.ResultOK}})
}

// befall tells a fault.
func (w *writer) befall(i int, b *beat) error {
	who, servers := b.who, w.serversOf(b)
	switch b.step.Fault {
	case explore.Pause:
		if w.open[who] == nil || w.lock.Renews || w.timesOut(w.open[who].deed, i) {
			w.paused[who] = true
			w.step(who, scenarios.Step{Verb: scenarios.VerbPause})
		}
	case explore.Crash:
		w.step(who, scenarios.Step{Verb: scenarios.VerbCrash})
		w.dead[who] = true
		delete(w.open, who)
		delete(w.paused, who)
	case explore.LostReply, explore.LateRequest:
		return w.lose(i, b)
	case explore.Duplicate:
		if b.deed == nil {
			return fmt.Errorf("what runs beside the operations is sent twice")
		}
		w.late[who] = true
		return w.act(i, b)
	case explore.ClockAhead:
		w.clock(who, 1.5)
	case explore.ClockBehind:
		w.clock(who, -1.5)
	case explore.ServerJump:
		delete(w.touched, b.server)
		w.lab(scenarios.Step{Verb: scenarios.VerbServerJump, Servers: servers, Span: scenarios.Span{Leases: 2}})
	case explore.Restart:
		delete(w.touched, b.server)
		w.outlast(i)
		w.lab(scenarios.Step{Verb: scenarios.VerbRestart, Servers: servers})
	case explore.FailOver:
		delete(w.touched, b.server)
		if at, locked := w.saved[b.server]; locked {
			w.touched[b.server] = at
		}
		w.outlast(i)
		w.lab(scenarios.Step{Verb: scenarios.VerbRestartSaved, Servers: servers})
	}
	return nil
}

// serversOf names the server of a beat, where there are several.
func (w *writer) serversOf(b *beat) []string {
	if w.out.Servers == 0 || b.server < 0 {
		return nil
	}
	return scenarios.ServerNames(w.out.Servers)[b.server : b.server+1]
}

// save has a server keep a copy of its data.
func (w *writer) save(b *beat) {
	delete(w.saved, b.server)
	if at, locked := w.touched[b.server]; locked {
		w.saved[b.server] = at
	}
	w.lab(scenarios.Step{Verb: scenarios.VerbSave, Servers: w.serversOf(b)})
}

func (w *writer) clock(who int, leases float64) {
	w.step(who, scenarios.Step{Verb: scenarios.VerbClock, Span: scenarios.Span{Leases: leases}, Rate: 1})
}

// lose has a client do without the reply to a request. If its operation goes on, it is the connection that breaks; if not, the client
// gives up, which is shorter.
func (w *writer) lose(i int, b *beat) error {
	if b.deed == nil {
		return fmt.Errorf("what runs beside the operations loses its request or its reply")
	}
	t := w.open[b.who]
	if t == nil || t.deed != b.deed {
		w.begin(i, b)
		t = w.open[b.who]
	}
	w.late[b.who] = b.step.Fault == explore.LateRequest
	if !w.goesOn(b) {
		w.step(b.who, scenarios.Step{Verb: scenarios.VerbGiveUp, Want: []scenarios.Result{scenarios.ResultUnknown}})
		t.stop = false
		return nil
	}
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbLoseReplies})
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbHeal})
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbAwait})
	w.came(b.who, i+1)
	return nil
}

// timesOut says whether a client will have waited too long for a part of its operation, at the ith beat or later.
func (w *writer) timesOut(d *deed, i int) bool {
	return slices.ContainsFunc(w.beats[i:], func(b *beat) bool { return b.kind == explore.StepExpire && b.deed == d })
}

// tooLate says whether the client stands still until it will have waited too long for what is served at the ith beat.
func (w *writer) tooLate(i int) bool {
	for _, b := range w.beats[i+1:] {
		if b.deed == w.beats[i].deed {
			return b.kind == explore.StepExpire
		}
	}
	return false
}

// timeOut lets a client go on that has waited too long.
func (w *writer) timeOut(i int, b *beat) error {
	if b.deed == nil {
		return fmt.Errorf("what runs beside the operations waits for too long")
	}
	w.late[b.who] = w.missed(b) == scenarios.HoldRequest
	w.resume(b.who)
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbTimesOut})
	w.came(b.who, i+1)
	return nil
}

// goesOn says whether an operation comes to something after it has lost a request or a reply. What it does only to tidy up, it does
// also when it is given up.
func (w *writer) goesOn(b *beat) bool {
	if b.deed.outcome == history.Unknown {
		return false
	}
	return len(b.deed.requests) > b.request+1
}

// arrive lets go what is late, or a copy.
func (w *writer) arrive(b *beat) error {
	if !w.late[b.who] {
		return fmt.Errorf("a request arrives that no fault has delayed")
	}
	w.touch(b)
	delete(w.late, b.who)
	w.resume(b.who)
	w.step(b.who, scenarios.Step{Verb: scenarios.VerbArrives})
	return nil
}

// tellTrial has a fresh client try for longer than any lease lasts, where it is to find the lock stuck.
func (w *writer) tellTrial() {
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
	if t := w.open[who]; t != nil && t.stop {
		w.goOn(who)
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

// outlast has the clients that are held at a reply of a server outlast its restart, which breaks their connections: the reply must have
// reached them, and they must not act upon it. So they stand still.
func (w *writer) outlast(i int) {
	server := w.beats[i].server
	for who := range w.trace.Clients {
		t := w.open[who]
		if t == nil || !t.stop || !w.betweenTwo(t.deed, i, server) {
			continue
		}
		if !w.paused[who] {
			w.paused[who] = true
			w.step(who, scenarios.Step{Verb: scenarios.VerbPause})
		}
		t.unread = true
		w.step(who, scenarios.Step{Verb: scenarios.VerbContinue, Async: true})
	}
}

// betweenTwo says whether at the ith beat an operation is between two requests to a server.
func (w *writer) betweenTwo(d *deed, i, server int) bool {
	for _, b := range w.beats[i+1:] {
		if b.deed == d && b.kind == explore.StepServe {
			return b.server == server && b.request > 0 && d.requests[b.request-1].Server == server
		}
	}
	return false
}

// resume lets a client go on that stands still.
func (w *writer) resume(who int) {
	if w.paused[who] {
		w.step(who, scenarios.Step{Verb: scenarios.VerbResume})
		delete(w.paused, who)
	}
}

func (w *writer) step(who int, s scenarios.Step) {
	if w.names[who] == "" {
		w.names[who] = fmt.Sprintf("C%d", len(w.names)+1)
		w.out.Clients = append(w.out.Clients, w.names[who])
	}
	s.Client = w.names[who]
	w.lab(s)
}

func (w *writer) lab(s scenarios.Step) { w.out.Steps = append(w.out.Steps, s) }
