package timeline

import (
	"slices"
	"sort"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// FaultSpan is a fault: from its injection, or from when it took effect where it was not injected. What is over at once ends when it takes
// effect; what a crash has ended stays so. An event that it has not come to is -1.
type FaultSpan struct {
	Span
	Kind         faults.Kind
	Target, What string
	Injected     int
	Effective    int
	Recovered    int
}

// Hits says whether the fault hits a client: itself, or its process. A breakpoint, and the death of a thread, hit one client only.
func (f *FaultSpan) Hits(client string) bool {
	return client == f.Target || !f.atBreakpoint() && f.Kind != faults.ThreadDeath && history.ProcessOf(client) == f.Target
}

// InEffect says whether the fault was seen to take effect, and has not ended.
func (f *FaultSpan) InEffect() bool { return f.Effective >= 0 && f.Recovered < 0 }

// Awaited says whether the fault was injected, and neither seen to take effect nor taken back.
func (f *FaultSpan) Awaited() bool { return f.Effective < 0 && f.Recovered < 0 }

// Lasts says whether the fault is in effect or awaited, and is not over at once.
func (f *FaultSpan) Lasts() bool { return f.Recovered < 0 && !f.isPoint() }

// RightsClock says whether this is the end of a Skew, which is recorded as another one.
func (f *FaultSpan) RightsClock() bool { return f.Kind == faults.Skew && f.What == faults.RightClock }

func (f *FaultSpan) atBreakpoint() bool { return f.Injected < 0 && f.Kind.OnMessage() }

// isPoint says whether the fault is over at once.
func (f *FaultSpan) isPoint() bool {
	lost := f.Kind == faults.ReplyLost && f.atBreakpoint() // that of one request
	dead := f.Kind == faults.Crash || f.Kind == faults.ThreadDeath
	return lost || f.RightsClock() || f.Kind.Of().OneShot && !dead
}

// noteFault takes what an event says of a fault into a list of faults.
func noteFault(list []FaultSpan, i int, e *history.Event) []FaultSpan {
	said := e.Fault()
	if said == nil {
		return list
	}
	f := FaultSpan{Kind: faults.Kind(said.Name).Of().Kind, Target: said.Target, What: said.What, Injected: -1, Effective: -1, Recovered: -1}
	find := func(is func(*FaultSpan) bool) *FaultSpan {
		for n := range list {
			if g := &list[n]; g.Kind == f.Kind && g.Target == f.Target && is(g) {
				return g
			}
		}
		return nil
	}
	inEffect := find((*FaultSpan).InEffect)
	awaited := find((*FaultSpan).Awaited)
	switch {
	case f.Kind == faults.Stall: // measured, and written down when it was over
		f.Recovered = i
		f.Began, f.Ended = time.Duration(e.Detail.Value), time.Duration(e.Detail.Value)+e.Detail.Bound
		return append(list, f)
	case said.Phase == history.PhaseInject:
		if f.Kind == faults.Skew && inEffect != nil {
			inEffect.Recovered = i
		}
		if awaited != nil {
			return list
		}
		f.Injected = i
		return append(list, f)
	case said.Phase == history.PhaseEffective:
		if awaited != nil {
			awaited.Effective = i
			return list
		}
		if f.Effective = i; inEffect != nil && !f.isPoint() {
			return list
		}
		return append(list, f)
	case said.Phase == history.PhaseRecover:
		for n := range list {
			if g := &list[n]; g.Kind == f.Kind && g.Target == f.Target && g.Recovered < 0 {
				g.Recovered = i
			}
		}
	}
	return list
}

// place says from when to when the fault was.
func (f *FaultSpan) place(events []history.Event) {
	if f.Kind == faults.Stall {
		position := func(at time.Duration) float64 {
			return before(sort.Search(len(events), func(i int) bool { return events[i].At >= at }))
		}
		f.From, f.To = position(f.Began), position(f.Ended)
		return
	}
	begin := f.Injected
	if begin < 0 {
		begin = f.Effective
	}
	end := f.Recovered
	if end < 0 && f.isPoint() {
		end = max(f.Injected, f.Effective)
	}
	f.From, f.Began = float64(begin), events[begin].At
	f.To, f.Open = float64(len(events)), end < 0
	if end >= 0 {
		f.end(float64(end), events[end].At)
	}
}

// note takes an event of a fault into the faults that are in effect or awaited.
func (v *Cursor) noteFault(i int, e *history.Event) {
	v.Faults = slices.DeleteFunc(noteFault(v.Faults, i, e), func(f FaultSpan) bool {
		return f.Recovered >= 0 && f.Kind != faults.Skew
	})
}
