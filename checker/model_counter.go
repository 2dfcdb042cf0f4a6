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
	}
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
		case e.Lock == "":
		case e.Kind == history.KindFinal && e.Detail != nil:
			add(e.Lock, updateSpan{call: at(i), done: at(i), value: e.Detail.Value, final: true})
		case e.Client == "":
		case e.Kind == history.KindCall && e.Op == history.OpWork:
			if !slices.ContainsFunc(pending, func(c call) bool { return c.id == e.ID && c.client == e.Client }) {
				pending = append(pending, call{e.ID, e.Client, e.Lock, i})
			}
		case e.Kind == history.KindReturn:
			c := takeWaiting(&pending, func(c call) bool { return c.id == e.ID && c.client == e.Client })
			if read, told := readAndWrote(e); c.lock == e.Lock && told && e.Outcome == history.OK {
				add(e.Lock, updateSpan{call: at(c.event), done: at(i), value: read})
			}
		}
	}
	return order
}

// The model: a counter that only grows. What is known of it is a least value.
type (
	counterAtLeast int64 // state
	counterAdd     int64 // input: the value was read, and one more written
	counterRead    int64 // input: the value was read
)

// counterModel is the counter, with what is known of it at the beginning of a window.
//
// An update reads a value and puts the next one in its place, in one step. Updates that nobody acknowledged may have happened or
// not, and so the counter may have grown in between; it never shrinks.
func counterModel(least counterAtLeast) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return least },
		Step: func(state, input, _ any) (bool, any) {
			least := state.(counterAtLeast)
			switch in := input.(type) {
			case counterAdd:
				return counterAtLeast(in) >= least, counterAtLeast(in) + 1
			case counterRead:
				return counterAtLeast(in) >= least, state
			}
			return false, state
		},
	}
}
