package world

import (
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/past"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Record is a sequence of choices as a trace. From has how many of its events, and how many of its steps, come before each choice; Opened is how
// many events come before all: those of clients that open the lock.
type Record struct {
	Trace  *trace.Trace
	From   [][2]int
	Opened int
	Trial  [2]int // how many come before a fresh client tries
}

// Record makes choices again, and records them. A trial is one in which a fresh client tries at the end: seldom, if that shows that the lock is stuck.
func (s *Space) Record(path []Choice, trial bool) (*Record, error) {
	record, err := s.player.record(path, trial, true)
	if err != nil || !trial || slices.Contains(record.Trace.Verdict.Names(), checker.StuckLock) {
		return record, err
	}
	return s.player.record(path, trial, false)
}

// recorder records a sequence of choices while it is made again. A nil one records nothing.
type recorder struct {
	player *player
	trace  *trace.Trace
	now    time.Duration
	ids    map[operationOf]int64 // operations of clients, as the history numbers them
	open   []int64               // of each client: the operation under way; 0: none
	kept   []string              // of each client: what its lock had declared when that was called
	trial  int                   // the client whose acquire is one with many tries; negative: none
}

// operationOf is an operation of a client, by its number.
type operationOf struct{ client, number int }

// asked is the time between two state probes. This model needs none.
const asked = time.Microsecond

func (p *player) record(path []Choice, trial, alone bool) (*Record, error) {
	r := &recorder{player: p, now: trace.Start, ids: map[operationOf]int64{}, trial: -1, trace: &trace.Trace{
		Lock: p.Lock.Name, Clients: p.Clients, Servers: p.Servers, Lease: p.Lease, Skew: p.Skew, ClockRate: p.ClockRate, Began: past.Epoch,
	}}
	p.recorder = r
	defer func() { p.recorder = nil }()
	w, err := p.begin()
	if err != nil {
		return nil, err
	}
	for i := range p.Clients {
		r.opens(i)
	}
	record := &Record{Trace: r.trace, Opened: len(r.trace.Events)}
	for _, o := range path {
		record.From = append(record.From, [2]int{len(r.trace.Events), len(r.trace.Steps)})
		if err := p.make(w, o); err != nil {
			return nil, err
		}
	}
	ended := !slices.ContainsFunc(w.clients, func(c client) bool { return !p.done(&c) })
	if w.known.hung {
		from := len(r.trace.Steps)
		for i := range w.clients {
			if c := &w.clients[i]; c.late(ms(p.Lease)) {
				r.returned(w, i, history.OpRelease, history.Answer{Outcome: history.Unknown})
			}
		}
		r.complete(w, from)
	}
	record.Trial = [2]int{len(r.trace.Events), len(r.trace.Steps)}
	if trial {
		if _, err := p.stuck(w, alone); err != nil {
			return nil, err
		}
	} else if r.trace.Ending, err = r.ending(w); err != nil {
		return nil, err
	}
	if ended {
		r.event(history.Event{Kind: history.KindFinal, Lock: r.player.service.key, Detail: &history.Detail{Value: w.resource.counter()}})
	}
	r.event(history.Event{Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedComplete}})
	r.trace.Verdict = checker.Judge(r.trace.Events, checker.Options{})
	return record, nil
}

// ending says of which clients the operation under way would end with the reply that is on its way to them.
func (r *recorder) ending(w *world) ([]bool, error) {
	ending := make([]bool, len(w.clients))
	for i := range w.clients {
		c := &w.clients[i]
		if c.phase == crashed || !c.at.Busy || c.answer(c.at.Main) < 0 {
			continue
		}
		in := past.Input{Kind: past.Reply, Task: c.at.Main, Replies: c.answers[c.answer(c.at.Main)].replies}
		after, err := r.player.past.After(c.at, in, r.player.shown(w, c))
		if err != nil {
			return nil, err
		}
		ending[i] = !after.Busy
	}
	return ending, nil
}

// counter is what the resource counts.
func (v *server) counter() int64 {
	n, _ := strconv.ParseInt(v.model.State(counterKey).Value, 10, 64)
	return n
}

func (r *recorder) server(i int) string { return trace.ServerName(r.player.Servers, i) }

func (r *recorder) event(e history.Event) {
	e.At = r.now
	r.trace.Events = append(r.trace.Events, e)
}

// note adds a step.
func (r *recorder) note(s trace.Step) {
	s.At = r.now - trace.Start
	r.trace.Steps = append(r.trace.Steps, s)
}

// complete adds the state after the last steps to them.
func (r *recorder) complete(w *world, from int) {
	for i := from; i < len(r.trace.Steps); i++ {
		after := &r.trace.Steps[i].After
		for _, v := range w.servers {
			after.Keys = append(after.Keys, r.lockAt(v.model))
		}
		for k := range r.player.Clients {
			after.Holds = append(after.Holds, w.clients[k].active())
		}
		after.Counter = w.resource.counter()
	}
}

// lockAt is what a server has of the lock, as histories have it.
func (r *recorder) lockAt(m model) history.State {
	if !r.player.sessions {
		return m.State(r.player.service.key)
	}
	lock, _ := asKeeper(m).head()
	return lock
}

// opens records a client that opens the lock.
func (r *recorder) opens(i int) {
	r.open, r.kept = append(r.open, 0), append(r.kept, "")
	card := r.player.Lock.Card
	d := &history.Detail{Lease: r.player.Lease, Contract: card.Declares(), Unseen: history.UnseenIf(card.Needs == impls.NoServer, history.Local), Session: r.player.sessions}
	if r.player.Servers > 1 {
		d.Servers = r.player.Servers
		if card.Needs == impls.EveryServer {
			d.Need = d.Servers
		}
	}
	r.event(history.Event{Kind: history.KindOpen, Client: trace.ClientName(i), Lock: r.player.service.key, Detail: d})
}

// tries records the client that tries when the others have ended.
func (r *recorder) tries(fresh int) {
	if r != nil {
		r.trial = fresh
		r.trace.Clients++
		r.opens(fresh)
	}
}

// choice records what nothing else does: time, faults, what a client is given, and the end of a pause.
func (r *recorder) choice(w *world, o Choice) {
	i, task := int(o.client), int(o.task)
	switch o.kind {
	case passes:
		r.passes(o)
		return
	case strikes:
		r.strikes(&w.clients[i], o)
	case strikesServer:
		step := trace.Step{Fault: r.player.budget.kinds[o.fault], Client: -1, Server: i}
		if step.Fault == faults.FailOver {
			step.Lost = task + 1
		}
		r.fault(step)
		return
	case arrives, vanishes:
		return
	case takes:
		c := &w.clients[i]
		step := trace.Step{Kind: trace.Reply, Client: i, Beside: !c.at.Operates(task)}
		if at := c.messageFor(c.at.Wait(task)); at >= 0 {
			step.Reply = c.inbox[at].text
		} else {
			replies := c.answers[c.answer(task)].replies
			step.Reply = replies[len(replies)-1].String()
		}
		r.note(step)
	case timesOut:
		r.unanswered(&w.clients[i], o, trace.Expire)
	case breaks:
		r.unanswered(&w.clients[i], o, trace.Break)
	case notices:
		r.note(trace.Step{Kind: trace.Expire, Client: i, Server: w.clients[i].at.Wait(task).Server})
	case wakes:
		if c := &w.clients[i]; c.at.Wait(task).Kind != process.Contact { // that a session has ended is on record
			r.note(trace.Step{Kind: trace.Wake, Client: i, Beside: !c.at.Operates(task)})
		}
	case heals:
		r.heals(i)
		return
	}
	if c := &w.clients[i]; c.paused && c.phase != crashed {
		r.event(history.Event{Kind: history.KindFault, Detail: &history.Detail{
			Fault: &history.Fault{Name: string(faults.Pause), Target: trace.ClientName(i), Phase: history.PhaseRecover, What: "the client resumes"},
		}})
	}
}

// passes records the faults that it takes for time to pass, and that it will.
func (r *recorder) passes(o Choice) {
	for i := range r.player.Clients {
		switch bit := uint8(1) << i; {
		case o.paused&bit != 0:
			r.fault(trace.Step{Fault: faults.Pause, Client: i, Server: -1})
		case o.busy&bit != 0:
			r.fault(trace.Step{Fault: faults.LongHold, Client: i, Server: -1})
		}
	}
	r.note(trace.Step{Kind: trace.Time, Client: -1, Passed: duration(int(o.time)), Clock: o.clock})
}

// strikes records a fault of a client or its message.
func (r *recorder) strikes(c *client, o Choice) {
	step := trace.Step{Fault: r.player.budget.kinds[o.fault], Client: int(o.client), Server: -1}
	if step.Fault.OnMessage() {
		wait := c.at.Wait(int(o.task))
		step.Server, step.Waits, step.Beside = wait.Server, o.unseen, !c.at.Operates(int(o.task))
		if step.Fault == faults.LateRequest {
			step.Request = wait.Commands
		}
	}
	r.fault(step)
	if step.Fault == faults.Crash {
		r.event(history.Event{Kind: history.KindExit, Client: trace.ClientName(step.Client), Detail: &history.Detail{Why: "killed"}})
	}
}

// unanswered records that a task goes on without a reply.
func (r *recorder) unanswered(c *client, o Choice, kind trace.Kind) {
	wait := c.at.Wait(int(o.task))
	step := trace.Step{Kind: kind, Client: int(o.client), Server: wait.Server, Beside: !c.at.Operates(wait.Task)}
	if c.answer(wait.Task) < 0 {
		step.Request = wait.Commands
	}
	r.note(step)
}

// fault records a fault. A history does not have a long hold: it is no more than time that passes.
func (r *recorder) fault(s trace.Step) {
	s.Kind = trace.Fault
	r.trace.Faults = append(r.trace.Faults, s.Fault)
	r.note(s)
	if s.Fault == faults.LongHold {
		return
	}
	target := r.server(s.Server)
	if s.Client >= 0 {
		target = trace.ClientName(s.Client)
	}
	r.event(history.Event{Kind: history.KindFault, Detail: &history.Detail{
		Fault: &history.Fault{Name: string(s.Fault.Of().Recorded), Target: target, Phase: history.PhaseEffective, What: r.trace.Meaning(s)},
	}})
}

func (r *recorder) called(w *world, i int, op history.Op) {
	if r == nil {
		return
	}
	c := &w.clients[i]
	if waits := i == r.trial || r.player.Queue && op == history.OpAcquire; waits && r.open[i] != 0 {
		r.ids[operationOf{i, c.ops}] = r.open[i] // one acquire with many tries
		return
	}
	r.open[i], r.kept[i] = int64(len(r.ids)+1), c.at.Kept
	r.ids[operationOf{i, c.ops}] = r.open[i]
	e := history.Event{Kind: history.KindCall, Client: trace.ClientName(i), Lock: r.player.service.key, Op: op, ID: r.open[i]}
	switch {
	case i == r.trial:
		e.Detail = &history.Detail{Bound: duration(trialLength(r.player.Lease))}
	case r.player.Queue && op == history.OpAcquire:
		e.Detail = &history.Detail{Bound: longWait}
	case op == history.OpRelease:
		e.Detail = &history.Detail{Bound: duration(patience(ms(r.player.Lease)))}
	}
	r.event(e)
	r.note(trace.Step{Kind: trace.Call, Client: i, Op: op, ID: r.open[i], Fresh: i == r.trial})
}

func (r *recorder) returned(w *world, i int, op history.Op, a history.Answer) {
	if r == nil || i == r.trial && a.Outcome != history.OK {
		return
	}
	if r.player.Queue && op == history.OpAcquire && a.Outcome == history.No {
		r.note(trace.Step{Kind: trace.Return, Client: i, Op: op, ID: r.open[i], Answer: a, Retries: true})
		return
	}
	r.closes(i, op, a)
	if kept := w.clients[i].at.Kept; kept == "" || kept != r.kept[i] {
		r.trace.Learned = append(r.trace.Learned, r.trace.Steps[len(r.trace.Steps)-1].ID)
	}
}

func (r *recorder) closes(i int, op history.Op, a history.Answer) {
	if r == nil {
		return
	}
	e := history.Event{Kind: history.KindReturn, Client: trace.ClientName(i), Lock: r.player.service.key, Op: op, ID: r.open[i], Outcome: a.Outcome, Fence: a.Fence}
	if a.Limited && a.Outcome == history.OK {
		e.Valid = history.Declared(a.Valid)
	}
	e.Detail = &history.Detail{Read: a.Read, Wrote: a.Wrote, GaveUp: a.Outcome == history.Unknown && (op == history.OpAcquire || op == history.OpRelease && a.Error == ""), Error: a.Error}
	r.event(e)
	r.note(trace.Step{Kind: trace.Return, Client: i, Op: op, ID: r.open[i], Answer: a})
	r.open[i] = 0
}

func (r *recorder) notice(i int, n process.Notice) {
	if r == nil {
		return
	}
	e, text := history.Event{Kind: history.KindLost, Client: trace.ClientName(i), Lock: r.player.service.key, Detail: &history.Detail{Why: n.Why}}, "lost: "+n.Why
	if n.Kind == process.Renewed {
		e = history.Event{Kind: history.KindValid, Client: trace.ClientName(i), Lock: r.player.service.key, Valid: history.Declared(n.Valid)}
		text = "renewed for " + n.Valid.String()
	}
	r.event(e)
	r.note(trace.Step{Kind: trace.Notice, Client: i, Text: text})
}

// served records a request that a server has executed. A tap records no command that has nothing to do with the lock, and a trace has all.
func (r *recorder) served(i int, m message, change history.Change, replies []service.Reply, unheard bool) {
	if r == nil {
		return
	}
	last := len(m.commands) - 1
	c := &history.Command{
		Server: r.server(m.server), Conn: int64(i*10 + m.conn + 1), Args: m.commands[last],
		Reply: replies[last].Recorded(), Sent: r.now, Asked: asked, Late: unheard, ReplyDropped: unheard, Again: m.again,
	}
	named := m.names(change.Key)
	if named {
		c.Changes = []history.Change{change}
	}
	if change.Key == lockNode {
		c.Reply = nodeReply(m.commands[0][0], replies[0])
	}
	step := trace.Step{
		Kind: trace.Serve, Client: i, Server: m.server, Request: m.commands, Reply: c.Reply, Beside: m.op == history.OpNone, Late: unheard,
	}
	if unheard {
		step.Kind = trace.Arrive
	}
	e := history.Event{Kind: history.KindCommand, Client: trace.ClientName(i), Lock: r.player.service.key, Detail: &history.Detail{Command: c}}
	if m.op != history.OpNone {
		e.ID, e.Op = r.idOf(i, m), m.op
		step.ID, step.Op = e.ID, e.Op
	}
	r.note(step)
	if named || m.server == process.Resource {
		r.event(e)
	}
}

// idOf is the operation that a request is part of, as the history numbers it.
func (r *recorder) idOf(i int, m message) int64 {
	if i == r.trial {
		return r.open[i]
	}
	return r.ids[operationOf{i, m.id}]
}

// elapse lets time pass.
func (r *recorder) elapse(d int) {
	if r != nil {
		r.now += duration(d)
	}
}
