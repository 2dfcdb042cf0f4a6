package reproduce

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// FromHistory is the part of a history that an anomaly is about, as a trace: what its clients did, in the order in which their commands
// reached the servers, the leases that ended in between, and the faults that had a part in it. Whether that shows the anomaly again is
// for a play to say. Times are those of a schedule: only the end of a lease takes any.
func FromHistory(lock impls.Spec, events []history.Event, a checker.Anomaly, how Reading) (*trace.Trace, error) {
	if how.Overdue {
		events, _ = overdue(events)
	}
	r := &historyReader{
		Timeline: timeline.Of(events), lock: lock, anomaly: a, clients: map[string]int{}, cast: map[string]bool{}, lapsed: map[int]string{}, changing: map[int]bool{},
		dead: map[int]bool{}, places: map[int]int{}, leased: map[int]owned{}, Reading: how,
	}
	for _, e := range events {
		if e.Kind == history.KindOpen && e.Detail != nil {
			r.lease, r.servers = e.Detail.Lease, max(1, e.Detail.Servers)
		}
	}
	if slices.ContainsFunc(r.Servers, func(name string) bool { return history.ServerOf(name) != name }) {
		r.servers = 1 // the lock has several keys on one, of which a script does not speak
	}
	r.follow()
	r.out = &trace.Trace{
		Lock: lock.Name, Servers: r.servers, Lease: r.lease, Began: time.Unix(0, 0), Anomalies: []checker.Name{a.Name},
	}
	r.keys = make([]history.State, r.servers)
	r.copyEvents(history.KindOpen)
	if h := r.hungAcquire(); h != nil {
		r.Handles = r.Handles || len(h.siblings) > 0
		r.writeHung(h)
	} else {
		chosen := r.choose()
		if len(chosen) == 0 {
			return nil, errors.New("no operation of a client has a part in it")
		}
		r.write(r.moments(chosen))
	}
	r.copyEvents(history.KindFinal, history.KindEnd)
	r.out.Clients = len(r.clients)
	if r.Handles {
		r.out.Names = make([]string, len(r.clients))
		for name, n := range r.clients {
			r.out.Names[n] = name
		}
	}
	return r.out, nil
}

// historyReader makes a trace of a history.
type historyReader struct {
	*timeline.Timeline
	Reading
	lock     impls.Spec
	anomaly  checker.Anomaly
	lease    time.Duration
	servers  int
	changing map[int]bool   // commands that changed the lock
	lapsed   map[int]string // commands before which the lease of a lock had ended, and whose it was
	makers   []int          // commands that made the lock a client's

	out     *trace.Trace
	now     time.Duration   // of the schedule
	cast    map[string]bool // who takes part
	leased  map[int]owned   // by server
	keys    []history.State // what each server has under the lock's key
	clients map[string]int
	dead    map[int]bool
	places  map[int]int // events that come at another place in the story than in the history
}

// client numbers the clients in the order in which they appear.
func (r *historyReader) client(name string) int {
	n, known := r.clients[name]
	if !known {
		n = len(r.clients)
		r.clients[name] = n
	}
	return n
}

func (r *historyReader) server(name string) int {
	name = history.ServerOf(name) // a script speaks of the server, whichever of its keys a command names
	for i := range r.servers {
		if trace.ServerName(r.servers, i) == name {
			return i
		}
	}
	return -1
}

// write makes steps of what happens.
func (r *historyReader) write(all []happening) {
	for _, h := range all {
		e := r.Events[h.at]
		if who, known := r.clients[e.Client]; known && r.dead[who] {
			continue // what arrives after its client's end has no place in a script
		}
		switch {
		case h.part != nil:
			r.operation(h)
		case h.kind == trace.Serve:
			r.pass(r.lease * 6 / 10)
			r.step(trace.Step{Kind: trace.Serve, Beside: true}, h.at)
		case h.kind == trace.Notice:
			r.step(trace.Step{Kind: trace.Notice, Client: r.client(e.Client)}, h.at)
		default:
			r.fault(h.at)
		}
	}
}

// copyEvents adds all events of some kinds.
func (r *historyReader) copyEvents(kinds ...history.Kind) {
	for _, e := range r.Events {
		if slices.Contains(kinds, e.Kind) {
			r.out.Events = append(r.out.Events, e)
		}
	}
}

// operation writes a part of an operation.
func (r *historyReader) operation(h happening) {
	base := trace.Step{Kind: h.kind, Client: r.client(h.part.Client), Op: h.part.Op, ID: h.part.ID}
	at := h.at
	switch h.kind {
	case trace.Call:
		base.Fresh = r.anomaly.Name == checker.StuckLock && h.part.Client == r.anomaly.Clients[0] && slices.Contains(r.anomaly.Events, int(h.part.From))
		base.Waits = h.part.waits
		at = int(h.part.From)
	case trace.Serve, trace.Arrive:
		if n := slices.Index(h.part.commands, h.at); n > 0 && h.kind == trace.Serve && r.resends(h.part.commands[n-1], h.at) {
			r.add(trace.Step{Kind: trace.Fault, Fault: faults.ReplyLost, Client: base.Client})
		}
		var begun []trace.Step // what has to happen before its first command, happens before it is called
		if n := len(r.out.Steps) - 1; n >= 0 && r.out.Steps[n].Kind == trace.Call && r.out.Steps[n].ID == h.part.ID {
			begun, r.out.Steps = []trace.Step{r.out.Steps[n]}, r.out.Steps[:n]
		}
		if owner, over := r.over(h); over {
			r.stopRenewing(owner)
			r.pass(r.lease)
		} else if last := r.anomaly.Events[len(r.anomaly.Events)-1]; h.at == last && r.anomaly.Name == checker.WrongfulRenew {
			r.pass(r.lease * 6 / 10)
		}
		for _, call := range begun {
			r.add(call)
		}
	case trace.Return:
		at = int(h.part.To)
		if h.part.plainly != none {
			for n := range r.servers {
				r.own(n, h.part.Client, true)
			}
		}
		base.Answer = history.Answer{Outcome: h.part.Outcome}
		if h.part.Outcome == history.Unknown || r.unheard(h.part) {
			r.lose(h)
		}
	}
	r.step(base, at)
}

// stopRenewing keeps the owner of a lock from renewing it, so that its lease ends.
func (r *historyReader) stopRenewing(owner string) {
	who, known := r.clients[owner]
	if !known || !r.lock.Renews || r.dead[who] {
		return
	}
	switch r.Renewal {
	case RenewalPaused:
		r.add(trace.Step{Kind: trace.Fault, Fault: faults.Pause, Client: who})
	case RenewalFails:
		r.add(trace.Step{Kind: trace.Fault, Fault: faults.ReplyLost, Client: who, Server: nowhere, Beside: true})
	}
}

// pass lets time pass.
func (r *historyReader) pass(d time.Duration) {
	r.add(trace.Step{Kind: trace.Time, Client: nobody, Passed: d})
	r.now += d
}

// fault writes a fault that is no part of an operation.
func (r *historyReader) fault(at int) {
	e := &r.Events[at]
	if e.Kind == history.KindExit {
		who := r.client(e.Client)
		r.step(trace.Step{Kind: trace.Fault, Fault: faults.Crash, Client: who}, at)
		r.dead[who] = true
		return
	}
	f := e.Fault()
	kind := faults.Kind(f.Name).Of().Kind
	if kind != faults.Skew {
		n := r.server(f.Target)
		if n >= 0 {
			r.keys[n] = history.State{}
		}
		s := trace.Step{Kind: trace.Fault, Fault: kind, Client: nobody, Server: max(0, n)}
		if kind == faults.ClockJump {
			s.Passed, _ = time.ParseDuration(f.What)
		}
		r.step(s, at)
		return
	}
	for _, name := range r.Clients {
		if history.ProcessOf(name) == f.Target && r.cast[name] {
			r.step(trace.Step{Kind: trace.Fault, Fault: kind, Client: r.client(name), Passed: offsetOf(f.What)}, at)
		}
	}
}

// offsetOf reads by how much a history says that a clock is wrong: "offset 2s, rate 1".
func offsetOf(what string) time.Duration {
	words := strings.Fields(strings.ReplaceAll(what, ",", ""))
	if len(words) < 2 || words[0] != "offset" {
		return 0
	}
	offset, _ := time.ParseDuration(words[1])
	return offset
}

// step adds a step with its event.
func (r *historyReader) step(s trace.Step, at int) {
	e := &r.Events[at]
	if c := e.Command(); c != nil {
		s.Client, s.Server, s.Reply, s.Request = r.client(e.Client), r.server(c.Server), c.Reply, r.request(at)
		for _, change := range c.Changes {
			if s.Server >= 0 && change.Key == e.Lock {
				r.keys[s.Server] = change.After
				if r.changing[at] {
					r.own(s.Server, e.Client, change.After.Exists())
				}
			}
		}
	}
	r.out.Events = append(r.out.Events, *e)
	r.add(s)
}

func (r *historyReader) add(s trace.Step) {
	s.At = r.now
	s.After.Keys = slices.Clone(r.keys)
	r.out.Steps = append(r.out.Steps, s)
}

// request is a command with the names that keys have in traces.
func (r *historyReader) request(i int) [][]string {
	e := &r.Events[i]
	args := slices.Clone(e.Command().Args)
	for k, arg := range args {
		if arg == e.Lock {
			args[k] = lockName
		}
	}
	if k := firstKey(args); k < len(args) && namesLock(e) && !slices.Contains(args, lockName) {
		args[k] = lockName // its client calls the key of the lock otherwise
	}
	if e.Command().Server == history.Resource && len(args) > 1 {
		args[1] = dataName
	}
	return [][]string{args}
}

// firstKey is where a command has its first key: behind its name or, in a script's call, behind the number of its keys.
func firstKey(args []string) int {
	if ownership.RunsScript(args[0]) {
		return 3
	}
	return 1
}
