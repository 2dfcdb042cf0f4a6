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
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// FromHistory is the part of a history that an anomaly is about, as a trace: what its clients did, in the order in which their commands
// reached the servers, the leases that ended in between, and the faults that had a part in it. Whether that shows the anomaly again is
// for a play to say. Times are those of a schedule: only the end of a lease takes any.
func FromHistory(lock impls.Spec, events []history.Event, a checker.Anomaly, how Reading) (*trace.Trace, error) {
	r := readPast(lock, events, a, how)
	w := &traceWriter{
		past: r, leased: map[int]owned{}, keys: make([]history.State, r.servers), clients: map[string]int{}, dead: map[int]bool{},
		out: &trace.Trace{Lock: lock.Name, Servers: r.servers, Lease: r.lease, Began: time.Unix(0, 0), Anomalies: []checker.Name{a.Name}},
	}
	w.copyEvents(history.KindOpen)
	handles := how.Handles
	if h := r.hungAcquire(); h != nil {
		handles = handles || len(h.siblings) > 0
		w.writeHung(h)
	} else {
		told := r.choose()
		if len(told.parts) == 0 {
			return nil, errors.New("no operation of a client has a part in it")
		}
		w.write(told)
	}
	w.copyEvents(history.KindFinal, history.KindEnd)
	if w.out.Clients = len(w.names); handles {
		w.out.Names = w.names
	}
	return w.out, nil
}

// traceWriter writes what happens in a story as the steps of a trace.
type traceWriter struct {
	past    *past
	out     *trace.Trace
	now     time.Duration // of the schedule
	clients map[string]int
	names   []string        // of the clients
	dead    map[int]bool    // clients that have ended
	leased  map[int]owned   // by server
	keys    []history.State // what each server has under the lock's key
}

// client numbers the clients in the order in which they appear.
func (w *traceWriter) client(name string) int {
	n, known := w.clients[name]
	if !known {
		n = len(w.clients)
		w.clients[name], w.names = n, append(w.names, name)
	}
	return n
}

// write makes steps of what happens.
func (w *traceWriter) write(told *story) {
	for _, h := range told.moments() {
		e := w.past.Events[h.at]
		if who, known := w.clients[e.Client]; known && w.dead[who] {
			continue // what arrives after its client's end has no place in a script
		}
		switch {
		case h.part != nil:
			w.operation(h)
		case h.kind == trace.Serve:
			w.pass(w.past.lease * 6 / 10)
			w.step(trace.Step{Kind: trace.Serve, Beside: true}, h.at)
		case h.kind == trace.Notice:
			w.step(trace.Step{Kind: trace.Notice, Client: w.client(e.Client)}, h.at)
		default:
			w.fault(h.at, told.cast)
		}
	}
}

// copyEvents adds all events of some kinds.
func (w *traceWriter) copyEvents(kinds ...history.Kind) {
	for _, e := range w.past.Events {
		if slices.Contains(kinds, e.Kind) {
			w.out.Events = append(w.out.Events, e)
		}
	}
}

// operation writes a part of an operation.
func (w *traceWriter) operation(h happening) {
	base := trace.Step{Kind: h.kind, Client: w.client(h.part.Client), Op: h.part.Op, ID: h.part.ID}
	at := h.at
	switch h.kind {
	case trace.Call:
		base.Fresh = w.past.anomaly.Name == checker.StuckLock && h.part.Client == w.past.anomaly.Clients[0] && slices.Contains(w.past.anomaly.Events, int(h.part.From))
		base.Waits = h.part.waits
		at = int(h.part.From)
	case trace.Serve, trace.Arrive:
		if n := slices.Index(h.part.commands, h.at); n > 0 && h.kind == trace.Serve && w.past.resends(h.part.commands[n-1], h.at) {
			w.add(trace.Step{Kind: trace.Fault, Fault: faults.ReplyLost, Client: base.Client})
		}
		var begun []trace.Step // what has to happen before its first command, happens before it is called
		if n := len(w.out.Steps) - 1; n >= 0 && w.out.Steps[n].Kind == trace.Call && w.out.Steps[n].ID == h.part.ID {
			begun, w.out.Steps = []trace.Step{w.out.Steps[n]}, w.out.Steps[:n]
		}
		if owner, over := w.over(h); over {
			w.stopRenewing(owner)
			w.pass(w.past.lease)
		} else if last := w.past.anomaly.Events[len(w.past.anomaly.Events)-1]; h.at == last && w.past.anomaly.Name == checker.WrongfulRenew {
			w.pass(w.past.lease * 6 / 10)
		}
		for _, call := range begun {
			w.add(call)
		}
	case trace.Return:
		at = int(h.part.To)
		if h.part.plainly != none {
			for n := range w.past.servers {
				w.own(n, h.part.Client, true)
			}
		}
		base.Answer = history.Answer{Outcome: h.part.Outcome}
		if h.part.Outcome == history.Unknown || w.past.unheard(h.part) {
			w.lose(h)
		}
	}
	w.step(base, at)
}

// lose writes why an operation came to nothing: a request that arrives later, or the reply to the last one.
func (w *traceWriter) lose(h happening) {
	who := w.client(h.part.Client)
	for _, i := range h.part.commands {
		if float64(i) > h.part.To {
			w.add(trace.Step{Kind: trace.Fault, Fault: faults.LateRequest, Client: who, Server: w.past.server(w.past.Events[i].Command().Server), Request: w.past.request(i)})
			return
		}
	}
	if len(h.part.commands) > 0 {
		w.add(trace.Step{Kind: trace.Fault, Fault: faults.ReplyLost, Client: who})
	}
}

// stopRenewing keeps the owner of a lock from renewing it, so that its lease ends.
func (w *traceWriter) stopRenewing(owner string) {
	who, known := w.clients[owner]
	if !known || !w.past.lock.Renews || w.dead[who] {
		return
	}
	switch w.past.Renewal {
	case RenewalPaused:
		w.add(trace.Step{Kind: trace.Fault, Fault: faults.Pause, Client: who})
	case RenewalFails:
		w.add(trace.Step{Kind: trace.Fault, Fault: faults.ReplyLost, Client: who, Server: nowhere, Beside: true})
	}
}

// pass lets time pass.
func (w *traceWriter) pass(d time.Duration) {
	w.add(trace.Step{Kind: trace.Time, Client: nobody, Passed: d})
	w.now += d
}

// fault writes a fault that is no part of an operation.
func (w *traceWriter) fault(at int, cast map[string]bool) {
	e := &w.past.Events[at]
	if e.Kind == history.KindExit {
		who := w.client(e.Client)
		w.step(trace.Step{Kind: trace.Fault, Fault: faults.Crash, Client: who}, at)
		w.dead[who] = true
		return
	}
	f := e.Fault()
	kind := faults.Kind(f.Name).Of().Kind
	if kind != faults.Skew {
		n := w.past.server(f.Target)
		if n >= 0 {
			w.keys[n] = history.State{}
		}
		s := trace.Step{Kind: trace.Fault, Fault: kind, Client: nobody, Server: max(0, n)}
		if kind == faults.ClockJump {
			s.Passed, _ = time.ParseDuration(f.What)
		}
		w.step(s, at)
		return
	}
	for _, name := range w.past.Clients {
		if history.ProcessOf(name) == f.Target && cast[name] {
			w.step(trace.Step{Kind: trace.Fault, Fault: kind, Client: w.client(name), Passed: offsetOf(f.What)}, at)
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
func (w *traceWriter) step(s trace.Step, at int) {
	e := &w.past.Events[at]
	if c := e.Command(); c != nil {
		s.Client, s.Server, s.Reply, s.Request = w.client(e.Client), w.past.server(c.Server), c.Reply, w.past.request(at)
		for _, change := range c.Changes {
			if s.Server >= 0 && change.Key == e.Lock {
				w.keys[s.Server] = change.After
				if w.past.changing[at] {
					w.own(s.Server, e.Client, change.After.Exists())
				}
			}
		}
	}
	w.out.Events = append(w.out.Events, *e)
	w.add(s)
}

func (w *traceWriter) add(s trace.Step) {
	s.At = w.now
	s.After.Keys = slices.Clone(w.keys)
	w.out.Steps = append(w.out.Steps, s)
}

// request is a command with the names that keys have in traces.
func (r *past) request(i int) [][]string {
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
