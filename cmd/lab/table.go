package main

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/internal/report"
)

// tableGap is how many blanks stand between two columns.
const tableGap = 2

// leastColumn is the width below which a column is not squeezed: it may then stick out.
const leastColumn = 30

// writeTable writes rows in columns, each line after the indent. The last column is broken between words to fit the width; 0 means
// that there is no limit, as for output that goes to another program.
func writeTable(w io.Writer, width int, indent string, rows [][]string) error {
	widths := columnWidths(rows)
	var text strings.Builder
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(indent)
		last := len(row) - 1
		for i, cell := range row[:last] {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+tableGap))
		}
		before := utf8.RuneCountInString(line.String())
		for i, piece := range wrapWords(row[last], width-before) {
			if i > 0 {
				line.WriteString("\n" + strings.Repeat(" ", before))
			}
			line.WriteString(piece)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// wrapWords breaks a text between words. A room of less than leastColumn is too small for that: the text stays as it is.
func wrapWords(text string, room int) []string {
	if room < leastColumn {
		return []string{text}
	}
	return report.Wrap(text, room)
}
