// Package exploration shows on a terminal what the explorer found: a counterexample in lanes, and the table of breaking points. Other screens word
// steps by it.
//
// It owns their layout. It must not search, and must not know how a counterexample was found.
package exploration

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/sim/trace"
)

// TraceOptions say how a trace is written.
type TraceOptions struct {
	Width int  // columns; 0: 80
	Color bool // no meaning is carried by colour alone
	// Verbose writes every step, also those that another implies.
	Verbose bool
}

const (
	leastLane   = 18 // a client's column, below which there are none
	leastServer = 11
	mostServer  = 24
)

// Write writes a counterexample: numbered rows with a column for each client and each server, then the anomaly and its causes.
func Write(w io.Writer, t *trace.Trace, opts TraceOptions) error {
	if opts.Width <= 0 {
		opts.Width = format.UsualWidth
	}
	s := traceWriter{t: t, rows: traceRows(t), width: max(opts.Width, format.LeastWidth), paint: format.Paint(opts.Color)}
	if opts.Verbose {
		s.rows = everyStep(t)
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

type traceWriter struct {
	t     *trace.Trace
	rows  []traceRow
	width int
	paint format.Paint
	b     strings.Builder
	// Widths of columns; lane 0: there are none for clients. The margin is the number and the time.
	margin, time, lane, server int
}

// layout finds the widths of the columns.
func (s *traceWriter) layout() {
	s.server, s.time = leastServer, len("1.000s")
	for _, r := range s.rows {
		s.time = max(s.time, len(traceTime(r.at)))
		for _, state := range r.after.Keys {
			s.server = max(s.server, utf8.RuneCountInString(KeyText(s.t, state)))
		}
	}
	s.margin = len("123  ") + s.time + 2
	s.server = min(s.server, mostServer)
	for ; s.server >= leastServer; s.server-- {
		s.lane = (s.width - s.margin - (s.server+2)*s.t.Servers) / s.t.Clients
		if s.lane >= leastLane+6 {
			return
		}
	}
	s.server = leastServer
	if s.lane < leastLane {
		s.lane = 0
	}
}

func (s *traceWriter) heads() {
	cells := []string{}
	for i := range s.t.Clients {
		cells = append(cells, "  "+trace.ClientName(i))
	}
	if s.lane == 0 {
		return
	}
	line := format.Blanks(s.margin)
	for _, c := range cells {
		line += format.Pad(c, s.lane)
	}
	for i := range s.t.Servers {
		name := "lock's key"
		if s.t.Servers > 1 {
			name = fmt.Sprintf("S%d", i+1)
		}
		line += "  " + format.Pad(name, s.server)
	}
	s.line(s.paint.Bold(strings.TrimRight(line, " ")))
}

// row writes a row; what does not fit into its column goes on below.
func (s *traceWriter) row(i int) {
	r := s.rows[i]
	head := fmt.Sprintf("%3d  %*s  ", i+1, s.time, traceTime(r.at))
	if s.lane == 0 {
		s.plain(head, r)
		return
	}
	text := format.Fit(r.text, s.lane-3)
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
			line = format.Blanks(s.margin)
		}
		if n == 0 && r.client < 0 && !r.fault {
			line += s.passing(r)
		} else {
			for c := range s.t.Clients {
				cell := ""
				if c == r.client && n < len(text) {
					cell = text[n]
				}
				line += s.holds(r, c) + s.painted(r, format.Pad(cell, s.lane-2))
			}
		}
		for k := range states {
			cell := ""
			if n < len(states[k]) {
				cell = states[k][n]
			}
			line += "  " + format.Pad(cell, s.server)
		}
		s.line(strings.TrimRight(line, " "))
	}
}

// passing is what concerns everybody, across the columns of all clients: time passes.
func (s *traceWriter) passing(r traceRow) string {
	var line string
	for c := range s.t.Clients {
		line += s.holds(r, c) + strings.Repeat("·", s.lane-2)
	}
	runes, label := []rune(line), []rune(" "+r.text+" ")
	copy(runes[max(0, len(runes)-len(label))/2:], label)
	return string(runes)
}

// plain writes a row without columns, for narrow terminals or many servers.
func (s *traceWriter) plain(head string, r traceRow) {
	who := "--"
	if r.client >= 0 {
		who = trace.ClientName(r.client)
	} else if r.server >= 0 {
		who = fmt.Sprintf("S%d", r.server+1)
	}
	for n, piece := range format.Fit(r.text, s.width-s.margin-4) {
		if n == 0 {
			s.line(head + who + "  " + s.painted(r, piece))
			continue
		}
		s.line(format.Blanks(s.margin+4) + s.painted(r, piece))
	}
	var words []string
	for k, state := range r.after.Keys {
		words = append(words, fmt.Sprintf("S%d %s", k+1, KeyText(s.t, state)))
	}
	text := strings.Join(words, " | ")
	if holders := s.holders(r); holders != "" {
		text += " | held by " + holders
	}
	for _, piece := range format.Fit(text, s.width-s.margin-4) {
		s.line(format.Blanks(s.margin+4) + s.paint.Dim(piece))
	}
}

func (s *traceWriter) holders(r traceRow) string {
	var names []string
	for c, held := range r.after.Holds {
		if held {
			names = append(names, trace.ClientName(c))
		}
	}
	return strings.Join(names, ", ")
}

// states are what the servers have, wrapped to their columns; a fault of a server stands above it.
func (s *traceWriter) states(r traceRow) [][]string {
	var out [][]string
	for k, state := range r.after.Keys {
		lines := format.Fit(KeyText(s.t, state), s.server)
		if r.fault && r.client < 0 && k == r.server {
			lines = append(format.Fit(r.text, s.server), lines...)
		}
		out = append(out, lines)
	}
	return out
}

// holds marks a client that holds the lock.
func (s *traceWriter) holds(r traceRow, client int) string {
	if client < len(r.after.Holds) && r.after.Holds[client] {
		return "┃ "
	}
	return "  "
}

func (s *traceWriter) line(text string) { s.b.WriteString(text + "\n") }

// painted colours a client's fault.
func (s *traceWriter) painted(r traceRow, text string) string {
	if !r.fault || r.client < 0 || strings.TrimSpace(text) == "" {
		return text
	}
	return s.paint.With("1;33", text)
}

// conclusion says what went wrong, how few faults it took, and after which step none is needed.
func (s *traceWriter) conclusion() {
	s.line("")
	for _, name := range s.t.Anomalies {
		s.line(s.paint.Alarm(string(name)))
		for _, a := range s.t.Verdict.Anomalies {
			if a.Name == name {
				s.paragraph(a.Why)
				break
			}
		}
	}
	s.paragraph(enough(s.t) + "." + s.turning())
}

// turning names the row with the last fault, or the last one in which a command changed the lock's key before the anomaly.
func (s *traceWriter) turning() string {
	step := s.t.Turning()
	for i, r := range s.rows {
		switch {
		case r.last < step || i == len(s.rows)-1:
		case step >= 0 && s.t.Steps[step].Kind == trace.Fault:
			return fmt.Sprintf(" No further fault is needed after step %d, only ordering.", i+1)
		case step >= 0:
			return fmt.Sprintf(" Step %d is the last change of the lock's key before it.", i+1)
		}
		if r.last >= step {
			return ""
		}
	}
	return ""
}

func (s *traceWriter) paragraph(text string) {
	for _, line := range format.Fit(text, s.width-2) {
		s.line("  " + line)
	}
}
