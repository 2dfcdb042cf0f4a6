package explore

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/sim/process"
)

// Trace is one way through a lock's states, step by step.
type Trace struct {
	Lock    string
	Clients int // with the one that comes at the end, if one does
	Servers int
	Lease   time.Duration
	Skew    time.Duration // by which a wrong clock is wrong
	Faults  []string      // in the order in which they strike
	Steps   []Step
	// Events are the trace as a history, and Verdict is what the checker makes of it.
	Events  []history.Event
	Verdict checker.Verdict
	// Anomalies are those that the last step shows.
	Anomalies []checker.Name
	// Ending says of which clients the operation under way at the end would end with the reply that is on its way to them.
	Ending []bool
}

// StepKind is the kind of a step.
type StepKind string

// The kinds of steps.
const (
	StepCall   StepKind = "call"   // a client calls an operation
	StepServe  StepKind = "serve"  // a server carries a request out
	StepReply  StepKind = "reply"  // the reply reaches the client
	StepReturn StepKind = "return" // an operation ends
	StepExpire StepKind = "expire" // a client's time-out is over
	StepWake   StepKind = "wake"   // a client's sleep is over
	StepArrive StepKind = "arrive" // a request arrives that nobody waits for
	StepTime   StepKind = "time"   // time passes
	StepNotice StepKind = "notice" // a lock says something on its own account
	StepFault  StepKind = "fault"  // a fault strikes
)

// Step is one step of a trace.
type Step struct {
	At      time.Duration
	Kind    StepKind
	Client  int            // from 0; negative: it is nobody's
	Server  int            // from 0; negative: the resource
	Op      history.Op     // of a call, a return and a request
	ID      int64          // of the operation
	Answer  process.Answer // of a return
	Retries bool           // a return is only that of a try: the operation goes on
	Passed  time.Duration  // of time
	Fresh   bool           // a call is that of the client that comes at the end
	Fault   Fault          // of a fault
	Lost    int            // of a fail-over: how many writes
	Request [][]string     // of a time-out: what has not reached its server by then
	Reply   string
	Beside  bool // the request is not an operation's
	Late    bool // nobody waits for its reply
	Text    string
	// After is what the servers have under the lock's key after the step, and Counter what the resource counts.
	After   []history.State
	Counter int64
	// Held says who believes to have the lock after the step.
	Held []bool
}

// Meaning is what the fault that strikes at a step does, in one line.
func (t *Trace) Meaning(s Step) string { return s.Fault.meaning(t.Skew, s.Lost) }

// trace follows a finding from the beginning, and has the checker judge it.
func (x *explorer) trace(f finding) (*Trace, error) {
	var way []uint32
	if !f.end {
		way = append(way, f.move)
	}
	for n := f.parent; n != 0; n = x.ways[n].parent {
		way = append(way, x.ways[n].move)
	}
	slices.Reverse(way)
	r := &recorder{x: x, trace: &Trace{
		Lock: x.config.Lock.Name, Clients: x.clients, Servers: x.serverCount, Lease: leaseLength, Skew: duration(x.skew), Anomalies: f.found.names(),
	}}
	wasTimed, wasFacts := x.timed, x.judge.facts
	x.watcher = r
	defer func() { x.watcher, x.timed, x.judge.facts = nil, wasTimed, wasFacts }()
	s := x.initial()
	r.begin(x.clients)
	for _, packed := range way {
		m, err := x.actual(s, unpack(packed))
		if err != nil {
			return nil, err
		}
		if err := r.step(s, m); err != nil {
			return nil, err
		}
	}
	if f.end {
		if err := r.trial(*s); err != nil {
			return nil, err
		}
	} else {
		r.trace.Ending = x.ending(s)
		r.end(x.counter(s))
	}
	r.trace.Verdict = checker.Judge(r.trace.Events, checker.Options{})
	return r.trace, nil
}

// actual is the move as it is in s, which differs from the state that the move was found in by the order of the clients.
func (x *explorer) actual(s *state, m move) (move, error) {
	f := x.pack(s, nil, nil)
	_, o, err := x.normal(&f)
	if err != nil {
		return m, err
	}
	to := &x.texts.orders[o]
	var from order
	for i, place := range to {
		from[place] = uint8(i)
	}
	switch m.kind {
	case moveJump, moveRestart, moveFail:
	case movePass:
		m.paused, m.busy = from.set(m.paused), from.set(m.busy)
	case moveArrive:
		// Requests on their way are kept in order of their numbers, which need not be that of their twins.
		c := &s.clients[from[m.client]]
		twin := *c
		for k, r := range c.travel {
			if r != 0 {
				twin.travel[k] = x.renameTravel(o, r)
			}
		}
		if twin.travel[0] < twin.travel[1] {
			m.slot = 1 - m.slot
		}
		m.client = from[m.client]
	default:
		m.client = from[m.client]
	}
	return m, nil
}

// disputed is the first of the anomalies that the checker does not see; empty: it sees them all.
func (t *Trace) disputed(found anomalies) checker.Name {
	seen := t.Verdict.Names()
	for _, name := range found.names() {
		if !slices.Contains(seen, name) {
			return name
		}
	}
	return ""
}
