package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
)

// Timeline is a whole history as data, for those who draw it, describe it or turn it into something else.
type Timeline struct {
	Events     []history.Event
	Clients    []string // C1, C1.b, C2, C10
	Servers    []string // in the order of their first commands
	Operations []OperationSpan
	Holds      []HoldSpan
	Faults     []FaultSpan
	Keys       []KeySpan
	// Touches are what commands did to keys, in order. Those that found a key and left it as it was are not among them: most of a long
	// history is tries.
	Touches []Touch
}

// Span is something that lasts. The position of an event is its index; a moment that no event marks, such as the end of a lease, lies
// halfway between two. What begins with an event is so at that event, what ends with one is not.
type Span struct {
	From, To     float64
	Began, Ended time.Duration
	Open         bool // it had not ended when the history did
}

// At says whether the span covers a position.
func (s Span) At(pos float64) bool { return s.From <= pos && pos < s.To }

// OperationSpan is an operation, from its call to its return, or to the end of its client.
type OperationSpan struct {
	Span
	Op       history.Op
	ID       int64
	Client   string
	Lock     string
	Outcome  history.Outcome // Unknown if its client has ended, or the history
	GaveUp   bool            // its client gave it up
	Commands []int           // indexes of its commands, those that came late included
}

// End is why a hold ended.
type End uint8

// The ends of holds.
const (
	NotEnded End = iota
	Released     // release was called
	Told         // its client was told that it does not hold
	Lapsed       // its declared validity was over
	Exited       // its client has ended
)

// String is the end's name for programs.
func (e End) String() string {
	return [...]string{"open", "released", "told", "lapsed", "exited"}[e]
}

// HoldSpan is a time during which a client held a lock.
type HoldSpan struct {
	Span
	Client, Lock string
	End          End
	// Until is how far the client's validity reaches, whenever that changed; a hold without one declares Never.
	Until []Validity
}

// Validity is until when a hold lasts by its client's clock, as known from an event on.
type Validity struct {
	Event int
	Ends  time.Duration
}

// KeySpan is the life of a key on a server, under one value and one owner.
type KeySpan struct {
	Span
	Server, Key, Value string
	Owner              string // of a lock; empty if it has none, or none is known
	Expired            bool   // its time ran out
	expires            time.Duration
}

// Touch is what a command did to a key.
type Touch struct {
	Event       int
	Server, Key string
	Change      *history.Change
	Effect      history.Effect
	Owner       string // of a lock: the client whose it was before
}

// Of is the timeline of a history.
func Of(events []history.Event) *Timeline {
	b := &builder{
		Timeline: Timeline{Events: events}, cursor: NewCursor(), operations: make(map[operationKey]int), keys: make(map[keyOn]*KeySpan),
	}
	b.lanes()
	for i := range events {
		b.lapse(i)
		b.cursor.Step(i, &events[i], b.fact)
		b.Faults = noteFault(b.Faults, i, &events[i])
		b.event(i, &events[i])
	}
	b.finish()
	return &b.Timeline
}

type operationKey struct {
	id     int64
	client string
}

type keyOn struct{ server, key string }

// builder gathers a timeline.
type builder struct {
	Timeline
	cursor     *Cursor
	room       history.Room
	operations map[operationKey]int // the latest by number
	calling    []int                // indexes of the operations that have not ended
	holding    []int                // indexes of the holds that have not ended
	keys       map[keyOn]*KeySpan   // those that are there
}

// lanes finds who takes part.
func (b *builder) lanes() {
	known := make(map[string]bool)
	for i := range b.Events {
		e := &b.Events[i]
		if e.Client != "" && e.Kind != history.KindFault && !known[e.Client] { // a fault may name a server there
			known[e.Client] = true
			b.Clients = append(b.Clients, e.Client)
		}
		if c := e.CommandIn(&b.room); c != nil && !slices.Contains(b.Servers, c.Server) {
			b.Servers = append(b.Servers, c.Server)
		}
	}
	slices.SortFunc(b.Clients, func(x, y string) int {
		p, q := history.ProcessOf(x), history.ProcessOf(y)
		return cmp.Or(len(p)-len(q), cmp.Compare(p, q), cmp.Compare(x, y))
	})
}

// at is the span of what begins at an event.
func (b *builder) at(i int) Span { return Span{From: float64(i), Began: b.Events[i].At, Open: true} }

func (s *Span) end(pos float64, at time.Duration) { s.To, s.Ended, s.Open = pos, at, false }

// before is the position of a moment just before event i.
func before(i int) float64 { return float64(i) - 0.5 }

// lapse ends the holds and the keys whose time was over when event i happened.
func (b *builder) lapse(i int) {
	at := b.Events[i].At
	b.endHolds(func(h *HoldSpan, now Hold) bool {
		if now.Ends > at {
			return false
		}
		h.end(before(i), now.Ends)
		h.End = Lapsed
		return true
	})
}

// endHolds goes through the holds that have not ended; end says whether one has now.
func (b *builder) endHolds(end func(*HoldSpan, Hold) bool) {
	b.holding = slices.DeleteFunc(b.holding, func(n int) bool {
		h := &b.Holds[n]
		return end(h, *b.cursor.hold(b.cursor.Clients.Find(h.Client), b.cursor.LockNames.Find(h.Lock)))
	})
}

// fact takes in what an event was to an operation, and who holds since.
func (b *builder) fact(f *Fact) {
	e := f.Event
	switch key := (operationKey{f.Op.ID, e.Client}); {
	case f.Op.ID == 0:
	case e.Kind == history.KindCall:
		b.operations[key] = len(b.Operations)
		b.calling = append(b.calling, len(b.Operations))
		b.Operations = append(b.Operations, OperationSpan{
			Span: b.at(f.Index), Op: e.Op, ID: e.ID, Client: e.Client, Lock: e.Lock, Outcome: history.Unknown,
		})
	case e.Kind == history.KindReturn:
		n := b.operations[key]
		o := &b.Operations[n]
		o.end(float64(f.Index), e.At)
		o.Outcome, o.GaveUp = f.Op.Outcome, f.Op.GaveUp
		b.calling = slices.DeleteFunc(b.calling, func(m int) bool { return m == n })
	case e.Kind == history.KindCommand:
		o := &b.Operations[b.operations[key]]
		if n := len(o.Commands); n == 0 || o.Commands[n-1] != f.Index { // a command has a fact for each lock that it names
			o.Commands = append(o.Commands, f.Index)
		}
	}
	if f.Began {
		b.holding = append(b.holding, len(b.Holds))
		b.Holds = append(b.Holds, HoldSpan{Span: b.at(f.Index), Client: e.Client, Lock: e.Lock})
	}
}

// event takes in what an event ended, and what it did to keys.
func (b *builder) event(i int, e *history.Event) {
	b.endHolds(func(h *HoldSpan, now Hold) bool {
		if now.Active(e.At) {
			return false
		}
		h.end(float64(i), e.At)
		h.End = endBy(e, now)
		return true
	})
	b.noteValidity(i)
	switch f := e.Fault(); {
	case e.Kind == history.KindCommand:
		b.command(i, e)
	case e.Kind == history.KindExit:
		b.exit(i, e)
	case e.Kind == history.KindReturn:
		b.newOwners(i)
	case f != nil && f.Phase == history.PhaseEffective:
		b.serverFault(i, f)
	}
}

// noteValidity takes in until when holds last after an event.
func (b *builder) noteValidity(i int) {
	b.endHolds(func(h *HoldSpan, now Hold) bool {
		if n := len(h.Until); n == 0 || h.Until[n-1].Ends != now.Ends {
			h.Until = append(h.Until, Validity{Event: i, Ends: now.Ends})
		}
		return false
	})
}

// exit ends the operations of a client that has ended: they will not return.
func (b *builder) exit(i int, e *history.Event) {
	b.calling = slices.DeleteFunc(b.calling, func(n int) bool {
		o := &b.Operations[n]
		if o.Client == e.Client {
			o.end(float64(i), e.At)
		}
		return !o.Open
	})
}

// endBy is why an event ended a hold.
func endBy(e *history.Event, now Hold) End {
	switch {
	case e.Kind == history.KindExit:
		return Exited
	case e.Kind == history.KindCall:
		return Released
	case now.On:
		return Lapsed
	}
	return Told
}

func (b *builder) finish() {
	end := float64(len(b.Events))
	for _, k := range b.keys {
		b.Keys = append(b.Keys, *k)
	}
	for n := range b.Keys {
		b.Keys[n].toEnd(end)
	}
	for n := range b.Holds {
		b.Holds[n].toEnd(end)
	}
	for n := range b.Operations {
		b.Operations[n].toEnd(end)
	}
	for n := range b.Faults {
		b.Faults[n].place(b.Events)
	}
	slices.SortStableFunc(b.Keys, func(x, y KeySpan) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Key, y.Key))
	})
}

func (s *Span) toEnd(end float64) {
	if s.Open {
		s.To = end
	}
}
