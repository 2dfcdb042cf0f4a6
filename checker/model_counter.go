package checker

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/history"
)

// updateSpan is an acknowledged update of a counter, or the reading of it at the end.
type updateSpan struct {
	call, done int64 // positions
	value      int64 // what was read
	final      bool
	blind      bool // an update of which it is not known what it read
}

// counterHistory is the updates of one lock's counter in the order of their returns.
type counterHistory struct {
	name    string
	updates []updateSpan
	sequence
	other   bool       // the data is no sequence
	began   bool       // somebody said what the work is
	opened  int        // how many updates there were by then
	ledgers [][]string // as found
}

// counterHistories reads the updates of each counter, in the order in which they appear. Like the mutex's histories, it is read
// apart from the view on purpose.
func counterHistories(events []history.Event) []*counterHistory {
	type call struct {
		id     int64
		client string
		lock   string
		event  int
		wire   wire
	}
	wired := false // commands to a resource are on record
	counters := make(map[string]*counterHistory)
	var order []*counterHistory
	var pending []call
	of := func(name string) *counterHistory {
		c := counters[name]
		if c == nil {
			c = &counterHistory{name: name}
			counters[name] = c
			order = append(order, c)
		}
		return c
	}
	add := func(c *counterHistory, u updateSpan) {
		c.updates = appendToMany(c.updates, u)
	}
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == history.KindExit:
			pending = slices.DeleteFunc(pending, func(c call) bool { return c.client == e.Client })
		case e.Client != "" && e.Kind == history.KindCommand:
			if e.Detail == nil || e.Detail.Command == nil || e.Detail.Command.Server != history.Resource {
				continue
			}
			wired = true
			for n := range pending {
				if p := &pending[n]; e.ID != 0 && p.id == e.ID && p.client == e.Client {
					of(p.lock).note(&p.wire, e.Detail.Command)
				}
			}
		case e.Lock == "":
		case e.Kind == history.KindOpen && e.Detail != nil && e.Detail.Work != nil:
			of(e.Lock).open(e.Detail.Work)
		case e.Kind == history.KindFinal && e.Detail != nil:
			c := of(e.Lock)
			add(c, updateSpan{call: at(i), done: at(i), value: c.turned(e.Detail.Value), final: true})
			if c.work == history.Ledger {
				c.ledgers = append(c.ledgers, e.Detail.Work.Find("entries"))
			}
		case e.Client == "":
		case e.Kind == history.KindCall && e.Op == history.OpWork:
			if !slices.ContainsFunc(pending, func(c call) bool { return c.id == e.ID && c.client == e.Client }) {
				pending = append(pending, call{id: e.ID, client: e.Client, lock: e.Lock, event: i})
			}
		case e.Kind == history.KindReturn:
			c := takeWaiting(&pending, func(c call) bool { return c.id == e.ID && c.client == e.Client })
			if c.lock == e.Lock && e.Outcome == history.OK {
				data := of(e.Lock)
				read, known := data.read(&c.wire, e, wired)
				add(data, updateSpan{call: at(c.event), done: at(i), value: read, blind: !known})
			}
		}
	}
	return order
}

// open takes in what the work is. Who says so first is right.
func (c *counterHistory) open(w *history.Work) {
	if c.began {
		return
	}
	var ok bool
	c.sequence, ok = sequenceOf(w)
	c.began, c.other, c.opened = true, !ok, len(c.updates)
}

// counterState is what is known of a counter that only grows.
type counterState struct {
	least   int64 // it is at least that
	updates int64 // and so many updates were acknowledged
}

// counterModel is the counter, with what is known of it at the beginning of a window. An input is an update.
//
// An update reads a value and puts the next one in its place, in one step. Updates that nobody acknowledged may have happened or
// not, and so the counter may have grown in between; it never shrinks. In the end it has grown by every update acknowledged.
func counterModel(begin counterState) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, _ any) (bool, any) {
			s, u := state.(counterState), input.(*updateSpan)
			return u.possible(s), u.after(s)
		},
	}
}

// possible says whether the update can have read what it did, from a counter of which that is known.
func (u *updateSpan) possible(s counterState) bool {
	switch {
	case u.blind:
		return true
	case u.final:
		return u.value >= max(s.least, s.updates)
	}
	return u.value >= s.least
}

// after is what is known of the counter once the update has been made as well.
func (u *updateSpan) after(s counterState) counterState {
	switch {
	case u.final:
		return s
	case u.blind:
		return counterState{s.least, s.updates + 1}
	}
	return counterState{max(s.least, u.value+1), s.updates + 1}
}
