package storm

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// evidence is a history, arranged by client: its operations and the faults that hit it.
type evidence struct {
	events    []history.Event
	lease     time.Duration
	local     bool // the lock reaches no server
	opaque    bool // nobody has read what clients sent to its server
	leaseless bool // only a release frees it, or the end of its client's connection
	session   bool // it lasts as long as the client's session
	spread
	work      history.Workload
	processes map[string]bool // that opened one
	began     time.Duration   // the first operation
	effects   int             // faults that took effect
	returns   []int           // indexes of the answers to operations
	acquires  map[string][]operation
	releases  map[string][]operation
	exits     map[string]time.Duration // by client

	lateRenewals map[string][]time.Duration // by client: those that arrived after its end

	faults disturbances
}

// spread is over what a lock is.
type spread struct {
	servers int // on which the lock lives, or its keys on one; zero: one, or none
	need    int // how many of them its holder has; zero: a majority
}

// enough is from how many of them the lock must be gone before another client can have it.
func (s spread) enough() int {
	return max(1, s.servers+1-cmp.Or(s.need, s.servers/2+1))
}

// operation is an acquire, a release or a renewal.
type operation struct {
	id            int64
	called, ended time.Duration
	heard         time.Duration            // when it was called, or its last command before its end was carried out
	lease         time.Duration            // of an acquire, since when its lease runs: its last command, or the last that prolonged the lock
	leases        map[string]time.Duration // the same by server, if there are several
	done          float64                  // position of its end
	outcome       history.Outcome
	seen          bool        // a command of it reached the lock's server
	renewals      []operation // by hand, of the hold that an acquire began
}

func newRecord(events []history.Event) *evidence {
	r := &evidence{
		events: events, acquires: map[string][]operation{}, releases: map[string][]operation{}, exits: map[string]time.Duration{},
		lateRenewals: map[string][]time.Duration{}, processes: map[string]bool{},
		faults: disturbances{hindrances: map[string][]faultInterval{}, clocks: map[string][]faultInterval{}},
	}
	all := timeline.Of(events)
	called := make(map[int]*timeline.OperationSpan)
	for n := range all.Operations {
		called[int(all.Operations[n].From)] = &all.Operations[n]
	}
	for i := range events {
		switch e := &events[i]; e.Kind {
		case history.KindOpen:
			if e.Detail == nil {
				continue
			}
			r.lease, r.spread, r.session = e.Detail.Lease, spread{e.Detail.Servers, e.Detail.Need}, e.Detail.Session
			r.leaseless = e.Detail.Leaseless && !e.Detail.Session
			r.local, r.opaque = e.Detail.Unseen == history.Local, e.Detail.Unseen == history.Opaque
			r.processes[history.ProcessOf(e.Client)] = true
			if e.Detail.Work != nil {
				r.work = e.Detail.Work.Workload
			}
		case history.KindCall:
			if r.began == 0 {
				r.began = e.At
			}
			if o := called[i]; o != nil {
				r.called(o)
			}
		case history.KindCommand:
			r.command(i, e)
		case history.KindReturn:
			r.returns = append(r.returns, i)
		case history.KindExit:
			r.exits[e.Client] = e.At
		}
	}
	for n := range all.Faults {
		r.fault(&all.Faults[n], all.Faults[:n])
	}
	return r
}

// withoutStalls is the record as it would be if the host had neither stalled nor been slow.
func (r *evidence) withoutStalls() *evidence {
	calm := *r
	calm.faults = r.faults.withoutHost()
	return &calm
}

func (r *evidence) called(o *timeline.OperationSpan) {
	asked := operation{id: o.ID, called: o.Began, heard: o.Began, ended: o.Ended, done: o.To, lease: o.Began, outcome: o.Outcome}
	if o.Open {
		asked.ended = forever
	}
	switch o.Op {
	case history.OpAcquire:
		r.acquires[o.Client] = append(r.acquires[o.Client], asked)
	case history.OpRenew:
		for i, t := range slices.Backward(r.acquires[o.Client]) {
			if t.outcome == history.OK {
				r.acquires[o.Client][i].renewals = append(t.renewals, asked)
				break
			}
		}
	case history.OpRelease:
		r.releases[o.Client] = append(r.releases[o.Client], asked)
	}
}

// slow is how long a command may take on a host that is not too busy. No fault makes it longer: it counts from the tap.
const slow = 25 * time.Millisecond

// command notes since when a lease runs, and that the host was slow.
func (r *evidence) command(i int, e *history.Event) {
	c := e.Command()
	if c == nil {
		return
	}
	// The lab's state probes belong to the time: meanwhile no other command passes the tap. The record has the sum of both, which are alike.
	took := e.At - c.Sent
	probe := max(0, c.Asked-took) / 2
	if took+2*probe > slow {
		r.faults.hindrances[""] = append(r.faults.hindrances[""], faultInterval{what: "the host was slow", from: c.Sent - probe, to: e.At + probe})
	}
	all := r.acquires[e.Client]
	if len(all) == 0 || c.Server == history.Resource {
		return
	}
	last := &all[len(all)-1]
	last.seen = true
	if float64(i) < last.done {
		last.heard = e.At
	}
	does := func(effect history.Effect) bool {
		return slices.ContainsFunc(c.Changes, func(change history.Change) bool { return change.Effect(c.Asked) == effect })
	}
	renewed := does(history.EffectProlonged) || r.session && len(c.Args) > 0 && c.Args[0] == "PING"
	if float64(i) < last.done && !does(history.EffectRemoved) || renewed {
		r.leased(last, c.Server, c.Sent)
	}
	if _, gone := r.exits[e.Client]; gone && renewed {
		r.lateRenewals[e.Client] = append(r.lateRenewals[e.Client], e.At)
	}
}

// leased notes that the lease of an acquire begins anew on a server.
func (r *evidence) leased(t *operation, server string, at time.Duration) {
	t.lease = at
	if r.servers <= 1 {
		return
	}
	if t.leases == nil {
		t.leases = map[string]time.Duration{}
	}
	t.leases[server] = at
}

// whole is since when the lease of an acquire runs on so many servers that no other client can have the lock.
func (r *evidence) whole(t operation) time.Duration {
	latest := slices.Sorted(maps.Values(t.leases))
	if len(latest) < r.enough() {
		return t.lease
	}
	return latest[len(latest)-r.enough()]
}

// fault notes what a fault hit, and counts those that took effect. before are the faults that began earlier.
func (r *evidence) fault(f *timeline.FaultSpan, before []timeline.FaultSpan) {
	counts := f.Effective >= 0
	s := faultInterval{what: string(f.Kind), from: f.Began, to: r.over(f)}
	switch {
	case f.Kind == faults.Stall:
		r.faults.hindrances[""] = append(r.faults.hindrances[""], faultInterval{what: "the host stalled", from: f.Began, to: f.Ended})
		return
	case f.Kind.OnServer() && !f.Kind.Changes():
		counts = r.faults.hinder(anyClient, s, counts)
	case f.Kind.OnServer():
		if f.Injected >= 0 {
			if !f.Open { // also of one that was over at once
				s.to = f.Ended
			}
			r.faults.servers = append(r.faults.servers, s)
		}
	case f.Kind == faults.Skew:
		if f.RightsClock() { // it has ended the one before
			return
		}
		if f.Injected >= 0 {
			r.faults.clocks[f.Target] = append(r.faults.clocks[f.Target], s)
		}
	case f.Kind == faults.Crash:
		counts = counts && !r.onWire(f, before) // else the hold was counted, and both are one fault of the plan
		r.faults.hinder(f.Target, s, false)     // from the signal until the lab has seen the end
	case f.Kind != faults.Duplicate:
		counts = r.faults.hinder(f.Target, s, counts) && (f.Kind.Holds() || !r.onWire(f, before))
	}
	if counts {
		r.effects++
	}
}

// over is when a fault ended, or its client did.
func (r *evidence) over(f *timeline.FaultSpan) time.Duration {
	to := forever
	if f.Recovered >= 0 {
		to = r.events[f.Recovered].At
	}
	if exit, gone := r.exits[f.Target]; gone && f.Began <= exit {
		to = min(to, exit)
	}
	return to
}

// onWire says whether a message of a client's process was held when it crashed, was paused, or had its links disturbed: the hold and that are one fault
// of the plan, since faults of one client come one after the other.
func (r *evidence) onWire(hit *timeline.FaultSpan, before []timeline.FaultSpan) bool {
	return slices.ContainsFunc(before, func(f timeline.FaultSpan) bool {
		return f.Kind.Holds() && history.ProcessOf(f.Target) == history.ProcessOf(hit.Target) && r.over(&f) >= hit.Began && f.To > hit.From
	})
}
