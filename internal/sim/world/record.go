package world

import (
	"slices"
	"strconv"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// recorder writes the history of a sequence of choices while it is made again. A nil one writes nothing.
type recorder struct {
	player *player
	now    time.Duration
	events []history.Event
	ids    map[operationOf]int64 // operations of clients, as the history numbers them
	open   []int64               // of each client: the operation under way; 0: none
	ops    []history.Op
	trial  int // the client whose acquire is one with many tries; negative: none
}

// operationOf is an operation of a client, by its number.
type operationOf struct{ client, number int }

// began is when a history begins.
const began = time.Second

// asked is the time between two state probes. This model needs none.
const asked = time.Microsecond

// record is the history of a sequence of choices. A trial is one in which a fresh client tries at the end.
func (p *player) record(path []Choice, trial bool) ([]history.Event, error) {
	r := &recorder{player: p, now: began, ids: map[operationOf]int64{}, trial: -1}
	p.recorder = r
	defer func() { p.recorder = nil }()
	w, err := p.begin()
	if err != nil {
		return nil, err
	}
	for i := range p.Clients {
		r.opens(i)
	}
	for _, o := range path {
		if err := p.make(w, o); err != nil {
			return nil, err
		}
	}
	ended := !slices.ContainsFunc(w.clients, func(c client) bool { return !p.over(&c) })
	if w.monitor.hung {
		for i := range w.clients {
			if c := &w.clients[i]; c.late(w.lease) {
				r.returned(i, c.ops, history.OpRelease, history.Answer{Outcome: history.Unknown})
			}
		}
	}
	if trial {
		if _, err := p.stuck(w); err != nil {
			return nil, err
		}
	}
	if ended {
		r.event(history.Event{Kind: history.KindFinal, Lock: r.player.key, Detail: &history.Detail{Value: w.counter()}})
	}
	r.event(history.Event{Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedComplete}})
	return r.events, nil
}

// counter is what the resource counts.
func (w *world) counter() int64 {
	n, _ := strconv.ParseInt(w.resource.model.State(counterKey).Value, 10, 64)
	return n
}

func name(i int) string { return "C" + strconv.Itoa(i+1) }

func (r *recorder) server(i int) string {
	switch {
	case i == process.Resource:
		return history.Resource
	case r.player.Servers == 1:
		return "redis"
	}
	return "S" + strconv.Itoa(i+1)
}

func (r *recorder) event(e history.Event) {
	e.At = r.now
	r.events = append(r.events, e)
}

func (r *recorder) opens(i int) {
	card := r.player.Lock.Card
	d := &history.Detail{
		Lease: r.player.Lease, Contract: card.Declares(), Unseen: history.UnseenIf(card.Needs == impls.NoServer, history.Local),
	}
	d.Session = r.player.sessions
	if r.player.Servers > 1 {
		d.Servers = r.player.Servers
	}
	r.open, r.ops = append(r.open, 0), append(r.ops, history.OpNone)
	r.event(history.Event{Kind: history.KindOpen, Client: name(i), Lock: r.player.key, Detail: d})
}

// choice writes down what nothing else does: time, faults, and the end of a pause.
func (r *recorder) choice(w *world, o Choice) {
	if r == nil {
		return
	}
	switch o.kind {
	case passes:
		for i := range w.clients {
			if o.paused>>i&1 != 0 {
				r.fault(string(faults.Pause.Of().Recorded), name(i), history.PhaseEffective, "")
			}
		}
	case strikes, strikesServer:
		fault, target := r.player.kinds[o.fault], name(int(o.client))
		if o.kind == strikesServer {
			target = r.server(int(o.client))
		}
		r.fault(string(fault.Of().Recorded), target, history.PhaseEffective, r.drift(fault))
		if fault == faults.Crash {
			r.event(history.Event{Kind: history.KindExit, Client: target, Detail: &history.Detail{Why: "killed"}})
		}
	case heals:
		r.fault(string(faults.Partition), name(int(o.client)), history.PhaseRecover, "")
	case arrives, vanishes:
	default:
		if w.clients[o.client].paused {
			r.fault(string(faults.Pause), name(int(o.client)), history.PhaseRecover, "")
		}
	}
}

func (r *recorder) fault(kind, target string, phase history.Phase, what string) {
	r.event(history.Event{Kind: history.KindFault, Detail: &history.Detail{Fault: &history.Fault{Name: kind, Target: target, Phase: phase, What: what}}})
}

// drift is how a history says that a client's clock runs at another rate; empty: it does not.
func (r *recorder) drift(kind faults.Kind) string {
	if r.player.ClockRate == 0 || kind != faults.ClockAhead && kind != faults.ClockBehind {
		return ""
	}
	var c wrongClocks
	c.drift(r.player.ClockRate, kind)
	return faults.ClockSetting(0, float64(c.rate)/1000)
}

func (r *recorder) called(i, op int, kind history.Op) {
	if r == nil || i == r.trial && r.open[i] != 0 {
		return
	}
	r.open[i], r.ops[i] = int64(len(r.ids)+1), kind
	r.ids[operationOf{i, op}] = r.open[i]
	e := history.Event{Kind: history.KindCall, Client: name(i), Lock: r.player.key, Op: kind, ID: r.open[i]}
	switch {
	case i == r.trial:
		e.Detail = &history.Detail{Bound: duration(r.player.trialLength())}
	case kind == history.OpRelease:
		e.Detail = &history.Detail{Bound: r.player.Lease * 5 / 4}
	}
	r.event(e)
}

func (r *recorder) returned(i, op int, kind history.Op, a history.Answer) {
	if r == nil || i == r.trial && a.Outcome != history.OK {
		return
	}
	r.closes(i, kind, a)
}

func (r *recorder) closes(i int, kind history.Op, a history.Answer) {
	e := history.Event{Kind: history.KindReturn, Client: name(i), Lock: r.player.key, Op: kind, ID: r.open[i], Outcome: a.Outcome, Fence: a.Fence}
	if a.Limited && a.Outcome == history.OK {
		e.Valid = max(a.Valid, history.ValidityExpired)
	}
	e.Detail = &history.Detail{Read: a.Read, Wrote: a.Wrote, GaveUp: a.Outcome == history.Unknown && (kind == history.OpAcquire || kind == history.OpRelease && a.Error == ""), Error: a.Error}
	r.event(e)
	r.open[i], r.ops[i] = 0, history.OpNone
}

func (r *recorder) notice(i int, n process.Notice) {
	if r == nil {
		return
	}
	e := history.Event{Kind: history.KindLost, Client: name(i), Lock: r.player.key, Detail: &history.Detail{Why: n.Why}}
	if n.Kind == process.Renewed {
		e = history.Event{Kind: history.KindValid, Client: name(i), Lock: r.player.key, Valid: max(n.Valid, history.ValidityExpired)}
	}
	r.event(e)
}

func (r *recorder) served(i int, m message, change history.Change, replies []service.Reply, unheard bool) {
	named := m.names(change.Key)
	if r == nil || !named && m.server != process.Resource {
		return // a tap records no other command
	}
	c := &history.Command{
		Server: r.server(m.server), Conn: int64(i*10 + m.conn + 1), Args: m.commands[len(m.commands)-1],
		Reply: replies[len(replies)-1].Recorded(), Sent: r.now, Asked: asked, Late: unheard, ReplyDropped: unheard, Again: m.again,
	}
	if named {
		c.Changes = []history.Change{change}
	}
	if change.Key == lockNode {
		c.Reply = nodeReply(m.commands[0][0], replies[0])
	}
	e := history.Event{Kind: history.KindCommand, Client: name(i), Lock: r.player.key, Detail: &history.Detail{Command: c}}
	if m.op != history.OpNone {
		e.ID, e.Op = r.idOf(i, m), m.op
	}
	r.event(e)
}

// idOf is the operation that a request is part of, as the history numbers it.
func (r *recorder) idOf(i int, m message) int64 {
	if i == r.trial {
		return r.open[i]
	}
	return r.ids[operationOf{i, m.id}]
}

// passes lets time pass.
func (r *recorder) passes(d int) {
	if r != nil {
		r.now += duration(d)
	}
}
