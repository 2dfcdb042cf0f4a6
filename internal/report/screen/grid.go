package screen

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
)

// grid draws a matrix for a terminal of a given width: scenarios down, locks across; turned round if only that fits, and cut into
// several tables if neither does. Anomalies are short words, or letters where words would need too many lines.
type grid struct {
	m       outcome.Matrix
	paint   format.Paint
	width   int
	letters bool
	absent  string // a line about what is n/a throughout, and so not shown
}

// Widths in columns.
const (
	gridGap   = 2
	gridLeast = 8  // an entry needs this: a mark and the longest short word
	gridMost  = 14 // and is given this at most
	gridName  = 16 // names of rows are broken to this if there is no room for more
)

func (g grid) String() string {
	var b strings.Builder
	rows, columns, at := g.m.Scenarios, g.m.Columns(), g.m.At
	fit := g.fitting(rows)
	if len(columns) > fit && len(rows) <= g.fitting(columns) {
		rows, columns = columns, rows
		at = func(scenario, lock string) outcome.Group { return g.m.At(lock, scenario) }
		fit = g.fitting(rows)
	}
	_, each := g.layout(rows, max(1, min(fit, len(columns))))
	g.letters = g.tooTall(each)
	for len(columns) > 0 {
		n := min(fit, len(columns))
		g.table(&b, rows, columns[:n], at)
		columns = columns[n:]
		b.WriteString("\n")
	}
	g.apart(&b)
	g.legend(&b)
	return b.String()
}

// fitting is how many columns have room beside the names of the rows.
func (g grid) fitting(rows []string) int {
	return max(1, (g.width-1-min(gridName, nameWidth(rows)))/(gridLeast+gridGap))
}

func nameWidth(names []string) int {
	width := 0
	for _, name := range names {
		width = max(width, utf8.RuneCountInString(format.Clean(name)))
	}
	return width
}

// layout is the width of the names and of each of so many columns.
func (g grid) layout(rows []string, columns int) (first, each int) {
	first = nameWidth(rows)
	if spare := g.width - 1 - columns*(gridMost+gridGap); first > spare {
		first = min(first, max(gridName, spare))
	}
	each = min(gridMost, (g.width-1-first)/columns-gridGap)
	return first, max(gridLeast, each)
}

// tooTall says whether words would make an entry higher than three lines.
func (g grid) tooTall(each int) bool {
	return slices.ContainsFunc(g.m.All(), func(cells outcome.Group) bool { return len(g.entry(cells, each).lines) > 3 })
}

func (g grid) table(b *strings.Builder, rows, columns []string, at func(column, row string) outcome.Group) {
	first, each := g.layout(rows, len(columns))
	heads := make([]entry, len(columns))
	for i, name := range columns {
		heads[i] = entry{lines: wrapName(format.Clean(name), each), paint: g.paint.Bold}
	}
	g.row(b, entry{}, heads, first, each)
	for _, row := range rows {
		cells := make([]entry, len(columns))
		for i, column := range columns {
			cells[i] = g.entry(at(column, row), each)
		}
		g.row(b, entry{lines: wrapName(format.Clean(row), first), paint: plainText}, cells, first, each)
	}
}

// entry is one field of the table: its lines and their colour.
type entry struct {
	lines []string
	paint func(string) string
}

func plainText(s string) string { return s }

func (g grid) row(b *strings.Builder, name entry, cells []entry, first, each int) {
	height := len(name.lines)
	for _, c := range cells {
		height = max(height, len(c.lines))
	}
	for i := range height {
		var line strings.Builder
		line.WriteString(name.at(i, first) + " ")
		for _, c := range cells {
			line.WriteString(format.Blanks(gridGap))
			line.WriteString(c.at(i, each))
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteString("\n")
	}
}

// at is line i of the entry, filled to width; the filling is not coloured.
func (e entry) at(i, width int) string {
	if i >= len(e.lines) {
		return format.Blanks(width)
	}
	return e.paint(e.lines[i]) + format.Blanks(width-utf8.RuneCountInString(e.lines[i]))
}

func (g grid) entry(cells outcome.Group, width int) entry {
	if cells == nil {
		return entry{lines: []string{"."}, paint: g.paint.Dim}
	}
	c := cells.Worst()
	text := strings.TrimSpace(outcome.StatusOf(c).Mark()) + g.words(c)
	if cells.Differs() {
		text += " ~"
	}
	return entry{lines: format.Fit(text, width), paint: func(s string) string { return outcome.Painted(g.paint, s, c) }}
}

// words is a verdict in as little room as possible.
func (g grid) words(c record.Cell) string {
	switch {
	case outcome.StatusOf(c) == outcome.Failed || outcome.StatusOf(c) == outcome.Unknown:
		return "" // the mark says it
	case c.Verdict.Kind != checker.Broken:
		return format.Clean(string(c.Verdict.Kind))
	}
	var words []string
	for _, name := range c.Verdict.Names() {
		words = append(words, g.word(name))
	}
	if g.letters {
		return strings.Join(words, "")
	}
	return strings.Join(words, " ")
}

func (g grid) word(name checker.Name) string {
	if g.letters {
		return outcome.Letter(name)
	}
	return outcome.ShortWord(name)
}

// wrapName breaks a name at its hyphens.
func wrapName(name string, width int) []string {
	lines := []string{""}
	for _, part := range strings.SplitAfter(name, "-") {
		for _, piece := range format.Pieces(part, width) {
			last := &lines[len(lines)-1]
			if utf8.RuneCountInString(*last)+utf8.RuneCountInString(piece) <= width {
				*last += piece
				continue
			}
			lines = append(lines, piece)
		}
	}
	return lines
}

// apart lists the cells that have no place in the table.
func (g grid) apart(b *strings.Builder) {
	groups := g.m.Apart()
	if len(groups) == 0 {
		return
	}
	width := 0
	for _, cells := range groups {
		width = max(width, utf8.RuneCountInString(outcome.CellName(cells[0])))
	}
	entries, widest := make([]entry, len(groups)), 0
	for i, cells := range groups {
		entries[i] = g.entry(cells, g.width)
		widest = max(widest, utf8.RuneCountInString(strings.Join(entries[i].lines, " ")))
	}
	width = min(width, max(format.LeastBeside, g.width-4-widest))
	b.WriteString("Single bugs\n")
	for i, cells := range groups {
		e := entries[i]
		fmt.Fprintf(b, "  %s  %s\n", format.Pad(outcome.CellName(cells[0]), width), e.paint(strings.Join(e.lines, " ")))
	}
	b.WriteString("\n")
}

// legend explains the words and signs that the table uses, and no others.
func (g grid) legend(b *strings.Builder) {
	for _, d := range g.m.Seen() {
		for i, line := range format.Fit(d.Meaning, max(20, g.width-28)) {
			if i == 0 {
				fmt.Fprintf(b, "  %-7s %-16s %s\n", g.word(d.Name), d.Name, g.paint.Dim(line))
				continue
			}
			fmt.Fprintf(b, "%s%s\n", format.Blanks(27), g.paint.Dim(line))
		}
	}
	signs := []struct {
		sign, meaning string
		shown         bool
	}{
		{"!!", "SURPRISE: not what was expected", len(g.m.WithStatus(outcome.Surprise)) > 0},
		{"!", "known: not what was expected, and no news", len(g.m.WithStatus(outcome.Known)) > 0},
		{"??", "unknown: the lab cannot say", len(g.m.WithStatus(outcome.Unknown)) > 0},
		{"XX", "the lab, its checker or a server failed", len(g.m.WithStatus(outcome.Failed)) > 0},
		{"~", "the rounds came to different verdicts; the worst is shown", len(g.m.Differing()) > 0},
		{".", "not run", len(g.m.All())-len(g.m.Apart()) < len(g.m.Columns())*len(g.m.Scenarios)},
	}
	for _, s := range signs {
		if s.shown {
			fmt.Fprintf(b, "  %-7s %s\n", s.sign, s.meaning)
		}
	}
	if g.absent != "" {
		fmt.Fprintln(b, g.absent)
	}
}
