package checker

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/history"
)

// Premises says why a history cannot count as a test of its lock, or "" if it can: no acquire succeeded, a fault was injected and
// never seen to take effect, or no fault fell on a hold or on an operation under way.
func Premises(events []history.Event) string {
	p := premises{v: newView()}
	for i := range events {
		p.v.step(i, &events[i], p.took)
		p.event(&events[i])
	}
	return p.verdict()
}

type premises struct {
	v        *view
	tried    bool // an acquire was called
	acquired bool // one returned ok, or took the lock on the server without its client being told
	awaited  []injury
	open     []injury // in effect
	effects  int      // how many faults took effect
	hit      bool     // one of them fell on something
	missed   string   // the first fault that was taken back, or injected again, before it took effect
}

// injury is a fault and what it hits.
type injury struct{ name, target string }

func (f injury) String() string { return fmt.Sprintf("%s of %s", f.name, f.target) }

// took notes a command of an acquire that took the lock.
func (p *premises) took(f *fact) {
	if f.op.kind != history.OpAcquire || f.change == nil {
		return
	}
	p.acquired = p.acquired || f.effect == history.EffectCreated || f.effect == history.EffectReplaced
}

func (p *premises) event(e *history.Event) {
	switch e.Kind {
	case history.KindCall:
		p.tried = p.tried || e.Op == history.OpAcquire
	case history.KindReturn:
		p.acquired = p.acquired || e.Op == history.OpAcquire && e.Outcome == history.OK
	case history.KindFault:
		if e.Detail != nil && e.Detail.Fault != nil {
			p.fault(e.Detail.Fault)
		}
	}
	if len(p.open) > 0 && !p.hit {
		p.hit = len(p.v.ops.pending) > 0 || p.held(e)
	}
}

// held says whether any client is in a hold.
func (p *premises) held(e *history.Event) bool {
	return slices.ContainsFunc(p.v.keys, func(k lockView) bool {
		return slices.ContainsFunc(k.holds, func(h hold) bool { return h.active(e.At) })
	})
}

func (p *premises) fault(f *history.Fault) {
	what := injury{f.Name, f.Target}
	isWhat := func(o injury) bool { return o == what }
	awaited := slices.Contains(p.awaited, what)
	switch f.Phase {
	case history.PhaseInject:
		if awaited {
			p.miss(what)
			return
		}
		p.awaited = append(p.awaited, what)
	case history.PhaseEffective:
		p.awaited = slices.DeleteFunc(p.awaited, isWhat)
		p.open = append(p.open, what)
		p.effects++
		// A wrong clock stays wrong in what was computed by it; it needs nothing to be under way.
		p.hit = p.hit || f.Name == "skew" || f.Name == "clock-jump"
	case history.PhaseRecover:
		if awaited {
			p.miss(what)
		}
		p.awaited = slices.DeleteFunc(p.awaited, isWhat)
		p.open = slices.DeleteFunc(p.open, isWhat)
	}
}

func (p *premises) miss(what injury) {
	if p.missed == "" {
		p.missed = what.String()
	}
}

func (p *premises) verdict() string {
	if p.missed == "" && len(p.awaited) > 0 {
		p.miss(p.awaited[0])
	}
	switch {
	case p.tried && !p.acquired:
		return "no acquire succeeded"
	case p.missed != "":
		return fmt.Sprintf("the fault %s was injected but never seen to take effect", p.missed)
	case p.effects > 0 && !p.hit:
		return "no fault fell on a hold or on an operation under way"
	}
	return ""
}
