package points

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Entry is an entry of a line, for those who show the table with its counterexamples.
type Entry struct {
	Head string // of its column
	Text string // as the reviewed file has it
	// Breaks is what comes first, and then what comes first of two holders; none: nothing within the bounds, or Open.
	Breaks [][]checker.Name
	Open   bool // nothing was found, and the search was not complete
	// Found are the counterexamples of Breaks, as far as they are known.
	Found []*trace.Trace
}

// Entries are those of a line, with a mixture of faults the last. What is none of the lock's service is left out.
func (l Line) Entries() (list []Entry) {
	if l.Why != "" {
		return nil
	}
	none := Entry{Head: None, Text: l.noneText(), Open: len(l.None) == 0 && l.Unsure}
	if len(l.None) > 0 {
		none.Breaks, none.Found = [][]checker.Name{l.None}, l.found
	}
	list = append(list, none)
	for _, column := range Columns() {
		cell, there := l.Cells[column]
		if !there {
			continue
		}
		e := Entry{Head: string(column), Text: cell.String()}
		e.add(cell.Any)
		if !slices.Equal(cell.Any.Anomalies, cell.Double.Anomalies) {
			e.add(cell.Double)
		}
		e.Open = len(e.Breaks) == 0 && cell.Any.Clear < MostAlone
		list = append(list, e)
	}
	mixture := Entry{Head: "mixture", Text: l.mixtureText(), Open: len(l.Mixture) == 0 && l.MixtureBound.Clear < MostAlone}
	if len(l.Mixture) > 0 {
		mixture.Breaks = [][]checker.Name{twoHolders()}
		if l.MixtureBound.found != nil {
			mixture.Found = append(mixture.Found, l.MixtureBound.found)
		}
	}
	return append(list, mixture)
}

func (e *Entry) add(b Break) {
	if b.Faults == 0 {
		return
	}
	e.Breaks = append(e.Breaks, b.Anomalies)
	if b.found != nil {
		e.Found = append(e.Found, b.found)
	}
}

// EntryOf is the entry of a lock in a column of a table; without text: there is none.
func EntryOf(lines []Line, lock, head string) Entry {
	for _, l := range lines {
		for _, e := range l.Entries() {
			if l.Lock == lock && e.Head == head {
				return e
			}
		}
	}
	return Entry{Head: head}
}

// Meaning is what strikes in a column, in a sentence.
func Meaning(head string) string {
	switch head {
	case None:
		return "No fault strikes."
	case "mixture":
		return "Two faults of different kinds strike, of which neither makes two holders alone."
	case string(SlowClock):
		return "A client's clocks run slow, at 0.3 of the right rate, and a pause or a long hold strikes."
	case string(FastClock):
		return "A client's clocks run fast, at 3.3 times the right rate, and a pause or a long hold strikes."
	case string(ReleaseAgain):
		return "A reply is lost, or a request late, and a client releases again."
	}
	return trace.Meaning(faults.Kind(head), search.UsualSkew, search.Lease, 1)
}
