package overlap

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/list"
	"github.com/locklab/locklab/checker/internal/resource"
	"github.com/locklab/locklab/history"
)

// UpdateSpan is an acknowledged update of a counter, or the reading of it at the end.
type UpdateSpan struct {
	Call, Done int64 // positions
	Value      int64 // what was read
	final      bool
	blind      bool // an update of which it is not known what it read
}

// counterHistory is the updates of one lock's counter in the order of their returns.
type counterHistory struct {
	name    string
	Updates []UpdateSpan
	resource.Sequence
	began   bool       // somebody said what the work is
	opened  int        // how many updates there were by then
	ledgers [][]string // as found
}

// Counters reads the updates of each counter, in the order in which they appear. Like the mutex's histories, it is read
// apart from package timeline on purpose.
func Counters(events []history.Event) []*counterHistory {
	r := counterReader{counters: make(map[string]*counterHistory)}
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == history.KindExit:
			r.pending = slices.DeleteFunc(r.pending, func(p pendingWork) bool { return p.client == e.Client })
		case e.Kind == history.KindCommand:
			r.command(i, e)
		case e.Lock != "":
			r.event(i, e)
		}
	}
	return r.order
}

type counterReader struct {
	counters map[string]*counterHistory
	order    []*counterHistory
	pending  []pendingWork
	wired    bool // commands to a resource are on record
	room     history.Room
}

// pendingWork is work under way.
type pendingWork struct {
	id     int64
	client string
	lock   string
	event  int
	wire   resource.Wire
}

func (p pendingWork) is(e *history.Event) bool { return p.id == e.ID && p.client == e.Client }

func (r *counterReader) of(name string) *counterHistory {
	c := r.counters[name]
	if c == nil {
		c = &counterHistory{name: name}
		r.counters[name] = c
		r.order = append(r.order, c)
	}
	return c
}

func (r *counterReader) command(i int, e *history.Event) {
	c := e.CommandIn(&r.room)
	if c == nil || e.Client == "" || c.Server != history.Resource {
		return
	}
	r.wired = true
	for n := range r.pending {
		if p := &r.pending[n]; e.ID != 0 && p.is(e) {
			r.of(p.lock).Note(&p.wire, c)
		}
	}
}

// event takes in event i, which names a lock.
func (r *counterReader) event(i int, e *history.Event) {
	isThis := func(p pendingWork) bool { return p.is(e) }
	switch {
	case e.Kind == history.KindOpen && e.Detail != nil && e.Detail.Work != nil:
		r.of(e.Lock).open(e.Detail.Work)
	case e.Kind == history.KindFinal && e.Detail != nil:
		r.of(e.Lock).final(i, e.Detail)
	case e.Client == "":
	case e.Kind == history.KindCall && e.Op == history.OpWork:
		if !slices.ContainsFunc(r.pending, isThis) {
			r.pending = append(r.pending, pendingWork{id: e.ID, client: e.Client, lock: e.Lock, event: i})
		}
	case e.Kind == history.KindReturn:
		p := list.Take(&r.pending, isThis)
		if p.lock == e.Lock && e.Outcome == history.OK {
			c := r.of(e.Lock)
			read, known := c.Read(&p.wire, e, r.wired)
			c.Updates = list.Append(c.Updates, UpdateSpan{Call: At(p.event), Done: At(i), Value: read, blind: !known})
		}
	}
}

func (c *counterHistory) final(i int, d *history.Detail) {
	c.Updates = list.Append(c.Updates, UpdateSpan{Call: At(i), Done: At(i), Value: c.Turned(d.Value), final: true})
	if c.Work == history.Ledger {
		c.ledgers = append(c.ledgers, d.Work.Find("entries"))
	}
}

// open takes in what the work is. Who says so first is right.
func (c *counterHistory) open(w *history.Work) {
	if c.began {
		return
	}
	c.Sequence, c.began, c.opened = resource.SequenceOf(w), true, len(c.Updates)
}

// CounterState is what is known of a counter that only grows.
type CounterState struct {
	Least   int64 // it is at least that
	Updates int64 // and so many updates were acknowledged
}

// CounterModel is the counter, with what is known of it at the beginning of a window. An input is an update.
//
// An update reads a value and puts the next one in its place, in one step. Updates without an acknowledgement may have happened or
// not, and so the counter may have grown in between; it never shrinks. In the end it has grown by every update acknowledged.
func CounterModel(begin CounterState) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, _ any) (bool, any) {
			s, u := state.(CounterState), input.(*UpdateSpan)
			return u.possible(s), u.after(s)
		},
	}
}

// possible says whether the update can have read what it did, from a counter of which that is known.
func (u *UpdateSpan) possible(s CounterState) bool {
	switch {
	case u.blind:
		return true
	case u.final:
		return u.Value >= max(s.Least, s.Updates)
	}
	return u.Value >= s.Least
}

// after is what is known of the counter once the update has been made as well.
func (u *UpdateSpan) after(s CounterState) CounterState {
	switch {
	case u.final:
		return s
	case u.blind:
		return CounterState{s.Least, s.Updates + 1}
	}
	return CounterState{max(s.Least, u.Value+1), s.Updates + 1}
}
