package storm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
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
	caught   map[string]bool    // by process: something of it was held on the wire when it crashed
	skews    map[string][]spell
	shocks   []spell // of the server
}

// acquire is an acquire of a client, or a release.
type acquire struct {
	id            int64
	called, ended time.Duration
	lease         time.Duration // since when its lease runs: its last command, or the last that prolonged the lock
	outcome       history.Outcome
	seen          bool // a command of it reached the lock's server
}

// spell is a time during which a fault was in effect.
type spell struct {
	what     string
	from, to time.Duration
	struck   bool // it was seen to take effect
}

// Right is how a history words that a client's clock is right again.
const Right = "offset 0s, rate 1"

const forever = time.Duration(math.MaxInt64)

func newRecord(events []history.Event) *record {
	r := &record{
		events: events, acquires: make(map[string][]acquire), releases: make(map[string][]acquire), spells: make(map[string][]spell), caught: make(map[string]bool), skews: make(map[string][]spell),
	}
	for i, e := range events {
		switch e.Kind {
		case history.KindOpen:
			r.lease, r.local, r.servers = e.Detail.Lease, e.Detail.Local, e.Detail.Servers
		case history.KindCall:
			if r.began == 0 {
				r.began = e.At
			}
			asked := acquire{id: e.ID, called: e.At, ended: forever, lease: e.At, outcome: history.Unknown}
			switch e.Op {
			case history.OpAcquire:
				r.acquires[e.Client] = append(r.acquires[e.Client], asked)
			case history.OpRelease:
				r.releases[e.Client] = append(r.releases[e.Client], asked)
			}
		case history.KindCommand:
			r.command(e, e.Detail.Command)
		case history.KindReturn:
			r.returns = append(r.returns, i)
			r.answered(e)
		case history.KindExit:
			r.died(e)
		case history.KindFault:
			if e.Detail != nil && e.Detail.Fault != nil {
				r.fault(e, *e.Detail.Fault)
			}
		}
	}
	return r
}

// slow is how long a command may take on a machine that is not too busy. No fault makes it longer: it counts from the tap.
const slow = 25 * time.Millisecond

// command notes from when a lease runs, and that the machine was slow.
func (r *record) command(e history.Event, c *history.Command) {
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
	if last.ended == forever || renewed {
		last.lease = c.Sent
	}
}

func (r *record) answered(e history.Event) {
	for _, all := range [][]acquire{r.acquires[e.Client], r.releases[e.Client]} {
		for i := range slices.Backward(all) { // the latest is the likeliest
			if a := &all[i]; a.id == e.ID && a.ended == forever {
				a.ended, a.outcome = e.At, e.Outcome
				break
			}
		}
	}
}

// died ends what a client was at, and what hindered it.
func (r *record) died(e history.Event) {
	for _, all := range [][]acquire{r.acquires[e.Client], r.releases[e.Client]} {
		for i := range all {
			all[i].ended = min(all[i].ended, e.At)
		}
	}
	for _, all := range [][]spell{r.spells[e.Client], r.skews[e.Client]} {
		for i := range all {
			all[i].to = min(all[i].to, e.At)
		}
	}
}

func (r *record) fault(e history.Event, f history.Fault) {
	switch f.Name {
	case string(faults.Stall):
		from := time.Duration(e.Detail.Value)
		r.spells[""] = append(r.spells[""], spell{what: "the machine stood still", from: from, to: from + e.Detail.Bound})
	case "restart", "clock-jump":
		if f.Phase == history.PhaseInject {
			r.shocks = append(r.shocks, spell{what: f.Name, from: e.At, to: e.At})
		}
		r.count(f.Phase)
	case "skew":
		if f.Phase == history.PhaseInject {
			r.skews[f.Target] = append(ended(r.skews[f.Target], "skew", e.At), spell{what: "skew", from: e.At, to: forever})
		}
		if f.What != Right {
			r.count(f.Phase)
		}
	case "crash":
		if f.Phase == history.PhaseInject {
			r.caught[f.Target] = r.onWire(f.Target)
		}
		if !r.caught[f.Target] { // else its client was caught on the wire first, which is one fault and not two
			r.count(f.Phase)
		}
	case "duplicate":
		r.count(f.Phase)
	default:
		r.hindrance(e.At, f)
	}
}

// count counts a fault when it takes effect.
func (r *record) count(phase history.Phase) {
	if phase == history.PhaseEffective {
		r.effects++
	}
}

// hindrance notes what keeps a client from the server. A breakpoint is not injected: it takes effect. What befalls the links to
// several servers is one fault.
func (r *record) hindrance(at time.Duration, f history.Fault) {
	if f.Phase == history.PhaseRecover {
		r.spells[f.Target] = ended(r.spells[f.Target], f.Name, at)
		return
	}
	on := slices.IndexFunc(r.spells[f.Target], func(s spell) bool { return s.what == f.Name && s.to == forever })
	if on < 0 {
		on = len(r.spells[f.Target])
		r.spells[f.Target] = append(r.spells[f.Target], spell{what: f.Name, from: at, to: forever})
	}
	if s := &r.spells[f.Target][on]; f.Phase == history.PhaseEffective && !s.struck {
		s.struck = true
		r.effects++
	}
}

// onWire says whether something of a client's process is held up.
func (r *record) onWire(process string) bool {
	for client, spells := range r.spells {
		if history.ProcessOf(client) == process && slices.ContainsFunc(spells, spell.onWire) {
			return true
		}
	}
	return false
}

func (s spell) onWire() bool { return s.to == forever && (s.what == "hold" || s.what == "hold-reply") }

// ended ends the open spell of that name.
func ended(spells []spell, what string, at time.Duration) []spell {
	for i := range spells {
		if spells[i].what == what && spells[i].to == forever {
			spells[i].to = at
		}
	}
	return spells
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
