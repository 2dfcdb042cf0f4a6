package explore

import (
	"path"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
	"github.com/locklab/locklab/internal/sim/trace"
)

// recorder records a trace while its moves are made again.
type recorder struct {
	x        *explorer
	trace    *trace.Trace
	now      time.Duration
	ids      int64
	open     [learn.MostClients]int64 // operations under way
	ops      [learn.MostClients]history.Op
	from     [learn.MostClients]uint32 // the nodes at which they were called
	inFlight []flight                  // requests on their way that nobody waits for
	trying   int                       // the client that comes at the end; 0: none
	closed   bool
	clock    bool             // the time that passes next does so for a client's clock
	made     map[string]int64 // the acquires that made the nodes of a ZooKeeper
}

// flight is a request on its way that nobody waits for.
type flight struct {
	client  int
	request uint32
	id      int64 // the operation that it belongs to
	again   bool  // it is a copy
	ended   bool  // that operation has ended
	ok      bool  // well
	early   uint8 // the clients that have been acquiring since before it did
}

// addFlight: a request of a client's task departs.
func (r *recorder) addFlight(s *state, m move, again bool) {
	c := &s.clients[m.client]
	f := flight{client: int(m.client), request: r.x.automaton.Nodes[c.node].Slots[m.slot].Request, again: again}
	if r.x.operationOf(c, int(m.slot)) != history.OpNone {
		f.id = r.open[m.client]
	}
	r.inFlight = append(r.inFlight, f)
}

func (r *recorder) departs(s *state, client, task int) {
	r.addFlight(s, move{client: uint8(client), slot: uint8(task)}, false)
}

// takeFlight: a request has arrived.
func (r *recorder) takeFlight(s sending) flight {
	i := slices.IndexFunc(r.inFlight, func(f flight) bool {
		return f.client == s.client && r.x.texts.SameWords(f.request, s.request) && f.ended == s.ended && f.ok == s.ok && f.early == s.early
	})
	if i < 0 {
		return flight{id: r.open[s.client]}
	}
	f := r.inFlight[i]
	r.inFlight = slices.Delete(r.inFlight, i, i+1)
	return f
}

func newRecorder(x *explorer) *recorder {
	return &recorder{x: x, made: map[string]int64{}, trace: &trace.Trace{
		Lock: x.config.Lock.Name, Clients: x.clients, Servers: x.serverCount, Lease: learn.Lease, Skew: duration(x.skew), ClockRate: x.config.ClockRate, Began: learn.Base,
	}}
}

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
func (r *recorder) complete(s *state, from int) {
	x := r.x
	for i := from; i < len(r.trace.Steps); i++ {
		step := &r.trace.Steps[i]
		for k := range x.serverCount {
			step.After.Keys = append(step.After.Keys, x.servers.States[s.servers[k]].Lock)
		}
		for k := range x.clients {
			step.After.Holds = append(step.After.Holds, s.clients[k].holds())
		}
		step.After.Counter = x.counter(s)
	}
}

// begin records the clients.
func (r *recorder) begin(clients int) {
	r.now = trace.Start
	for i := range clients {
		r.opens(i)
	}
}

func (r *recorder) opens(i int) {
	card := r.x.config.Lock.Card
	detail := &history.Detail{
		Lease: learn.Lease, Contract: card.Declares(), Session: r.x.sessions, Unseen: history.UnseenIf(card.Needs == impls.NoServer, history.Local),
	}
	if r.x.serverCount > 1 {
		detail.Servers = r.x.serverCount
	}
	r.event(history.Event{Kind: history.KindOpen, Client: trace.ClientName(i), Lock: r.x.servers.LockKey, Detail: detail})
}

func (r *recorder) step(s *state, m move) error {
	from := len(r.trace.Steps)
	r.resumes(s, m)
	r.before(s, m)
	err := r.x.apply(s, m)
	r.complete(s, from)
	return err
}

// before records what a move is, as far as the watcher is not told.
func (r *recorder) before(s *state, m move) {
	x, i := r.x, int(m.client)
	switch m.kind {
	case movePass:
		r.clock = x.onlyByClock(s, m.d)
		r.delays(s, m)
	case moveCrash:
		r.fault(trace.Step{Fault: faults.Crash, Client: i, Server: -1})
		r.event(history.Event{Kind: history.KindExit, Client: trace.ClientName(i), Detail: &history.Detail{Why: "killed"}})
	case moveLose, moveLate:
		if m.kind == moveLate {
			r.addFlight(s, m, false)
		}
		if x.losesAnyway(&s.clients[i], m) {
			r.unanswered(s, m, trace.Break)
			break
		}
		if c := &s.clients[i]; m.slot != 0 || !c.has(deaf) {
			r.strike(s, m, lossAt(c, m.slot), false)
			break
		}
		q := x.texts.Requests[x.automaton.Nodes[s.clients[i].node].Slots[0].Request]
		r.note(trace.Step{Kind: trace.Expire, Client: i, Server: int(q.Server)})
	case moveCut:
		r.fault(trace.Step{Fault: faults.Partition, Client: i, Server: -1})
	case moveTwice:
		r.addFlight(s, m, true)
		r.strike(s, m, faults.Duplicate, false)
	case moveAhead, moveBehind:
		kind := map[move]faults.Kind{
			{kind: moveAhead}: faults.ClockAhead, {kind: moveBehind}: faults.ClockBehind,
			{kind: moveAhead, slot: stepping}: faults.StepAhead, {kind: moveBehind, slot: stepping}: faults.StepBack,
		}[move{kind: m.kind, slot: m.slot}]
		r.fault(trace.Step{Fault: kind, Client: i, Server: -1})
	case moveJump:
		kind := faults.ClockJump
		if m.slot == backwards {
			kind = faults.ClockBack
		}
		r.fault(trace.Step{Fault: kind, Client: -1, Server: i})
	case moveRestart:
		r.fault(trace.Step{Fault: faults.Restart, Client: -1, Server: i})
	case moveFail:
		r.fault(trace.Step{Fault: faults.FailOver, Client: -1, Server: i, Lost: int(m.slot) + 1})
	case moveTake:
		reply := x.texts.Replies[s.clients[i].replies[m.slot]].Replies
		r.note(trace.Step{Kind: trace.Reply, Client: i, Reply: reply[len(reply)-1].String(), Beside: m.slot != 0})
	case moveExpire:
		r.unanswered(s, m, trace.Expire)
	case moveArrive:
		if m.slot&dropped != 0 {
			r.takeFlight(s.clients[i].travelling(m))
		}
	case moveWake:
		r.wakes(s, m)
	}
}

// unanswered records that a task of a client goes on without a reply.
func (r *recorder) unanswered(s *state, m move, kind trace.Kind) {
	c := &s.clients[m.client]
	q := r.x.texts.Requests[r.x.automaton.Nodes[c.node].Slots[m.slot].Request]
	step := trace.Step{Kind: kind, Client: int(m.client), Beside: m.slot != 0, Server: int(q.Server)}
	if c.replies[m.slot] == 0 {
		step.Request = q.Commands
	}
	r.note(step)
}

// delays records the faults that it takes for time to pass.
func (r *recorder) delays(s *state, m move) {
	for c := range r.x.clients {
		switch bit := uint8(1) << c; {
		case m.paused&m.busy&bit != 0:
			r.strike(s, move{client: uint8(c)}, lossAt(&s.clients[c], 0), true)
		case m.paused&bit != 0:
			r.fault(trace.Step{Fault: faults.Pause, Client: c, Server: -1})
		case m.busy&bit != 0:
			r.fault(trace.Step{Fault: faults.LongHold, Client: c, Server: -1})
		}
	}
}

// lossAt is what a task of a client loses if it gets no reply.
func lossAt(c *client, slot uint8) faults.Kind {
	if c.replies[slot] == 0 {
		return faults.LateRequest
	}
	return faults.ReplyLost
}

// strike records a fault of a client's request. Only a request that does not reach its server by then is named. unnoticed: the client waits on.
func (r *recorder) strike(s *state, m move, kind faults.Kind, unnoticed bool) {
	x, c := r.x, &s.clients[m.client]
	q := x.texts.Requests[x.automaton.Nodes[c.node].Slots[m.slot].Request]
	step := trace.Step{Fault: kind, Client: int(m.client), Server: int(q.Server), Waits: unnoticed, Beside: x.operationOf(c, int(m.slot)) == history.OpNone}
	if kind == faults.LateRequest {
		step.Request = q.Commands
	}
	r.fault(step)
}

// resumes records that a paused client makes its next step.
func (r *recorder) resumes(s *state, m move) {
	switch m.kind {
	case movePass, moveJump, moveRestart, moveFail, moveArrive, moveCrash, moveCut, moveHeal:
		return
	}
	if s.clients[m.client].has(asleep) {
		r.event(history.Event{Kind: history.KindFault, Detail: &history.Detail{
			Fault: &history.Fault{Name: string(faults.Pause), Target: trace.ClientName(int(m.client)), Phase: history.PhaseRecover, What: "the client resumes"},
		}})
	}
}

// gaveUp ends the release that a client's user has given up.
func (r *recorder) gaveUp(i int) {
	r.returned(i, history.OpRelease, history.Answer{Outcome: history.Unknown})
}

// fault records a fault. A history does not have a long hold: it is no more than time that passes.
func (r *recorder) fault(s trace.Step) {
	s.Kind = trace.Fault
	r.trace.Faults = append(r.trace.Faults, s.Fault)
	r.note(s)
	if s.Fault == faults.LongHold {
		return
	}
	target := r.serverName(s.Server)
	if s.Client >= 0 {
		target = trace.ClientName(s.Client)
	}
	r.event(history.Event{Kind: history.KindFault, Detail: &history.Detail{Fault: &history.Fault{
		Name: string(s.Fault.Of().Recorded), Target: target, Phase: history.PhaseEffective, What: r.trace.Meaning(s),
	}}})
}

func (r *recorder) serverName(i int) string { return trace.ServerName(r.x.serverCount, i) }

// longWait is the bound of an acquire that waits until it has the lock.
const longWait = time.Hour

func (r *recorder) called(i int, op history.Op) {
	if op == history.OpAcquire {
		for n := range r.inFlight {
			r.inFlight[n].early &^= 1 << i
		}
	}
	waits := op == history.OpAcquire && (i == r.trying && r.trying > 0 || r.x.judge.queues)
	if waits && r.open[i] != 0 {
		return // one acquire with many tries
	}
	r.ids++
	r.open[i], r.ops[i], r.from[i] = r.ids, op, r.x.judge.s.clients[i].node
	e := history.Event{Kind: history.KindCall, Client: trace.ClientName(i), Lock: r.x.servers.LockKey, Op: op, ID: r.ids}
	switch {
	case waits && r.x.judge.queues:
		e.Detail = &history.Detail{Bound: longWait}
	case waits:
		e.Detail = &history.Detail{Bound: duration(r.x.patience())}
	case op == history.OpRelease:
		e.Detail = &history.Detail{Bound: duration(r.x.judge.patience())}
	}
	r.event(e)
	r.note(trace.Step{Kind: trace.Call, Client: i, Op: op, ID: r.ids, Fresh: i == r.trying && r.trying > 0})
}

func (r *recorder) returned(i int, op history.Op, a history.Answer) {
	for n := range r.inFlight {
		if f := &r.inFlight[n]; f.client == i && !f.ended {
			f.ended, f.ok, f.early = true, a.Outcome == history.OK, r.x.judge.acquirers(i)
		}
	}
	if i == r.trying && r.trying > 0 && a.Outcome != history.OK && !r.closed {
		return
	}
	if r.x.judge.queues && op == history.OpAcquire && a.Outcome == history.No {
		r.note(trace.Step{Kind: trace.Return, Client: i, Op: op, ID: r.open[i], Answer: a, Retries: true})
		return
	}
	e := history.Event{Kind: history.KindReturn, Client: trace.ClientName(i), Lock: r.x.servers.LockKey, Op: op, ID: r.open[i], Outcome: a.Outcome, Fence: a.Fence}
	if a.Limited && a.Outcome == history.OK {
		e.Valid = history.Declared(a.Valid)
	}
	detail := history.Detail{Error: a.Error, Read: a.Read, Wrote: a.Wrote, GaveUp: a.Outcome == history.Unknown && (op == history.OpAcquire || op == history.OpRelease && r.x.judge.found&hungOperation != 0)}
	e.Detail = &detail
	r.event(e)
	r.note(trace.Step{Kind: trace.Return, Client: i, Op: op, ID: r.open[i], Answer: a})
	if r.learned(i) {
		r.trace.Learned = append(r.trace.Learned, r.open[i])
	}
	r.open[i] = 0
}

// learned says whether a client's lock may remember something else than when its operation was called.
func (r *recorder) learned(i int) bool {
	before, after := r.x.automaton.Nodes[r.from[i]].Memory, r.x.automaton.Nodes[r.x.judge.s.clients[i].node].Memory
	return before == 0 || before != after
}

func (r *recorder) notice(i int, n process.Notice) {
	e := history.Event{Client: trace.ClientName(i), Lock: r.x.servers.LockKey}
	switch n.Kind {
	case process.Lost:
		e.Kind, e.Detail = history.KindLost, &history.Detail{Why: n.Why}
		r.note(trace.Step{Kind: trace.Notice, Client: i, Text: "lost: " + n.Why})
	case process.Renewed:
		e.Kind, e.Valid = history.KindValid, history.Declared(n.Valid)
		r.note(trace.Step{Kind: trace.Notice, Client: i, Text: "renewed for " + n.Valid.String()})
	default:
		return
	}
	r.event(e)
}

// asked is the time between the state probes around a command; the model needs none, so they take no time.
const asked = time.Microsecond

func (r *recorder) passed(d ms) {
	r.note(trace.Step{Kind: trace.Time, Client: -1, Passed: duration(d), Clock: r.clock})
	r.now += duration(d)
}

func (r *recorder) sent(s sending, reply uint32, before, after history.State) {
	q, p := r.x.texts.Requests[s.request], r.x.texts.Replies[reply].Replies
	c := &history.Command{
		Server: r.serverName(int(q.Server)), Conn: int64(s.client*10 + q.Conn + 1), Args: q.Commands[len(q.Commands)-1],
		Reply: p[len(p)-1].Recorded(), Sent: r.now, Asked: asked, Late: s.unheard, ReplyDropped: s.unheard,
	}
	on := r.x.servers
	if q.Server == process.Resource {
		on = r.x.resource
	}
	named := on.Names(q.Commands)
	if named {
		c.Changes = []history.Change{{Key: on.LockKey, Before: before, After: after}}
	}
	if on.Keepers != nil {
		c.Reply = keeperReply(q.Commands[0][0], p[0])
	}
	e := history.Event{Kind: history.KindCommand, Client: trace.ClientName(s.client), Lock: r.x.servers.LockKey, Detail: &history.Detail{Command: c}}
	step := trace.Step{
		Kind: trace.Serve, Client: s.client, Server: int(q.Server), Request: q.Commands, Reply: c.Reply,
		Beside: s.op == history.OpNone, Late: s.unheard,
	}
	if s.op != history.OpNone {
		e.ID, e.Op = r.open[s.client], s.op
		if s.unheard {
			f := r.takeFlight(s)
			e.ID, c.Again = f.id, f.again
		}
		step.ID, step.Op = e.ID, e.Op
	}
	if s.unheard {
		step.Kind = trace.Arrive
	}
	if on.Keepers != nil && q.Commands[0][0] == "CREATE" && p[0].Kind != service.Error {
		r.made[path.Base(p[0].Text)] = e.ID
	}
	if named || q.Server == process.Resource { // a tap records no other
		r.event(e)
	}
	r.note(step)
}

// end closes the history.
func (r *recorder) end(counter int64) {
	r.event(history.Event{Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedComplete}})
}

// vanish ends the holds of requests that are late: those that have not arrived by the end never do.
func (r *recorder) vanish() {
	for i := range r.x.clients {
		if slices.Contains(r.trace.Faults, faults.LateRequest) {
			r.event(history.Event{Kind: history.KindFault, Detail: &history.Detail{Fault: &history.Fault{
				Name: string(faults.LateRequest.Of().Recorded), Target: trace.ClientName(i), Phase: history.PhaseRecover, What: "what is late never arrives",
			}}})
		}
	}
}

// trial lets a fresh client try after an end state, as stuck does.
func (r *recorder) trial(s state) error {
	x := r.x
	value := x.counter(&s)
	r.trying = x.clients
	r.opens(r.trying)
	r.trace.Clients++
	r.vanish()
	from := len(r.trace.Steps)
	pace, _, err := x.stuck(s)
	if err != nil {
		return err
	}
	last := trial{x: x, s: s}
	if err := last.run(pace); err != nil {
		return err
	}
	r.closed = true
	if r.open[r.trying] != 0 {
		r.returned(r.trying, history.OpAcquire, history.Answer{Outcome: history.No})
	}
	r.complete(&s, from)
	r.event(history.Event{Kind: history.KindFinal, Lock: r.x.servers.LockKey, Detail: &history.Detail{Value: value}})
	r.end(value)
	return nil
}
