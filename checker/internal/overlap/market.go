package overlap

import (
	"iter"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/resource"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// The model of a market: the second judge of money and items that change hands. The resource's order of the writes is on record. What is not
// known is which writes count: one that was never acknowledged may be lost. So the state of a thing is the writes of which each may be the last
// that counts, and a write is legal if what its trade had read is one of them. In the end an account over all that was found must balance.

// marketHistory is what was written to each thing of a market: a sum of money, or the place of an item.
type marketHistory struct {
	begin  *history.Work
	ends   []*history.Work
	trades map[tradeID]*tradeNotes
	things map[string][]*thingWrite
	order  []string // the things as they appear
}

type tradeID struct {
	client string
	id     int64
}

// tradeNotes is what is known of a trade.
type tradeNotes struct {
	reads  map[string]int // by key: index of its latest reading
	queued [][]string     // the commands of its transaction
	acked  bool
}

// thingWrite is a write to a thing, in the order of the resource.
type thingWrite struct {
	number int // among the writes to the thing, from 1
	event  int
	trade  tradeID
	notes  *tradeNotes
	saw    int  // the number of the write that its trade had read; zero: what was there in the beginning
	blind  bool // it follows from nothing that was read
}

func newMarketHistory(begin *history.Work) *marketHistory {
	return &marketHistory{begin: begin, trades: make(map[tradeID]*tradeNotes), things: make(map[string][]*thingWrite)}
}

func (m *marketHistory) call(e *history.Event) {
	m.trades[tradeID{e.Client, e.ID}] = &tradeNotes{reads: make(map[string]int)}
}

func (m *marketHistory) back(e *history.Event) {
	if t := m.trades[tradeID{e.Client, e.ID}]; t != nil && e.Outcome == history.OK {
		t.acked = true
	}
}

// command takes in a command of a trade.
func (m *marketHistory) command(i int, e *history.Event, c *history.Command) {
	id := tradeID{e.Client, e.ID}
	t := m.trades[id]
	if t == nil || len(c.Args) == 0 {
		return
	}
	if c.Reply == "QUEUED" {
		t.queued = append(t.queued, slices.Clone(c.Args))
		return
	}
	if !timeline.Answered(c) {
		return
	}
	var carriedOut [][]string
	switch name := strings.ToUpper(c.Args[0]); {
	case name == "EXEC" && c.Reply == "nil": // something that it had read has changed
		t.queued, t.reads = nil, make(map[string]int)
	case name == "EXEC":
		carriedOut, t.queued = t.queued, nil
	case ownership.RunsScript(name):
		carriedOut = resource.ComparedCommands(c.Args)
	case !timeline.ReadsOnly(name):
		carriedOut = [][]string{c.Args}
	case len(c.Args) > 1 && name != "WATCH":
		t.reads[c.Args[1]] = i
	}
	for _, args := range carriedOut {
		if thing, from := thingOf(args, e.Client); thing != "" {
			m.write(thing, i, id, t, t.reads[from])
		}
	}
}

// thingOf is what a command of a client writes to, and the key by which it has read what was there.
func thingOf(args []string, client string) (thing, from string) {
	if len(args) < 3 {
		return "", ""
	}
	switch strings.ToUpper(args[0]) {
	case "SET":
		return "money " + args[1], args[1]
	case "HDEL":
		return "item " + args[2], args[1]
	case "HSET":
		return "item " + args[2], args[1] + ":items:" + history.ProcessOf(client)
	}
	return "", ""
}

func (m *marketHistory) write(thing string, i int, id tradeID, t *tradeNotes, read int) {
	before := m.things[thing]
	if before == nil {
		m.order = append(m.order, thing)
	}
	w := &thingWrite{number: len(before) + 1, event: i, trade: id, notes: t, blind: read == 0}
	for _, b := range slices.Backward(before) {
		if b.event <= read {
			w.saw = b.number
			break
		}
	}
	m.things[thing] = append(before, w)
}

// windows are the things one after the other, and then each end.
func (m *marketHistory) windows() iter.Seq[Window] {
	return func(yield func(Window) bool) {
		for _, thing := range m.order {
			writes := m.things[thing]
			state := thingState{{}}
			for chunk := range slices.Chunk(writes, WindowSize) {
				w := Window{Model: thingModel(state)}
				for n, one := range chunk {
					w.Operations = append(w.Operations, OneAfterAnother(n, one))
					_, state = state.after(one)
				}
				if !yield(w) {
					return
				}
			}
		}
		for _, end := range m.ends {
			for _, balance := range [...]Window{moneyWindow(m.begin, end), placesWindow(m.begin, end)} {
				if !yield(balance) {
					return
				}
			}
		}
	}
}

// thingState is the writes of which each may be the last that counts. The zero write is what was there in the beginning.
type thingState []thingWrite

func thingModel(begin thingState) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, _ any) (bool, any) {
			legal, next := state.(thingState).after(input.(*thingWrite))
			return legal, next
		},
		Equal: func(a, b any) bool { return slices.Equal(a.(thingState), b.(thingState)) },
	}
}

// after says whether a write loses nothing, and what may count after it.
func (s thingState) after(w *thingWrite) (legal bool, next thingState) {
	legal = w.blind || slices.ContainsFunc(s, func(b thingWrite) bool { return b.number == w.saw || b.number > 0 && b.trade == w.trade })
	if w.notes.acked {
		return legal, thingState{*w}
	}
	return legal, append(slices.Clip(s), *w)
}

// Inputs of the accounts in the end.
type (
	purse   int64  // what somebody had, or less what somebody has
	debt    int64  // what somebody owes
	balance string // "money", or an item: the account is closed
	placed  string // an item was found at a place
)

// moneyWindow is the account of everybody's money.
func moneyWindow(begin, end *history.Work) Window {
	w := Window{Model: porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, _ any) (bool, any) {
			sum := state.(int64)
			switch in := input.(type) {
			case purse:
				return true, sum + int64(in)
			case debt:
				return false, sum
			}
			return sum == 0, sum
		},
	}}
	add := func(in any) { w.Operations = append(w.Operations, OneAfterAnother(len(w.Operations), in)) }
	for _, d := range begin.Data {
		if what, _, _ := strings.Cut(d.Name, " of "); what == "money" {
			add(purse(first(d.Values)))
		}
	}
	for _, d := range end.Data {
		if what, _, _ := strings.Cut(d.Name, " of "); what != "money" {
			continue
		}
		n := first(d.Values)
		if add(purse(-n)); n < 0 {
			add(debt(-n))
		}
	}
	add(balance("money"))
	return w
}

// first is the whole number that values say, or none.
func first(values []string) int64 {
	n, _ := resource.WholeNumber(values)
	return n
}

// placesWindow counts for each item of the beginning in how many places it is in the end.
func placesWindow(begin, end *history.Work) Window {
	w := Window{Model: porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, _ any) (bool, any) {
			if _, found := input.(placed); found {
				return true, state.(int) + 1
			}
			return state.(int) == 1, 0
		},
	}}
	for _, item := range itemsIn(begin) {
		for _, other := range itemsIn(end) {
			if other == item {
				w.Operations = append(w.Operations, OneAfterAnother(len(w.Operations), placed(item)))
			}
		}
		w.Operations = append(w.Operations, OneAfterAnother(len(w.Operations), balance(item)))
	}
	return w
}

// itemsIn lists an item once for each place that it is in.
func itemsIn(w *history.Work) (items []string) {
	for _, d := range w.Data {
		what, _, of := strings.Cut(d.Name, " of ")
		for _, value := range d.Values {
			switch words := strings.Fields(value); {
			case of && what == "items":
				items = append(items, value)
			case d.Name == "market" && len(words) == 3:
				items = append(items, words[0])
			}
		}
	}
	return items
}
