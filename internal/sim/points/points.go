// Package points finds breaking points: for each lock and each kind of fault, how few of them break it, and what they lead to first.
//
// It owns the table: the searches that fill it, the reviewed file (breaking.txt) and the comparison with it, and what that makes of a
// search of the user's (Expect). It must not know how the table is shown, nor anything of real servers.
package points

import (
	"fmt"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/trace"
)

// NotSearched is what a line has for a fault that is none of the lock's service.
const NotSearched = "n/a"

// MostAlone is up to how many faults of one kind the table goes.
const MostAlone = 2

// Line is a line of the table: what breaks one lock.
type Line struct {
	Lock    string
	Why     string         // it cannot be explored; empty: it can
	None    []checker.Name // what it shows without any fault
	Unsure  bool           // there may be more
	Cells   map[Column]Cell
	Mixture []faults.Kind // two kinds that together make two holders, where neither does alone
	// MixtureBound is how far such mixtures were searched.
	MixtureBound Break

	found []*trace.Trace // without a fault, one for each search
}

// Cell is what the faults of a column do to a lock.
type Cell struct {
	Any    Break // the first anomaly that the lock does not show without a fault
	Double Break // two clients that hold the lock at the same time
}

// Break is how few faults of one kind it takes.
type Break struct {
	Faults    int            // 0: no number was found to be enough
	Anomalies []checker.Name // of the first counterexample
	Clear     int            // with so many faults it certainly holds; negative: not even without any
	Steps     int            // with one more it holds for so many steps, as far as was searched; 0: it was not
	Twice     bool           // it takes two rounds
	found     *trace.Trace   // the first counterexample; nil: there is none, or the line was read from a file
	Within    string         // that nothing was found is so within these bounds, and not known within wider ones; empty: within all
}

// open says whether one fault is neither known to break anything, nor to break nothing.
func (b Break) open() bool { return b.Faults == 0 && b.Clear < 1 }

// String is the break as the reviewed table has it: "1 ghost-lock", "-", ">1", "?".
func (b Break) String() string {
	if b.Faults > 0 {
		text := fmt.Sprintf("%d %s", b.Faults, joined(b.Anomalies, ","))
		if b.Twice {
			text += " in 2x2"
		}
		return text
	}
	text := "-"
	switch {
	case b.open():
		text = b.asFarAs()
	case b.Clear < MostAlone:
		text = fmt.Sprintf(">%d", b.Clear)
	}
	return b.within(text)
}

// within adds the bounds, if they are not all: "- in 3x1".
func (b Break) within(text string) string {
	if b.Within == "" {
		return text
	}
	return text + " in " + b.Within
}

// asFarAs says how far an incomplete search has come: "? 1 to step 25".
func (b Break) asFarAs() string {
	if b.Steps == 0 {
		return "?"
	}
	return fmt.Sprintf("? %d to step %d", b.Clear+1, b.Steps)
}

// String is the cell as the reviewed table has it.
func (c Cell) String() string {
	if c.Any.Faults == 0 && c.Double.Faults == 0 || slices.Contains(c.Any.Anomalies, checker.DoubleHolder) {
		return c.Any.String()
	}
	return c.Any.String() + "; " + c.Double.String()
}

func (l Line) noneText() string {
	names := slices.Clone(l.None)
	if l.Unsure {
		names = append(names, "?")
	}
	if len(names) == 0 {
		return "-"
	}
	return joined(names, ",")
}

func (l Line) mixtureText() string {
	switch {
	case len(l.Mixture) > 0:
		return joined(l.Mixture, " + ")
	case l.MixtureBound.Clear < MostAlone:
		return l.MixtureBound.within(l.MixtureBound.asFarAs())
	}
	return l.MixtureBound.String()
}

// entries are those of a line that can be explored: without a fault, of each column, with a mixture.
func (l Line) entries(columns []Column) []Entry {
	list := []Entry{{Head: "no fault", Text: l.noneText()}}
	for _, column := range columns {
		text := NotSearched
		if cell, there := l.Cells[column]; there {
			text = cell.String()
		}
		list = append(list, Entry{Head: string(column), Text: text})
	}
	return append(list, Entry{Head: "mixture", Text: l.mixtureText()})
}

// Rows are the lines as rows of words, with their heads: what a renderer needs to know. A column that no line has is left out.
func Rows(lines []Line) [][]string {
	columns := slices.DeleteFunc(Columns(), func(c Column) bool {
		return !slices.ContainsFunc(lines, func(l Line) bool {
			_, there := l.Cells[c]
			return there
		})
	})
	heads := []string{"lock"}
	for _, e := range (Line{}).entries(columns) {
		heads = append(heads, e.Head)
	}
	rows := [][]string{heads}
	for _, l := range lines {
		row := []string{l.Lock}
		if l.Why != "" {
			row = append(row, "n/a: "+l.Why)
		} else {
			for _, e := range l.entries(columns) {
				row = append(row, e.Text)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// joined joins words that have a type of their own.
func joined[W ~string](words []W, sep string) string {
	text := ""
	for i, w := range words {
		if i > 0 {
			text += sep
		}
		text += string(w)
	}
	return text
}
