package shrink

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// Options say how to write a script.
type Options struct {
	Name   string
	Title  string
	Lease  time.Duration // of the script, whatever it was in the history
	Renews bool          // the lock prolongs its own lease: whose lease is to end has to be stopped
}

// Script writes a script that forces the order of an anomaly's events. The error says why there is none.
func Script(events []history.Event, a checker.Anomaly, opts Options) (*scenarios.Script, error) {
	f := newFacts(events, opts.Renews)
	w := &writer{facts: f, anomaly: a, opts: opts, script: &scenarios.Script{
		Name: opts.Name, Title: opts.Title, Lease: opts.Lease,
	}, names: make(map[string]string), stopped: make(map[string]bool), dead: make(map[string]bool), open: make(map[string]*told)}
	w.write(f.story(a))
	return Check(w.script)
}

// Check is the script as it would be read from a file. The error says why it makes no sense.
func Check(s *scenarios.Script) (*scenarios.Script, error) {
	if len(s.Steps) == 0 {
		return nil, fmt.Errorf("no step is left")
	}
	return scenarios.Parse(s.Name+".lab", scenarios.Format(s))
}

// moment is something that happens in a story: a part of an operation, or what befalls somebody.
type moment struct {
	at   int   // index of the event
	deed *deed // nil: something befalls
	part int   // of the deed: which command; or partCall, partReturn
}

const (
	partCall   = -1
	partReturn = -2
)

// told is an operation that has begun in the script.
type told struct {
	deed   *deed
	gaveUp bool // its client has given it up; something of it may still be held
}

type writer struct {
	*facts
	anomaly checker.Anomaly
	opts    Options
	script  *scenarios.Script
	names   map[string]string // of clients, in the script
	stopped map[string]bool   // paused, by the script's name
	dead    map[string]bool
	open    map[string]*told
}

// write tells the deeds in the order of their moments.
func (w *writer) write(deeds []*deed) {
	moments := w.moments(deeds)
	var last *deed
	for n, m := range moments {
		if w.anomaly.Name == checker.WrongfulRenew && (m.deed == nil || m.deed != last) && w.proves(moments, n) {
			w.letTimePass()
		}
		if m.deed == nil {
			w.befall(m.at)
			last = nil
			continue
		}
		if m.deed == last {
			continue // the same step goes on
		}
		last = m.deed
		w.act(m, moments, n)
	}
	w.end()
}

// proves says whether the anomaly is complete with what begins at the nth moment.
func (w *writer) proves(all []moment, n int) bool {
	last := w.anomaly.Events[len(w.anomaly.Events)-1]
	if all[n].deed == nil {
		return all[n].at == last
	}
	return slices.ContainsFunc(run(all[n].deed, all, n), func(m moment) bool { return m.at == last })
}

// letTimePass has the owner of the lock work a little, so that a lease that somebody prolongs is seen to get longer.
func (w *writer) letTimePass() {
	owner := w.anomaly.Clients[len(w.anomaly.Clients)-1]
	who := w.names[owner]
	process := history.ProcessOf(who)
	if who == "" || w.dead[process] || w.stopped[process] || w.open[who] != nil {
		return
	}
	for range 4 {
		w.step(scenarios.Step{Client: who, Verb: scenarios.VerbOp, Op: history.OpWork})
	}
}

// moments are the parts of the deeds and the faults that matter, in order.
func (w *writer) moments(deeds []*deed) []moment {
	var all []moment
	from, to := len(w.events), 0
	cast := make(map[string]bool)
	for _, d := range deeds {
		cast[d.client] = true
		if d.op == history.OpRelease {
			all = append(all, moment{d.call, d, partCall})
		}
		for k, i := range d.commands {
			all = append(all, moment{i, d, k})
		}
		if d.ret >= 0 {
			all = append(all, moment{d.ret, d, partReturn})
		}
		if len(d.commands) == 0 && d.op != history.OpRelease {
			all = append(all, moment{d.call, d, partCall})
		}
		from, to = min(from, d.call), max(to, w.facts.end(d))
	}
	clocks := make(map[string]int)
	for i, e := range w.events {
		if i > to {
			break
		}
		name, phase := "", history.Phase("")
		if e.Kind == history.KindFault && e.Detail.Fault != nil {
			name, phase = e.Detail.Fault.Name, e.Detail.Fault.Phase
		}
		switch {
		case name == "skew" && phase == history.PhaseInject && cast[e.Client] && i < from:
			clocks[e.Client] = i
			if e.Detail.Fault.What == rightClock {
				delete(clocks, e.Client)
			}
		case name == "skew" && phase == history.PhaseInject && cast[e.Client],
			e.Kind == history.KindExit && cast[e.Client] && i > from,
			(name == "restart" || name == "clock-jump") && phase == history.PhaseInject && i > from,
			e.Kind == history.KindCommand && i > from && slices.Contains(w.anomaly.Events, i) && w.background(e, i):
			all = append(all, moment{at: i})
		}
	}
	for _, i := range clocks {
		all = append(all, moment{at: i})
	}
	slices.SortFunc(all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	return all
}

// rightClock is how a history words that a clock is right again.
const rightClock = "offset 0s, rate 1"

// background says whether a command belongs to no operation.
func (w *writer) background(e history.Event, i int) bool {
	d := w.with(i)
	return e.Client != "" && e.Detail.Command.Server != resource && (d == nil || !slices.Contains(d.commands, i))
}

// act begins an operation, or lets it go on.
func (w *writer) act(m moment, all []moment, n int) {
	who := w.name(m.deed.client)
	if w.dead[history.ProcessOf(who)] {
		return // what is late of it has no place in a script
	}
	if owner, over := w.overWithin(m.deed, all, n); over {
		w.await(owner)
	}
	w.wake(who)
	if t := w.open[who]; t != nil && t.deed == m.deed {
		w.goOn(who, all, n)
		return
	}
	w.finish(who)
	step := scenarios.Step{Client: who, Verb: scenarios.VerbOp, Op: m.deed.op}
	step.Breakpoints = w.traps(m.deed, all, n)
	if m.deed.op == history.OpAcquire && m.deed.outcome == history.No && !m.deed.changed {
		step.Within = scenarios.Span{Leases: 3}
	}
	w.step(step)
	if len(step.Breakpoints) > 0 {
		w.open[who] = &told{deed: m.deed}
		w.part(who, all, n)
	}
}

// goOn lets what is held go; or the client gives up, and then it goes all the same.
func (w *writer) goOn(who string, all []moment, n int) {
	if all[n].part != partReturn || !all[n].deed.forsaken() {
		w.step(scenarios.Step{Client: who, Verb: scenarios.VerbContinue})
	}
	w.part(who, all, n)
}

// part ends a part of an operation: the client gives up, if it does so here, and the operation is over if nothing more comes of it.
func (w *writer) part(who string, all []moment, n int) {
	t, moments := w.open[who], run(all[n].deed, all, n)
	if t.deed.forsaken() && slices.ContainsFunc(moments, func(m moment) bool { return m.part == partReturn }) {
		w.giveUp(who)
	}
	more := slices.ContainsFunc(all[n+len(moments):], func(m moment) bool { return m.deed == t.deed })
	if !more && (t.gaveUp || !t.deed.forsaken()) {
		delete(w.open, who)
	}
}

func (w *writer) giveUp(who string) {
	if t := w.open[who]; !t.gaveUp {
		w.step(scenarios.Step{Client: who, Verb: scenarios.VerbGiveUp})
		t.gaveUp = true
	}
}

// run is the part of a deed that happens without anything between, from the nth moment on.
func run(d *deed, all []moment, n int) []moment {
	end := n
	for end < len(all) && all[end].deed == d {
		end++
	}
	return all[n:end]
}

// overWithin says whether the lease of somebody has ended by the time at which a part of a deed reaches the server, and whose.
func (w *writer) overWithin(d *deed, all []moment, n int) (owner string, over bool) {
	moments := run(d, all, n)
	if t := w.open[w.names[d.client]]; t == nil || t.deed != d { // it begins: what comes later of it judges by what it finds now
		moments = slices.DeleteFunc(slices.Clone(all[n:]), func(m moment) bool { return m.deed != d })
	}
	for _, m := range moments {
		if owner, over := w.expired[m.at]; over && m.part >= 0 {
			return owner, true
		}
	}
	return "", false
}

// await waits until the lease of the lock has ended. Who would prolong it is stopped.
func (w *writer) await(owner string) {
	who := history.ProcessOf(w.name(owner))
	if w.opts.Renews && owner != "" && !w.dead[who] && !w.stopped[who] {
		w.step(scenarios.Step{Client: who, Verb: scenarios.VerbPause})
		w.stopped[who] = true
	}
	if n := len(w.script.Steps); n > 0 && w.script.Steps[n-1].Verb == scenarios.VerbWaitExpired {
		return
	}
	w.step(scenarios.Step{Verb: scenarios.VerbWaitExpired})
}

// traps are the breakpoints at which others come in between.
func (w *writer) traps(d *deed, all []moment, n int) []faults.Breakpoint {
	var traps []faults.Breakpoint
	for k, here := n, true; k < len(all); k++ {
		m := all[k]
		if m.deed != d {
			here = false
			continue
		}
		last := len(d.commands) - 1
		switch {
		case m.part == partReturn && d.forsaken():
			if last >= 0 && d.commands[last] < m.at { // all of it was done, and its client did not hear of it
				traps = append(traps, w.trap(faults.ActDropReply, d, last))
			}
			here = false
			continue
		case here:
		case m.part >= 0:
			traps = append(traps, w.trap(faults.ActHoldRequest, d, m.part))
		case m.part == partReturn && last >= 0:
			traps = append(traps, w.trap(faults.ActHoldReply, d, last))
		}
		here = true
	}
	return traps
}

// trap is a breakpoint at the kth command of a deed.
func (w *writer) trap(do faults.Action, d *deed, k int) faults.Breakpoint {
	name := w.facts.name(d.commands[k])
	nth := 0
	for _, i := range d.commands[:k+1] {
		if w.facts.name(i) == name {
			nth++
		}
	}
	return faults.Breakpoint{Action: do, Nth: nth, Match: faults.Match{Kind: faults.MatchCommand, Command: name}}
}

// befall tells what happened to somebody.
func (w *writer) befall(i int) {
	e := w.events[i]
	switch {
	case e.Kind == history.KindExit:
		who := history.ProcessOf(w.name(e.Client))
		if w.dead[who] {
			return // of another lock in the same process
		}
		w.wake(who)
		w.step(scenarios.Step{Client: who, Verb: scenarios.VerbCrash})
		w.dead[who] = true
		maps.DeleteFunc(w.open, func(one string, _ *told) bool { return history.ProcessOf(one) == who })
	case e.Kind == history.KindCommand: // by itself, in the background: it needs time
		w.wake(w.name(e.Client))
		w.step(scenarios.Step{Verb: scenarios.VerbWaitExpired})
	case e.Detail.Fault.Name == "restart":
		w.step(scenarios.Step{Verb: scenarios.VerbRestart})
	case e.Detail.Fault.Name == "clock-jump":
		w.step(scenarios.Step{Verb: scenarios.VerbServerJump, Span: scenarios.Span{Leases: 2}})
	default:
		w.clock(e)
	}
}

// clock sets a client's clock as it was, in leases.
func (w *writer) clock(e history.Event) {
	who := history.ProcessOf(w.name(e.Client))
	var words string
	var rate float64
	if n, err := fmt.Sscanf(e.Detail.Fault.What, "offset %s rate %g", &words, &rate); n != 2 || err != nil {
		return
	}
	offset, err := time.ParseDuration(words[:max(0, len(words)-1)])
	if err != nil || w.dead[who] {
		return
	}
	leases := float64(offset.Round(w.lease/10)) / float64(w.lease)
	w.wake(who)
	w.step(scenarios.Step{Client: who, Verb: scenarios.VerbClock, Span: scenarios.Span{Leases: leases}, Rate: rate})
}

// wake lets a client go on that was stopped.
func (w *writer) wake(who string) {
	if who = history.ProcessOf(who); w.stopped[who] {
		w.step(scenarios.Step{Client: who, Verb: scenarios.VerbResume})
		delete(w.stopped, who)
	}
}

// finish ends what a client is still at, before it does something else.
func (w *writer) finish(who string) {
	if w.open[who] != nil {
		w.giveUp(who)
		delete(w.open, who)
	}
}

// end leaves nothing open.
func (w *writer) end() {
	for _, who := range w.script.Actors() {
		if w.dead[history.ProcessOf(who)] {
			continue
		}
		w.wake(who)
		w.finish(who)
	}
}

func (w *writer) step(s scenarios.Step) { w.script.Steps = append(w.script.Steps, s) }

// name is a client's name in the script: C1 is the first that appears.
func (w *writer) name(client string) string {
	if client == "" {
		return ""
	}
	if w.names[client] != "" {
		return w.names[client]
	}
	if process := history.ProcessOf(client); process != client {
		w.names[client] = w.name(process) + strings.TrimPrefix(client, process)
		w.script.Handles = append(w.script.Handles, w.names[client])
		return w.names[client]
	}
	w.names[client] = fmt.Sprintf("C%d", len(w.script.Clients)+1)
	w.script.Clients = append(w.script.Clients, w.names[client])
	return w.names[client]
}
