package checker

import (
	"iter"

	"github.com/anishathalye/porcupine"
)

// Inputs of the models below.
type (
	saleOf  struct{} // of one item
	entryOf string   // "4 after 3 by C1"
)

// dataWindows are what a growing number alone does not say of a workload's data: that no more is sold of a stock than there is,
// and that each entry of a ledger follows the one before it.
func (c *counterHistory) dataWindows() iter.Seq[window] {
	return func(yield func(window) bool) {
		if c.stock > 0 && !yield(c.sales()) {
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
func (c *counterHistory) sales() window {
	stock := c.stock
	w := window{model: porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, _, _ any) (bool, any) { return state.(int64) < stock, state.(int64) + 1 },
	}}
	for _, u := range c.updates[c.opened:] {
		if !u.final {
			w.operations = append(w.operations, oneAfterAnother(len(w.operations), saleOf{}))
		}
	}
	return w
}

// ledgerWindow is a ledger as it was found, entry by entry.
func ledgerWindow(entries []string) window {
	w := window{model: porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, _ any) (bool, any) {
			last := state.(int64)
			number, after, ok := entry(string(input.(entryOf)))
			return ok && after == last && number == last+1, last + 1
		},
	}}
	for n, text := range entries {
		w.operations = append(w.operations, oneAfterAnother(n, entryOf(text)))
	}
	return w
}

func oneAfterAnother(n int, input any) porcupine.Operation {
	return porcupine.Operation{Input: input, Call: 2 * int64(n), Return: 2*int64(n) + 1}
}
