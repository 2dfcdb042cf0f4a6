package page

import (
	"fmt"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

// Explored is what the explorer has found, for a page: each cell is a lock under some faults, and its steps are those of the counterexample.
type Explored struct {
	// Titles say what the faults of a column do, by their names.
	Titles map[string]string
	// Entries are what the table of breaking points has for a lock under some faults, as letters and in words, by lock and faults; nil: there is no table.
	Entries map[[2]string][]string
	// Signs explain the letters, each by an example.
	Signs [][2]string
	// Events are the counterexamples of cells as histories, by lock, faults and round.
	Events map[string][]history.Event
	// Why says of a cell without a counterexample why there is none.
	Why map[string]string
}

// Key is where a cell has its counterexample.
func (x *Explored) Key(c record.Cell) string {
	return fmt.Sprintf("%s %s %d", c.Lock, c.Scenario, c.Round)
}

// Read is the counterexample of a cell.
func (x *Explored) Read(c record.Cell) ([]history.Event, error) {
	if events := x.Events[x.Key(c)]; events != nil {
		return events, nil
	}
	return nil, unseenError(x.Why[x.Key(c)])
}

// Where is no file: the page has the counterexamples.
func (x *Explored) Where(record.Cell) string { return "" }

// unseenError says why there are no steps.
type unseenError string

func (e unseenError) Error() string { return string(e) }

// entryOf is an entry of the table as letters and in words; nil: there is no table.
func (x *Explored) entryOf(lock, faults string) []string {
	if x == nil {
		return nil
	}
	return x.Entries[[2]string{lock, faults}]
}
