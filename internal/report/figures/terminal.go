package figures

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/terminal"
)

// Terminal writes a measurement for people: how it was measured, then its tables, notes and plots. dir is where it was saved; empty: nowhere.
func Terminal(w io.Writer, r *bench.Record, dir string, opts terminal.Options) error {
	width := opts.Width
	if width <= 0 {
		width = format.UsualWidth
	}
	s := sheet{width: width, paint: format.Paint(opts.Color)}
	s.line(s.paint.Bold(titleOf(r)))
	for _, f := range conditions(r) {
		s.wrapped("  "+format.Pad(f.Name, 9), f.Value)
	}
	for _, part := range sections(r) {
		s.section(part)
	}
	for _, surprise := range r.Surprises() {
		s.line("")
		s.wrapped(s.paint.Alarm("SURPRISE")+" ", format.Clean(surprise))
	}
	if dir != "" {
		s.line("")
		s.line("saved     " + format.Clean(dir) + "/" + Page + ", " + File)
	}
	_, err := io.WriteString(w, s.text.String())
	return err
}

// sheet is what is written to a terminal.
type sheet struct {
	text  strings.Builder
	width int
	paint format.Paint
}

func (s *sheet) line(text string) { s.text.WriteString(strings.TrimRight(text, " ") + "\n") }

// wrapped writes a text after a head, and what does not fit below its beginning.
func (s *sheet) wrapped(head, text string) {
	indent := utf8.RuneCountInString(head)
	if strings.HasPrefix(head, "\x1b") {
		indent = len("SURPRISE ")
	}
	for i, piece := range format.Wrap(text, max(20, s.width-indent)) {
		if i > 0 {
			head = format.Blanks(indent)
		}
		s.line(head + piece)
	}
}

func (s *sheet) section(part section) {
	s.line("")
	s.line(s.paint.Bold(part.Title))
	if part.Lead != "" {
		s.wrapped("  ", part.Lead)
	}
	s.line("")
	s.table(part.Table)
	for i, note := range part.Notes {
		if i == 0 {
			s.line("")
		}
		s.wrapped("  - ", note)
	}
	for _, p := range part.Plots {
		s.plot(p)
	}
}

// table writes numbers to the right and text to the left. Heads are broken between words where their column is narrower. Columns for which there is no room
// are written below, after the first one again.
func (s *sheet) table(t figures) {
	widths := make([]int, len(t.Head))
	for i := range t.Head {
		for _, word := range strings.Fields(t.Head[i]) {
			widths[i] = max(widths[i], utf8.RuneCountInString(word))
		}
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	s.squeeze(t, widths)
	for n, columns := range s.blocks(widths) {
		if n > 0 {
			s.line("")
		}
		write := func(entries []string, paint func(string) string) {
			for _, line := range brokenLines(entries, widths) {
				if text := aligned(t, line, widths, columns); strings.TrimSpace(text) != "" {
					s.line(paint("  " + text))
				}
			}
		}
		write(t.Head, s.paint.Dim)
		for _, row := range t.Rows {
			write(row, func(text string) string { return text })
		}
	}
}

// blocks are the columns that find room beside one another, the first one in each.
func (s *sheet) blocks(widths []int) [][]int {
	blocks := [][]int{{0}}
	used := widths[0]
	for i, width := range widths[1:] {
		last := len(blocks) - 1
		if used += width + 2; used > s.width-2 && len(blocks[last]) > 1 {
			blocks, used, last = append(blocks, []int{0}), widths[0]+2+width, last+1
		}
		blocks[last] = append(blocks[last], i+1)
	}
	return blocks
}

// leastText is the least width of a column of text that is squeezed.
const leastText = 24

// squeeze narrows wide columns of text until the table fits, as far as that goes.
func (s *sheet) squeeze(t figures, widths []int) {
	for {
		total, widest := 2, -1
		for i, width := range widths {
			total += width + 2
			if t.text(i) && width > leastText && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		over := total - 2 - s.width
		if over <= 0 || widest < 0 {
			return
		}
		widths[widest] = max(leastText, widths[widest]-min(over, 8))
	}
}

// brokenLines breaks entries into as many lines as the longest needs.
func brokenLines(entries []string, widths []int) [][]string {
	var lines [][]string
	for i, entry := range entries {
		for n, piece := range format.Wrap(entry, widths[i]) {
			if n == len(lines) {
				lines = append(lines, make([]string, len(entries)))
			}
			lines[n][i] = piece
		}
	}
	return lines
}

func aligned(t figures, line []string, widths, columns []int) string {
	var text strings.Builder
	for _, i := range columns {
		entry := line[i]
		room := format.Blanks(widths[i] - utf8.RuneCountInString(entry))
		if t.text(i) {
			text.WriteString(entry + room)
		} else {
			text.WriteString(room + entry)
		}
		text.WriteString("  ")
	}
	return text.String()
}

// shades fill the parts of a bar, the first within the others.
const shades = "█▓░"

// plot draws bars.
func (s *sheet) plot(p plot) {
	if len(p.Bars) == 0 {
		return
	}
	label, text := 0, 0
	for _, b := range p.Bars {
		label, text = max(label, utf8.RuneCountInString(b.Label)), max(text, utf8.RuneCountInString(b.Text))
	}
	room := max(10, s.width-2-label-2-2-text)
	axis := axisOf(p)
	s.line("")
	if words := legend(p, axis); utf8.RuneCountInString("  "+p.Title+words) <= s.width {
		s.line("  " + s.paint.Bold(p.Title) + s.paint.Dim(words))
	} else {
		s.line("  " + s.paint.Bold(p.Title))
		s.line("  " + s.paint.Dim(words))
	}
	for _, b := range p.Bars {
		var drawn strings.Builder
		filled := 0
		for i, v := range b.Values {
			to := axis.at(v, room)
			drawn.WriteString(strings.Repeat(string([]rune(shades)[i]), max(0, to-filled)))
			filled = max(filled, to)
		}
		s.line("  " + format.Pad(b.Label, label) + "  " + drawn.String() + " " + b.Text)
	}
}

// legend says what the shades mean, and what kind the axis is of.
func legend(p plot, axis axis) string {
	var words []string
	for i, part := range p.Parts {
		words = append(words, string([]rune(shades)[i])+" "+part)
	}
	if p.Log {
		words = append(words, "logarithmic, from "+decimal(axis.least)+" to "+decimal(axis.most)+blankBefore(p.Unit))
	} else if axis.most > 0 {
		words = append(words, "up to "+decimal(axis.most)+blankBefore(p.Unit))
	}
	return "  " + strings.Join(words, "  ")
}

func blankBefore(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}
