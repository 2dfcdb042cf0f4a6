package storm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/timeline"
)

// record is a history, arranged by what befell whom.
type record struct {
	events   []history.Event
	lease    time.Duration
	local    bool          // the lock reaches no server
	servers  int           // on which the lock lives; zero: one, or none
	began    time.Duration // the first operation
	effects  int           // faults that took effect
	returns  []int         // indexes of the answers to operations
	acquires map[string][]acquire
	releases map[string][]acquire
	spells   map[string][]spell // by client; "" for the whole machine
	skews    map[string][]spell
	shocks   []spell                  // of the server
	exits    map[string]time.Duration // by client
}

// acquire is an acquire of a client, or a release.
type acquire struct {
	id            int64
	called, ended time.Duration
	lease         time.Duration // since when its lease runs: its last command, or the last that prolonged the lock
	done          float64       // position of its end
	outcome       history.Outcome
	seen          bool // a command of it reached the lock's server
}

// spell is a time during which a fault was in effect.
type spell struct {
	what     string
	from, to time.Duration
	struck   bool // it was seen to take effect
}

const forever = timeline.Never

func newRecord(events []history.Event) *record {
	r := &record{
		events: events, acquires: make(map[string][]acquire), releases: make(map[string][]acquire),
		spells: make(map[string][]spell), skews: make(map[string][]spell), exits: make(map[string]time.Duration),
	}
	all := timeline.Of(events)
	called := make(map[int]*timeline.OperationSpan)
	for n := range all.Operations {
		called[int(all.Operations[n].From)] = &all.Operations[n]
	}
	for i := range events {
		switch e := &events[i]; e.Kind {
		case history.KindOpen:
			r.lease, r.local, r.servers = e.Detail.Lease, e.Detail.Local, e.Detail.Servers
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

func (r *record) called(o *timeline.OperationSpan) {
	asked := acquire{id: o.ID, called: o.Began, ended: o.Ended, done: o.To, lease: o.Began, outcome: o.Outcome}
	if o.Open {
		asked.ended = forever
	}
	switch o.Op {
	case history.OpAcquire:
		r.acquires[o.Client] = append(r.acquires[o.Client], asked)
	case history.OpRelease:
		r.releases[o.Client] = append(r.releases[o.Client], asked)
	}
}

// slow is how long a command may take on a machine that is not too busy. No fault makes it longer: it counts from the tap.
const slow = 25 * time.Millisecond

// command notes from when a lease runs, and that the machine was slow.
func (r *record) command(i int, e *history.Event) {
	c := e.Command()
	if c == nil {
		return
	}
	if e.At-c.Sent > slow {
		r.spells[""] = append(r.spells[""], spell{what: "the machine was slow", from: c.Sent, to: e.At})
	}
	all := r.acquires[e.Client]
	if len(all) == 0 || c.Server == history.Resource {
		return
	}
	last := &all[len(all)-1]
	last.seen = true
	renewed := slices.ContainsFunc(c.Changes, func(change history.Change) bool { return change.Effect(c.Asked) == history.EffectProlonged })
	if float64(i) < last.done || renewed {
		last.lease = c.Sent
	}
}

// fault notes what befell whom, and counts what took effect. before are the faults that began earlier.
func (r *record) fault(f *timeline.FaultSpan, before []timeline.FaultSpan) {
	counts := f.Effective >= 0
	s := spell{what: string(f.Kind), from: f.Began, to: r.over(f)}
	switch {
	case f.Kind == faults.Stall:
		r.spells[""] = append(r.spells[""], spell{what: "the machine stood still", from: f.Began, to: f.Ended})
		return
	case f.Kind.OnServer():
		if f.Injected >= 0 {
			r.shocks = append(r.shocks, s)
		}
	case f.Kind == faults.Skew:
		if f.Injected >= 0 {
			r.skews[f.Target] = append(r.skews[f.Target], s)
		}
		counts = counts && !f.RightsClock()
	case f.Kind == faults.Crash:
		counts = counts && !r.onWire(f, before) // else its client was caught on the wire first, which is one fault and not two
	case f.Kind != faults.Duplicate:
		counts = r.hindrance(f.Target, s, counts)
	}
	if counts {
		r.effects++
	}
}

// over is when a fault was taken back, or its client ended.
func (r *record) over(f *timeline.FaultSpan) time.Duration {
	to := forever
	if f.Recovered >= 0 {
		to = r.events[f.Recovered].At
	}
	if exit, gone := r.exits[f.Target]; gone && f.Began <= exit {
		to = min(to, exit)
	}
	return to
}

// hindrance notes what keeps a client from the server. What befalls the links to several servers at a time is one fault, which counts
// once.
func (r *record) hindrance(target string, s spell, struck bool) (counts bool) {
	all := r.spells[target]
	on := slices.IndexFunc(all, func(o spell) bool { return o.what == s.what && o.to > s.from })
	if on < 0 {
		s.struck = struck
		r.spells[target] = append(all, s)
		return struck
	}
	counts = struck && !all[on].struck
	all[on].struck = all[on].struck || struck
	all[on].to = max(all[on].to, s.to)
	return counts
}

// onWire says whether something of a client's process was held up when it crashed.
func (r *record) onWire(crash *timeline.FaultSpan, before []timeline.FaultSpan) bool {
	return slices.ContainsFunc(before, func(f timeline.FaultSpan) bool {
		return f.Kind.Holds() && history.ProcessOf(f.Target) == crash.Target && r.over(&f) >= crash.Began && f.To > crash.From
	})
}

// since is from when on what befell the clients of an anomaly matters: since the first of their holds that it is about was asked for.
func (r *record) since(a checker.Anomaly) time.Duration {
	first := a.At
	if len(a.Events) > 0 {
		first = r.events[a.Events[0]].At
	}
	from := first
	for _, client := range a.Clients {
		asked := first
		for _, t := range r.acquires[client] {
			if t.called <= first && t.outcome == history.OK {
				asked = t.called
			}
		}
		from = min(from, asked)
	}
	return from
}

// upheaval is what a server went through that ends leases on it.
func (r *record) upheaval(from, to time.Duration) string {
	for _, s := range r.shocks {
		if s.from <= to && s.from >= from-r.lease {
			return fmt.Sprintf("the server's %s at %.3fs", s.what, s.from.Seconds())
		}
	}
	return ""
}

// skewed names a client whose clock was changed, or was wrong, meanwhile.
func (r *record) skewed(clients []string, from, to time.Duration) string {
	for _, client := range clients {
		for _, s := range r.skews[history.ProcessOf(client)] {
			if s.from <= to && s.to >= from-r.lease {
				return client
			}
		}
	}
	return ""
}

// hindered is for how long a client, its process or the whole machine was kept from what it was at, and what did most of it.
func (r *record) hindered(client string, from, to time.Duration) (total time.Duration, what string) {
	spells := slices.Concat(r.spells[client], r.spells[""])
	if process := history.ProcessOf(client); process != client {
		spells = append(spells, r.spells[process]...)
	}
	return within(spells, from, to)
}

// overrun says whether a client was in a hold that its lease did not last for, and when that lease had begun.
func (r *record) overrun(client string, at time.Duration) (began time.Duration, over bool) {
	for _, t := range slices.Backward(r.acquires[client]) {
		if t.outcome == history.OK && t.ended <= at {
			return t.lease, at-t.lease >= r.lease-leaseGrain
		}
	}
	return 0, false
}

// stranger names a client of an anomaly that got its lock without a command: while its connections were refused, somebody else on this
// machine has taken its port.
func (r *record) stranger(a checker.Anomaly) string {
	for _, client := range a.Clients {
		for _, t := range r.acquires[client] {
			if !r.local && !t.seen && t.outcome == history.OK && t.ended <= a.At {
				return client
			}
		}
	}
	return ""
}

// leaseGrain is how much sooner than computed a lease may end: servers count it in milliseconds.
const leaseGrain = 5 * time.Millisecond

// within is for how long some of the spells were in effect between two times, and what the longest was.
func within(spells []spell, from, to time.Duration) (total time.Duration, what string) {
	slices.SortFunc(spells, func(a, b spell) int { return cmp.Compare(a.from, b.from) })
	var longest time.Duration
	for _, s := range spells {
		begin, end := max(s.from, from), min(s.to, to)
		if end-begin > longest {
			longest, what = end-begin, s.what
		}
		if end > begin {
			total += end - begin
			from = end
		}
	}
	return total, what
}

// first tells how soon the first promise was broken.
func (r *record) first(anomalies []checker.Anomaly) *checker.First {
	i := slices.IndexFunc(anomalies, func(a checker.Anomaly) bool { return a.Beyond == "" })
	if i < 0 {
		return nil
	}
	a := anomalies[i]
	last := 0
	if len(a.Events) > 0 {
		last = a.Events[len(a.Events)-1]
	}
	answered, _ := slices.BinarySearch(r.returns, last)
	return &checker.First{Name: a.Name, After: a.At - r.began, Operation: answered + 1}
}
