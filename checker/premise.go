package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

func newPremises() *premises {
	return &premises{v: timeline.NewCursor(), called: make(map[string]bool)}
}

// read takes in a history, and hands on each fact.
func (p *premises) read(events []history.Event, emit func(*timeline.Fact)) {
	both := func(f *timeline.Fact) {
		p.fact(f)
		emit(f)
	}
	for i := range events {
		p.before(&events[i])
		p.v.Step(i, &events[i], both)
		p.after(&events[i])
	}
}

type premises struct {
	v        *timeline.Cursor
	tried    bool            // an acquire was called
	acquired bool            // one returned ok, or took the lock on the server without its client being told
	granted  bool            // one returned ok, whatever validity came with it
	alive    bool            // and that was not over
	unread   bool            // no command of the lock is on record: it reaches no server, or what it sends there is not read
	called   map[string]bool // clients that were asked to do anything
	trying   []trial         // acquires under way
	unseen   string          // the first client that was told that it has the lock without a command of its having been seen
	effects  int             // how many faults took effect
	hit      bool            // one of them fell on something
	asked    bool            // an acquire was answered after a fault had taken effect
	learned  bool            // one of them by ok, or by no and a command of it had reached the lock's key
	missed   string          // the first fault that was taken back, or injected again, before it took effect
}

// trial is an acquire under way.
type trial struct {
	op           int64
	client, lock int
	seen         bool // a command of its client reached the lock's key
}

// fact takes in what operations and commands came to.
func (p *premises) fact(f *timeline.Fact) {
	switch {
	case f.Event.Kind == history.KindOpen:
		d := f.Event.Detail
		p.unread = p.unread || d != nil && d.Unseen != 0
	case f.Event.Kind == history.KindCommand:
		p.command(f)
	case f.Op.Kind != history.OpAcquire:
	case f.Event.Kind == history.KindCall:
		p.tried = true
		p.trying = append(p.trying, trial{op: f.Op.ID, client: f.Client, lock: f.Lock})
	case f.Event.Kind == history.KindReturn:
		p.answered(f)
	}
}

// answered takes in the answer to an acquire.
func (p *premises) answered(f *timeline.Fact) {
	t := list.Take(&p.trying, func(t trial) bool { return t.op == f.Op.ID && t.client == f.Client })
	ok := f.Op.Outcome == history.OK
	p.acquired, p.granted = p.acquired || ok, p.granted || ok
	p.alive = p.alive || ok && f.Event.Valid != history.ValidityExpired
	p.asked = p.asked || p.effects > 0
	p.learned = p.learned || p.effects > 0 && (ok || f.Op.Outcome == history.No && (t.seen || p.unread))
	if f.Began && !t.seen && !p.unread && p.unseen == "" {
		p.unseen = f.Event.Client
	}
}

// command takes in a command: an acquire that took the lock, and whose acquires have reached it.
func (p *premises) command(f *timeline.Fact) {
	if f.Work {
		return
	}
	taken := f.Effect == history.EffectCreated || f.Effect == history.EffectReplaced
	p.acquired = p.acquired || taken && f.Op.Kind == history.OpAcquire
	for n := range p.trying {
		t := &p.trying[n]
		t.seen = t.seen || t.client == f.Client && t.lock == f.Lock
	}
}

// before takes in a fault as things were when it happened: a crash while its client still has what it had.
func (p *premises) before(e *history.Event) {
	f := e.Fault()
	if f == nil || faults.Kind(f.Name) == faults.Stall { // a stall is not injected
		return
	}
	n := slices.IndexFunc(p.v.Faults, func(g timeline.FaultSpan) bool {
		return g.Kind == faults.Kind(f.Name) && g.Target == f.Target && g.Awaited()
	})
	switch f.Phase {
	case history.PhaseInject:
		if faults.Kind(f.Name) == faults.Crash {
			p.hit = p.hit || p.busy(f.Target, e.At)
		}
		p.miss(n)
	case history.PhaseEffective:
		p.effects++
		// A breakpoint takes effect when it has caught a command of an operation, which may have returned by the time of the record.
		p.hit = p.hit || n < 0 && faults.Kind(f.Name).OnMessage() && p.called[f.Target]
	case history.PhaseRecover:
		p.miss(n)
	}
}

func (p *premises) after(e *history.Event) {
	if e.Kind == history.KindCall {
		p.called[e.Client] = true
	}
	if !p.hit {
		p.hit = slices.ContainsFunc(p.v.Faults, func(f timeline.FaultSpan) bool { return f.Effective >= 0 && p.fell(f, e) })
	}
}

// fell says whether a fault in effect falls on something at an event.
func (p *premises) fell(f timeline.FaultSpan, e *history.Event) bool {
	switch f.Kind {
	case faults.ClockJump:
		return true // it shortens every lease on the server
	case faults.Skew:
		return e.Kind == history.KindCall && history.ProcessOf(e.Client) == f.Target || p.busy(f.Target, e.At)
	case faults.Crash:
		return p.leftBehind(f.Target, e.At)
	case faults.Restart:
		return e.Kind == history.KindFault && p.busy("", e.At) // later an empty server does not show that it was restarted
	}
	if f.Kind.OnServer() {
		return p.busy("", e.At)
	}
	return p.busy(f.Target, e.At)
}

// hits says whether a fault of that target falls on a client: one of a process falls on every lock in it.
func (p *premises) hits(target string, client int) bool {
	if client == 0 {
		return false
	}
	name := p.v.Clients.Name(client)
	return name == target || history.ProcessOf(name) == target
}

// busy says whether a client holds a lock or has an operation under way; the empty name stands for anybody.
func (p *premises) busy(name string, at time.Duration) bool {
	is := func(c int) bool { return name == "" || p.hits(name, c) }
	return slices.ContainsFunc(p.v.Ops.Pending, func(o timeline.Operation) bool { return is(o.Client) }) ||
		slices.ContainsFunc(p.v.Locks, func(k timeline.Lock) bool {
			for c, h := range k.Holds {
				if is(c) && h.Active(at) {
					return true
				}
			}
			return false
		})
}

// leftBehind says whether the service still keeps a lock for a client.
func (p *premises) leftBehind(name string, at time.Duration) bool {
	return slices.ContainsFunc(p.v.Locks, func(k timeline.Lock) bool {
		return k.Ledger.There && p.hits(name, k.Ledger.Owner.Client) && k.Ledger.Owner.Leased(at)
	})
}

// miss notes that a fault never took effect; n is its index in the cursor's, negative: there is none.
func (p *premises) miss(n int) {
	if n >= 0 && p.missed == "" {
		p.missed = fmt.Sprintf("%s of %s", p.v.Faults[n].Kind, p.v.Faults[n].Target)
	}
}

// neverAcquired is what the premises say where no client ever got the lock.
const neverAcquired = "no acquire succeeded"

// verdict says why a history cannot count as a test of its lock, or "" if it can: no acquire succeeded, none that did began a hold, one succeeded though
// nothing of it reached the lock's key, a fault was injected and never seen to take effect, or no fault fell on a hold or on an
// operation under way of the client that it was aimed at.
func (p *premises) verdict() string {
	p.miss(slices.IndexFunc(p.v.Faults, func(f timeline.FaultSpan) bool { return f.Awaited() }))
	switch {
	case p.tried && !p.acquired:
		return neverAcquired
	case p.granted && !p.alive:
		return "every grant came with a validity that was over (valid_ms of 0 or less), so nobody held the lock"
	case p.unseen != "":
		return fmt.Sprintf("%s acquired the lock, but no command of its acquire reached the lock's key", p.unseen)
	case p.missed != "":
		return fmt.Sprintf("the fault %s was injected but never seen to take effect", p.missed)
	case p.effects > 0 && !p.hit:
		return "no fault fell on a hold or on an operation under way"
	}
	return ""
}

// uninformed says why it counts for nothing that no anomaly was found: all who asked for the lock after a fault learned nothing. A client that
// answers unknown to everything shows no anomaly.
func (p *premises) uninformed() string {
	if !p.asked || p.learned {
		return ""
	}
	return "nobody who asked for the lock after the fault learned whether it was free"
}
