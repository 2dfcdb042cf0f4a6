package cli

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/internal/report/format"
)

// tableGap is how many blanks stand between two columns.
const tableGap = 2

// leastColumn is the width below which a text is not squeezed.
const leastColumn = 12

// longestWord is the length up to which a word has room in its column; an address may have more.
const longestWord = 40

// WriteTable writes rows in columns, each line after the indent. Where they are wider than the width, the widest columns are broken between words. A
// word that finds no room in its column has a line of its own, in the last column further to the left.
func WriteTable(w io.Writer, width int, indent string, rows [][]string) error {
	widths := fitColumns(rows, width-len(indent))
	var text strings.Builder
	for _, row := range rows {
		var cells [][]string
		height := 1
		for i, cell := range row {
			cells = append(cells, folded(cell, widths[i]))
			height = max(height, len(cells[i]))
		}
		for n := range height {
			var line strings.Builder
			line.WriteString(indent)
			for i, cell := range cells {
				piece := ""
				if n < len(cell) {
					piece = cell[n]
				}
				if i < len(cells)-1 {
					if utf8.RuneCountInString(piece) > widths[i] {
						before := utf8.RuneCountInString(line.String())
						text.WriteString(line.String() + piece + "\n")
						line.Reset()
						line.WriteString(strings.Repeat(" ", before))
						piece = ""
					}
					line.WriteString(piece + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(piece))+tableGap))
					continue
				}
				text.WriteString(strings.TrimRight(beside(line.String(), piece, width), " ") + "\n")
			}
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// beside puts a piece behind the columns before it. A word that is too long for that has these columns to itself if they are empty, or the next line.
func beside(before, piece string, width int) string {
	left := width - utf8.RuneCountInString(piece)
	switch {
	case utf8.RuneCountInString(before) <= left || left < 0 || strings.Contains(piece, " "):
		return before + piece
	case strings.TrimSpace(before) == "":
		return before[:left] + piece
	}
	return strings.TrimRight(before, " ") + "\n" + strings.Repeat(" ", left) + piece
}

// fitColumns are the widths of columns: the widest ones are narrowed until all fit, but neither below leastColumn nor below their longest words, unless these
// are very long.
func fitColumns(rows [][]string, width int) []int {
	var widths, least []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths, least = append(widths, 0), append(least, leastColumn)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			for word := range strings.FieldsSeq(cell) {
				if n := utf8.RuneCountInString(word); n <= longestWord {
					least[i] = max(least[i], n)
				}
			}
		}
	}
	for {
		total, widest := tableGap*(len(widths)-1), -1
		for i, w := range widths {
			total += w
			if w > least[i] && (widest < 0 || w >= widths[widest]) {
				widest = i
			}
		}
		if last := len(widths) - 1; total > width && widest < 0 {
			widths[last] = max(leastColumn, widths[last]-(total-width))
		}
		if total <= width || widest < 0 {
			return widths
		}
		widths[widest]--
	}
}

// Objects are the rows of a table for programs, by its heads.
func Objects(heads []string, rows [][]string) []map[string]string {
	objects := make([]map[string]string, len(rows))
	for i, row := range rows {
		objects[i] = map[string]string{}
		for k, head := range heads {
			objects[i][head] = row[k]
		}
	}
	return objects
}

// Hang writes a text behind a head, and what does not fit beside it on further lines behind below.
func Hang(head, below, text string, width int) string {
	room := width - max(utf8.RuneCountInString(head), utf8.RuneCountInString(below))
	return head + strings.Join(folded(text, max(leastColumn, room)), "\n"+below) + "\n"
}

// folded leaves a text that fits as it is, with all its blanks.
func folded(text string, room int) []string {
	if utf8.RuneCountInString(text) <= room {
		return []string{text}
	}
	return format.Wrap(text, room)
}
