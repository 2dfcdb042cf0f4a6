package overlap

import (
	"iter"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/resource"
)

// Inputs of the models below.
type (
	saleOf  struct{} // of one item
	entryOf string   // "4 after 3 by C1"
)

// dataWindows are what a growing number alone does not say of a workload's data: that no more is sold of a stock than there is,
// and that each entry of a ledger follows the one before it.
func (c *counterHistory) dataWindows() iter.Seq[Window] {
	return func(yield func(Window) bool) {
		if c.Stock > 0 && !yield(c.sales()) {
			return
		}
		for _, entries := range c.ledgers {
			if !yield(ledgerWindow(entries)) {
				return
			}
		}
	}
}

// sales are the acknowledged ones. In which order they were made does not matter to how many there were.
func (c *counterHistory) sales() Window {
	stock := c.Stock
	w := Window{Model: porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, _, _ any) (bool, any) { return state.(int64) < stock, state.(int64) + 1 },
	}}
	for _, u := range c.Updates[c.opened:] {
		if !u.final {
			w.Operations = append(w.Operations, OneAfterAnother(len(w.Operations), saleOf{}))
		}
	}
	return w
}

// ledgerWindow is a ledger as it was found, entry by entry.
func ledgerWindow(entries []string) Window {
	w := Window{Model: porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, _ any) (bool, any) {
			last := state.(int64)
			number, after, ok := resource.Entry(string(input.(entryOf)))
			return ok && after == last && number == last+1, last + 1
		},
	}}
	for n, text := range entries {
		w.Operations = append(w.Operations, OneAfterAnother(n, entryOf(text)))
	}
	return w
}

func OneAfterAnother(n int, input any) porcupine.Operation {
	return porcupine.Operation{Input: input, Call: 2 * int64(n), Return: 2*int64(n) + 1}
}
