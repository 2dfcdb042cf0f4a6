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
	add := func(name string, u updateSpan) {
		c := counters[name]
		if c == nil {
			c = &counterHistory{name: name}
			counters[name] = c
			order = append(order, c)
		}
		c.updates = append(c.updates, u)
	}
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == history.KindExit:
			pending = slices.DeleteFunc(pending, func(c call) bool { return c.client == e.Client })
		case e.Client != "" && e.Kind == history.KindCommand:
			if e.Detail == nil || e.Detail.Command == nil || e.Detail.Command.Server != resource {
				continue
			}
			wired = true
			for n := range pending {
				if p := &pending[n]; e.ID != 0 && p.id == e.ID && p.client == e.Client {
					p.wire.note(e.Detail.Command)
				}
			}
		case e.Lock == "":
		case e.Kind == history.KindFinal && e.Detail != nil:
			add(e.Lock, updateSpan{call: at(i), done: at(i), value: e.Detail.Value, final: true})
		case e.Client == "":
		case e.Kind == history.KindCall && e.Op == history.OpWork:
			if !slices.ContainsFunc(pending, func(c call) bool { return c.id == e.ID && c.client == e.Client }) {
				pending = append(pending, call{id: e.ID, client: e.Client, lock: e.Lock, event: i})
			}
		case e.Kind == history.KindReturn:
			c := takeWaiting(&pending, func(c call) bool { return c.id == e.ID && c.client == e.Client })
			if c.lock == e.Lock && e.Outcome == history.OK {
				read, known := c.wire.read(e, wired)
				add(e.Lock, updateSpan{call: at(c.event), done: at(i), value: read, blind: !known})
			}
		}
	}
	return order
}

// The model: a counter that only grows. What is known of it is a least value.
type (
	counterState struct{ least, updates int64 } // it is at least that, and so many updates were acknowledged
	counterAdd   int64                          // input: the value was read, and one more written
	counterBlind struct{}                       // input: one was added to whatever there was
	counterRead  int64                          // input: the value was read
)

// counterModel is the counter, with what is known of it at the beginning of a window.
//
// An update reads a value and puts the next one in its place, in one step. Updates that nobody acknowledged may have happened or
// not, and so the counter may have grown in between; it never shrinks. In the end it has grown by every update acknowledged.
func counterModel(begin counterState) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, _ any) (bool, any) {
			s := state.(counterState)
			switch in := input.(type) {
			case counterAdd:
				return int64(in) >= s.least, counterState{int64(in) + 1, s.updates + 1}
			case counterBlind:
				return true, counterState{s.least, s.updates + 1}
			case counterRead:
				return int64(in) >= max(s.least, s.updates), state
			}
			return false, state
		},
	}
}
