package exploration

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
)

// Points writes the table of breaking points: its first row are the heads, the first column the locks. Entries are as in the
// reviewed file; here they become letters. What has no room beside the locks' names comes in a further table.
func Points(w io.Writer, rows [][]string, width int) error {
	if width <= 0 {
		width = format.UsualWidth
	}
	var b strings.Builder
	first := 0
	for _, row := range rows {
		first = max(first, utf8.RuneCountInString(row[0]))
	}
	columns := pointColumns(rows)
	for len(columns) > 0 {
		n, used := 1, first+2+columns[0].width
		for n < len(columns) && used+2+columns[n].width < width {
			used += 2 + columns[n].width
			n++
		}
		writePoints(&b, rows, first, columns[:n], width)
		columns = columns[n:]
		b.WriteString("\n")
	}
	b.WriteString(pointLegend(rows, width))
	_, err := io.WriteString(w, b.String())
	return err
}

// pointColumn is a column of the table.
type pointColumn struct {
	at, width int
	head      []string
}

func pointColumns(rows [][]string) []pointColumn {
	var columns []pointColumn
	for at := 1; at < len(rows[0]); at++ {
		c := pointColumn{at: at, head: strings.FieldsFunc(rows[0][at], func(r rune) bool { return r == '-' || r == ' ' })}
		for _, word := range c.head {
			c.width = max(c.width, utf8.RuneCountInString(word))
		}
		for _, row := range rows[1:] {
			if at < len(row) && !inexplicable(row) {
				c.width = max(c.width, utf8.RuneCountInString(PointLetters(row[at])))
			}
		}
		columns = append(columns, c)
	}
	return columns
}

// inexplicable says whether a row is of a lock that cannot be explored.
func inexplicable(row []string) bool { return len(row) == 2 && strings.HasPrefix(row[1], "n/a: ") }

func writePoints(b *strings.Builder, rows [][]string, first int, columns []pointColumn, width int) {
	for n := range 2 {
		line := format.Blanks(first)
		for _, c := range columns {
			word := ""
			if n < len(c.head) {
				word = c.head[n]
			}
			line += "  " + format.Pad(word, c.width)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, row := range rows[1:] {
		line := format.Pad(row[0], first)
		for _, c := range columns {
			switch {
			case !inexplicable(row):
				line += "  " + format.Pad(PointLetters(row[c.at]), c.width)
			case c.at == columns[0].at:
				line += "  " + strings.Join(format.Fit(row[1], max(20, width-first-2)), "\n"+format.Blanks(first+2))
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// PointLetters is an entry of the table of breaking points with letters for anomalies: "1 ghost-lock; 2 double-holder" is "1G 2D".
// A "'" is for what takes two rounds; "? 1 to step 25" is "?1/25", and "- in 2x1" is "-(2x1)".
func PointLetters(entry string) string {
	var parts []string
	for part := range strings.SplitSeq(entry, "; ") {
		part, twice := strings.CutSuffix(part, " in 2x2")
		part, within, _ := strings.Cut(part, " in ")
		if faults, step, open := strings.Cut(part, " to step "); open {
			part = strings.ReplaceAll(faults, " ", "") + "/" + step
		}
		number, names, ok := strings.Cut(part, " ")
		if !ok {
			number, names = "", part
		}
		text := number
		for name := range strings.SplitSeq(names, ",") {
			if named(name) {
				text += outcome.Letter(checker.Name(name))
			} else {
				text += name
			}
		}
		if strings.Contains(part, " + ") {
			text = part
		}
		if twice {
			text += "'"
		}
		if within != "" {
			text += "(" + within + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func named(name string) bool {
	return slices.ContainsFunc(checker.Definitions(), func(d checker.Definition) bool { return string(d.Name) == name })
}

// pointLegend explains the letters that occur, and the signs.
func pointLegend(rows [][]string, width int) string {
	var b strings.Builder
	var all []string
	for _, row := range rows[1:] {
		all = append(all, row...)
	}
	text := strings.Join(all, " ")
	for _, d := range checker.Definitions() {
		if strings.Contains(text, string(d.Name)) {
			b.WriteString(format.Hang(fmt.Sprintf("  %s  %-17s ", outcome.Letter(d.Name), d.Name), d.Meaning, width))
		}
	}
	paragraph := func(words string) { b.WriteString("\n" + format.Hang("", words, width)) }
	paragraph("An entry says how few faults of its column break the lock, and what goes wrong first.")
	for _, sign := range Signs() {
		b.WriteString(format.Hang(fmt.Sprintf("  %-8s ", sign[0]), sign[1], width))
	}
	paragraph("No fault: what goes wrong without any, which other columns leave out. Mixture: two kinds of faults that make two holders only together.")
	if slices.Contains(rows[0], "slow-clock") {
		paragraph("Slow and fast clock: a client's clocks drift, and a pause or a long hold strikes. Release again: after a lost reply or a late request, " +
			"a client releases again. These columns show only what that fault does not do alone.")
	}
	return b.String()
}

// Signs explain the entries of the table, each by an example.
func Signs() [][2]string {
	return [][2]string{
		{"1D", "one fault is enough, and D (two holders) is the first to go wrong"},
		{"1G 2D", "one fault leaves a ghost lock (G); two faults make two holders"},
		{"1G -", "one fault leaves a ghost lock; up to two do not make two holders within the bounds"},
		{"-", "up to two faults break nothing within the bounds"},
		{">1", "one fault breaks nothing; the search with two was not complete"},
		{"?1/25", "one fault breaks nothing in the first 25 steps; the search came no further"},
		{"-(2x1)", "known only for two clients that acquire once each; (3x1): for three"},
		{"1D'", "as 1D, but only where clients acquire twice"},
		{"n/a", "the lock's service has no such fault"},
	}
}
