package explore

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// StoryOptions say what the reader's terminal can do.
type StoryOptions struct {
	Width int  // columns; 0: 120
	Color bool // no meaning is carried by colour alone
	// Verbose tells every step, also those that go without saying.
	Verbose bool
}

const (
	usualWidth  = 120
	leastStory  = 60
	leastLane   = 18 // a client's column, below which the story is told without columns
	leastServer = 11
	mostServer  = 24
)

// Story tells a trace: numbered rows, a column for each client and each server, then what went wrong, in words.
func (t *Trace) Story(w io.Writer, opts StoryOptions) error {
	if opts.Width <= 0 {
		opts.Width = usualWidth
	}
	s := story{t: t, rows: t.rows(), width: max(opts.Width, leastStory), color: opts.Color}
	if opts.Verbose {
		s.rows = t.everyStep()
	}
	s.layout()
	s.heads()
	for i := range s.rows {
		s.row(i)
	}
	s.conclusion()
	_, err := io.WriteString(w, s.b.String())
	return err
}

// story is one telling.
type story struct {
	t            *Trace
	rows         []row
	width        int
	color        bool
	b            strings.Builder
	lane, server int // widths of columns; lane 0: there are none for clients
}

// margin is the number and the time.
const margin = 13

// layout finds the widths of the columns.
func (s *story) layout() {
	s.server = leastServer
	for _, r := range s.rows {
		for _, state := range r.after {
			s.server = max(s.server, utf8.RuneCountInString(keyWords(state)))
		}
	}
	s.server = min(s.server, mostServer)
	for ; s.server >= leastServer; s.server-- {
		s.lane = (s.width - margin - (s.server+2)*s.t.Servers) / s.t.Clients
		if s.lane >= leastLane+6 {
			return
		}
	}
	s.server = leastServer
	if s.lane < leastLane {
		s.lane = 0
	}
}

func (s *story) heads() {
	cells := []string{}
	for i := range s.t.Clients {
		cells = append(cells, "  "+clientName(i))
	}
	if s.lane == 0 {
		return
	}
	line := blanks(margin)
	for _, c := range cells {
		line += fit(c, s.lane)
	}
	for i := range s.t.Servers {
		name := "lock's key"
		if s.t.Servers > 1 {
			name = fmt.Sprintf("S%d", i+1)
		}
		line += "  " + fit(name, s.server)
	}
	s.line(s.bold(strings.TrimRight(line, " ")))
}

// row writes a row; what does not fit into its column goes on below.
func (s *story) row(i int) {
	r := s.rows[i]
	head := fmt.Sprintf("%3d  %6s  ", i+1, clock(r.at))
	if s.lane == 0 {
		s.plain(head, r)
		return
	}
	text := wrapped(r.text, s.lane-3)
	if r.client < 0 {
		text = nil
	}
	states := s.states(r)
	height := max(1, len(text))
	for _, state := range states {
		height = max(height, len(state))
	}
	for n := range height {
		line := head
		if n > 0 {
			line = blanks(margin)
		}
		if n == 0 && r.client < 0 && !r.fault {
			line += s.passing(r)
		} else {
			for c := range s.t.Clients {
				cell := ""
				if c == r.client && n < len(text) {
					cell = text[n]
				}
				line += s.holds(r, c) + s.paint(r, fit(cell, s.lane-2))
			}
		}
		for k := range states {
			cell := ""
			if n < len(states[k]) {
				cell = states[k][n]
			}
			line += "  " + fit(cell, s.server)
		}
		s.line(strings.TrimRight(line, " "))
	}
}

// passing is what concerns everybody, across the columns of all clients: time passes.
func (s *story) passing(r row) string {
	var line string
	for c := range s.t.Clients {
		line += s.holds(r, c) + strings.Repeat("·", s.lane-2)
	}
	runes, label := []rune(line), []rune(" "+r.text+" ")
	copy(runes[max(0, len(runes)-len(label))/2:], label)
	return string(runes)
}

// plain tells a row without columns, for narrow terminals or many servers.
func (s *story) plain(head string, r row) {
	who := "--"
	if r.client >= 0 {
		who = clientName(r.client)
	} else if r.server >= 0 {
		who = fmt.Sprintf("S%d", r.server+1)
	}
	for n, piece := range wrapped(r.text, s.width-margin-4) {
		if n == 0 {
			s.line(head + who + "  " + s.paint(r, piece))
			continue
		}
		s.line(blanks(margin+4) + s.paint(r, piece))
	}
	var words []string
	for k, state := range r.after {
		words = append(words, fmt.Sprintf("S%d %s", k+1, keyWords(state)))
	}
	text := strings.Join(words, " | ")
	if holders := s.holders(r); holders != "" {
		text += " | held by " + holders
	}
	for _, piece := range wrapped(text, s.width-margin-4) {
		s.line(blanks(margin+4) + s.dim(piece))
	}
}

func (s *story) holders(r row) string {
	var names []string
	for c, held := range r.held {
		if held {
			names = append(names, clientName(c))
		}
	}
	return strings.Join(names, ", ")
}

// states are what the servers have, wrapped to their columns; a fault of a server stands above it.
func (s *story) states(r row) [][]string {
	var out [][]string
	for k, state := range r.after {
		lines := wrapped(keyWords(state), s.server)
		if r.fault && r.client < 0 && k == r.server {
			lines = append(wrapped(r.text, s.server), lines...)
		}
		out = append(out, lines)
	}
	return out
}

// holds marks a client that believes to have the lock.
func (s *story) holds(r row, client int) string {
	if client < len(r.held) && r.held[client] {
		return "┃ "
	}
	return "  "
}

func (s *story) line(text string) { s.b.WriteString(text + "\n") }

func (s *story) paint(r row, text string) string {
	if !r.fault || r.client < 0 {
		return text
	}
	return s.with("1;33", text)
}

func (s *story) bold(text string) string { return s.with("1", text) }
func (s *story) dim(text string) string  { return s.with("2", text) }

func (s *story) with(code, text string) string {
	if !s.color || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// conclusion says what went wrong, where it turned, and how little it took.
func (s *story) conclusion() {
	s.line("")
	for _, name := range s.t.Anomalies {
		s.line(s.with("1;37;41", string(name)))
		for _, a := range s.t.Verdict.Anomalies {
			if a.Name == name {
				s.paragraph(a.Why)
				break
			}
		}
	}
	s.paragraph(s.t.enough() + "." + s.turning())
}

// turning names the row with the last fault, or the last one in which a command changed the lock's key before the anomaly.
func (s *story) turning() string {
	step := s.t.Turning()
	for i, r := range s.rows {
		switch {
		case r.last < step || i == len(s.rows)-1:
		case step >= 0 && s.t.Steps[step].Kind == StepFault:
			return fmt.Sprintf(" After step %d it took no further fault, only the order of what followed.", i+1)
		case step >= 0:
			return fmt.Sprintf(" Step %d is the last before it that changed the lock's key.", i+1)
		}
		if r.last >= step {
			return ""
		}
	}
	return ""
}

func (s *story) paragraph(text string) {
	for _, line := range wrapped(text, s.width-2) {
		s.line("  " + line)
	}
}

func blanks(n int) string { return strings.Repeat(" ", max(n, 0)) }

// fit fills text up to a width.
func fit(text string, width int) string { return text + blanks(width-utf8.RuneCountInString(text)) }

// wrapped breaks text between words, and words that are too long anywhere.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for utf8.RuneCountInString(word) > width {
			runes := []rune(word)
			lines = append(lines, string(runes[:width]))
			word = string(runes[width:])
		}
		line = word
	}
	return append(lines, line)
}
