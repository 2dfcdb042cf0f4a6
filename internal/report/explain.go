package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

// ExplainOptions say how to explain a cell.
type ExplainOptions struct {
	// Width is the number of columns; zero means 120. Many clients make it wider than that.
	Width int
	// Limit is the greatest number of events that are shown; zero means 400. Those that show anomalies come first.
	Limit int
	// Color allows colours. No meaning is carried by colour alone.
	Color bool
}

// Explain writes one cell as text: a numbered timeline with a column for each client and one for the servers, the lines of
// the script as headings, then each anomaly with its reason and the events that show it. Events are numbered from 1; event n
// is line n+1 of the history's file.
func Explain(w io.Writer, cell record.Cell, events []history.Event, opts ExplainOptions) error {
	if opts.Width <= 0 {
		opts.Width = 120
	}
	opts.Width = max(opts.Width, leastWidth)
	if opts.Limit <= 0 {
		opts.Limit = 400
	}
	s := newStory(cell, events, opts)
	s.head()
	s.timeline()
	s.anomalies()
	_, err := io.WriteString(w, s.b.String())
	return err
}

// story is a chart that is being written as text.
type story struct {
	b                       strings.Builder
	cell                    record.Cell
	t                       *chart
	rows                    []row
	holds, faults           []span // those that can be seen beside the rows
	opts                    ExplainOptions
	paint                   paint
	shows                   map[int][]int
	clientWidth, serverWide int
	marks                   int // columns for the numbers of anomalies
}

// The fixed columns of the timeline: number and time.
const (
	numberWidth = 5
	stampWidth  = 9
	leastColumn = 16
)

func newStory(cell record.Cell, events []history.Event, opts ExplainOptions) *story {
	s := &story{cell: cell, t: newChart(events), opts: opts, paint: paint(opts.Color), shows: shownBy(cell.Verdict.Anomalies)}
	s.rows = s.t.rowsOf(cell, opts.Limit)
	for _, numbers := range s.shows {
		s.marks = max(s.marks, len(markNumbers(numbers)))
	}
	room := opts.Width - s.marks - numberWidth - stampWidth - 4
	s.clientWidth = max(leastColumn, room*3/5/max(1, len(s.t.clients)))
	s.clientWidth = min(s.clientWidth, 26)
	s.serverWide = max(2*leastColumn, room-(s.clientWidth+1)*len(s.t.clients))
	return s
}

// markNumbers is the sign at the events that show anomalies.
func markNumbers(numbers []int) string {
	if len(numbers) > 3 {
		return fmt.Sprintf("!%d…", numbers[0])
	}
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprintf("!%d", n)
	}
	return strings.Join(words, "")
}

func (s *story) head() {
	fmt.Fprintf(&s.b, "%s: %s\n", s.paint.bold(roundName(s.cell, s.cell.Round)), outcome(s.cell))
	if s.cell.Storm != nil {
		fmt.Fprintf(&s.b, "storm: %s\n", stormWords(s.cell))
	}
	if s.cell.Data != "" {
		fmt.Fprintln(&s.b, dataWordsOf(s.cell))
	}
	for _, step := range s.cell.Skipped {
		fmt.Fprintf(&s.b, "skipped %s\n", clean(step))
	}
	fmt.Fprintf(&s.b, "status: %s; %s; took %s\n\n", statusOf(s.cell), plural(len(s.t.events), "event", "events"), duration(s.cell.Took))
}

func (s *story) timeline() {
	rows := s.rows
	s.holds, s.faults = visible(s.t.holds, rows), visible(s.t.faults, rows)
	if len(rows) == 0 {
		s.b.WriteString("The history is empty.\n")
		return
	}
	s.b.WriteString("Beside a client: ┃ it holds the lock, │ it does not; z paused, x dead, / cut off, : a message held, ~ clock or link disturbed.\n")
	if n := leftOut(rows); n > 0 {
		fmt.Fprintf(&s.b, "%s left out, to keep this readable.\n", plural(n, "event is", "events are"))
	}
	s.b.WriteString("\n")
	s.columns()
	for _, r := range rows {
		s.row(r)
	}
}

func (s *story) columns() {
	line := blanks(s.marks) + pad("    #", numberWidth) + pad("       ms", stampWidth) + "  "
	for _, client := range s.t.clients {
		line += pad("   "+clip(clean(client), s.clientWidth-3), s.clientWidth) + " "
	}
	servers := make([]string, len(s.t.servers))
	for i, name := range s.t.servers {
		servers[i] = clean(name)
	}
	s.b.WriteString(s.paint.bold(strings.TrimRight(line+strings.Join(servers, ", "), " ")) + "\n")
}

func (s *story) row(r row) {
	switch {
	case r.kind == rowGap:
		fmt.Fprintf(&s.b, "%s… %s left out (%d to %d)\n", blanks(s.marks+numberWidth+1), plural(r.left, "event", "events"), r.event+1, r.event+r.left)
	case r.kind == rowMoment:
		m := s.t.moments[r.moment]
		s.lines(r, "", "", m.Lane, clean(m.Text), "")
	case s.t.events[r.event].Kind == history.KindStep:
		fmt.Fprintf(&s.b, "%s\n", s.paint.bold("── "+s.t.describe(r.event)+" "+strings.Repeat("─", 8)))
	default:
		s.event(r)
	}
}

func (s *story) event(r row) {
	e := s.t.events[r.event]
	number := fmt.Sprint(r.event + 1)
	sign := markNumbers(s.shows[r.event])
	if e.Kind != history.KindCommand {
		s.lines(r, sign, number, s.t.laneOf(e), s.t.describe(r.event), "")
		return
	}
	text := s.t.describe(r.event)
	if c := e.Command(); c != nil && len(s.t.servers) > 1 {
		text = clean(c.Server) + ": " + text
	}
	s.lines(r, sign, number, e.Client, arrow(e.Command()), text)
}

// arrow is what a client's column shows of a command.
func arrow(c *history.Command) string {
	if c == nil || len(c.Args) == 0 {
		return "→"
	}
	return clip(clean(c.Args[0]), 12) + " →"
}

// lines writes a row: text in the column of lane, more in that of the servers. A lane that is no client's goes to the servers.
func (s *story) lines(r row, sign, number, lane, text, more string) {
	column := slices.Index(s.t.clients, lane)
	if column < 0 {
		more = strings.TrimSpace(clean(lane) + after(": ", text))
		if lane == "" {
			more = text
		}
	}
	left := wrap(text, s.clientWidth-3)
	right := wrap(more, s.serverWide)
	height := len(right)
	if column >= 0 {
		height = max(height, len(left))
	}
	for i := range height {
		var line strings.Builder
		if i == 0 {
			line.WriteString(s.paint.alarm(sign) + blanks(s.marks-len([]rune(sign))))
			fmt.Fprintf(&line, "%*s%*s  ", numberWidth, number, stampWidth, stamp(r.at))
		} else {
			line.WriteString(blanks(s.marks + numberWidth + stampWidth + 2))
		}
		for n, client := range s.t.clients {
			cell := s.gutter(client, r.pos) + " "
			if n == column && i < len(left) {
				cell += left[i]
			}
			line.WriteString(pad(cell, s.clientWidth) + " ")
		}
		if i < len(right) {
			line.WriteString(right[i])
		}
		s.b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// gutter shows the state of a client at a position: whether it holds a lock, and what has hit it.
func (s *story) gutter(client string, pos float64) string {
	hold := "│"
	if covered(s.holds, client, pos) {
		hold = "┃"
	}
	sign := " "
	for _, f := range s.faults {
		if f.Lane == client && f.At(pos) {
			sign = stronger(sign, faultSign(f.Label))
		}
	}
	return hold + sign
}

// covered says whether a span of the lane is on at a position.
func covered(spans []span, lane string, pos float64) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.Lane == lane && s.At(pos) })
}

func faultSign(name string) string {
	if f, _ := faults.Find(name); f.Sign != 0 {
		return string(f.Sign)
	}
	return "~"
}

// stronger is the sign that matters more.
func stronger(a, b string) string {
	const order = " ~:/zx"
	if strings.Index(order, b) > strings.Index(order, a) {
		return b
	}
	return a
}

func (s *story) anomalies() {
	list := s.cell.Verdict.Anomalies
	if len(list) == 0 {
		s.b.WriteString("\nNo anomalies.\n")
		return
	}
	fmt.Fprintf(&s.b, "\n%s\n", s.paint.bold("What went wrong"))
	for i, a := range list {
		if i == maxListed {
			fmt.Fprintf(&s.b, "\nand %s\n", plural(len(list)-i, "more anomaly", "more anomalies"))
			return
		}
		s.anomaly(i+1, a)
	}
}

func (s *story) anomaly(n int, a checker.Anomaly) {
	fmt.Fprintf(&s.b, "\n%s %s at %s: %s\n", s.paint.alarm(fmt.Sprintf("!%d", n)), s.paint.bold(clean(string(a.Name))), inSeconds(a.At), meaning(a.Name))
	for _, line := range wrap(clean(reason(a)), s.opts.Width-4) {
		fmt.Fprintf(&s.b, "    %s\n", line)
	}
	for i, event := range a.Events {
		if i == maxWhys {
			fmt.Fprintf(&s.b, "    and %s\n", plural(len(a.Events)-i, "more event", "more events"))
			return
		}
		if event < 0 || event >= len(s.t.events) {
			continue
		}
		e := s.t.events[event]
		fmt.Fprintf(&s.b, "    %*d%*s  %s %s\n", numberWidth-1, event+1, stampWidth, stamp(e.At), clean(s.t.laneOf(e)), s.t.describe(event))
	}
}

// meaning is what the definition of an anomaly says.
func meaning(name checker.Name) string {
	for _, d := range checker.Definitions() {
		if d.Name == name {
			return d.Meaning
		}
	}
	return ""
}
