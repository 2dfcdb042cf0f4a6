package diagram

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/story"
	"github.com/locklab/locklab/scenarios"
)

// ExplainOptions say how to explain a cell.
type ExplainOptions struct {
	// Width is the number of columns; zero means 80. Many clients make it wider than that.
	Width int
	// Limit is the greatest number of events that are shown; zero means 400. Those that show anomalies come first.
	Limit int
	// Color allows colours. No meaning is carried by colour alone.
	Color bool
}

// Explain writes one cell as text: what it is about and what went wrong in a sentence, then a numbered timeline with a lane for each client, the lines
// of the script as headings, then each anomaly with its reason and the events that show it. Events are numbered from 1; event n is line n+1 of the
// history's file.
func Explain(w io.Writer, cell record.Cell, events []history.Event, opts ExplainOptions) error {
	if opts.Width <= 0 {
		opts.Width = format.UsualWidth
	}
	opts.Width = max(opts.Width, format.LeastWidth)
	if opts.Limit <= 0 {
		opts.Limit = 400
	}
	e := newExplanation(cell, events, opts)
	e.head()
	e.timeline()
	e.anomalies()
	_, err := io.WriteString(w, e.b.String())
	return err
}

// explanation is a chart that is being written as text.
type explanation struct {
	b             strings.Builder
	cell          record.Cell
	t             *Chart
	story         *story.Story
	rows          []row
	holds, faults []span // those that can be seen beside the rows
	opts          ExplainOptions
	paint         format.Paint
	shows         map[int][]int
	marks         int // columns for the numbers of anomalies
}

// The fixed columns of the timeline: number and time.
const (
	numberWidth = 5
	stampWidth  = 9
)

func newExplanation(cell record.Cell, events []history.Event, opts ExplainOptions) *explanation {
	s := &explanation{
		cell: cell, t: Of(events), story: story.Of(cell.Verdict, events), opts: opts, paint: format.Paint(opts.Color), shows: ShownBy(cell.Verdict.Anomalies),
	}
	s.rows = s.t.rowsOf(cell, opts.Limit)
	for _, numbers := range s.shows {
		s.marks = max(s.marks, len(markNumbers(numbers)))
	}
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

func (s *explanation) head() {
	name := outcome.RoundName(s.cell, s.cell.Round)
	for i, line := range format.Fit(name+": "+outcome.Of(s.cell), s.opts.Width) {
		if i == 0 {
			line = strings.Replace(line, name, s.paint.Bold(name), 1)
		}
		fmt.Fprintln(&s.b, line)
	}
	fmt.Fprintf(&s.b, "status: %s; %s; took %s\n", outcome.StatusOf(s.cell), format.Plural(len(s.t.Events), "event", "events"), format.Duration(s.cell.Took))
	if s.cell.Storm != nil {
		s.paragraph("storm: " + outcome.StormWords(s.cell))
	}
	if s.cell.Data != "" {
		s.paragraph(outcome.DataWords(s.cell))
	}
	for _, step := range s.cell.Skipped {
		s.paragraph("skipped " + format.Clean(step))
	}
	s.background()
	s.finding()
	s.b.WriteString("\n")
}

func (s *explanation) paragraph(text string) {
	s.b.WriteString(strings.Join(format.Fit(text, s.opts.Width-2), "\n  ") + "\n")
}

// background is what scenario and lock are about, if they come with the lab.
func (s *explanation) background() {
	if scripts, err := scenarios.Builtin(s.cell.Scenario); err == nil && s.cell.Scenario != "" {
		s.b.WriteString("\n")
		s.indented("", strings.Join(firstSentences(append([]string{scripts[0].Title}, scripts[0].About...)), " "))
	}
	spec, known := impls.Find(s.cell.Lock)
	if known {
		s.indented("lock: ", s.cell.Lock+", "+spec.Idea)
	}
	if spec.Bug != "" {
		s.indented("bug:  ", spec.Bug)
	}
}

// aboutSentences is how much of a scenario's comment stands before a story: its title, and two sentences.
const aboutSentences = 3

// firstSentences are the first of a text.
func firstSentences(lines []string) (first []string) {
	for text := strings.Join(lines, " "); text != "" && len(first) < aboutSentences; {
		end := strings.Index(text, ". ") + 1
		if end == 0 {
			end = len(text)
		}
		first = append(first, text[:end])
		text = strings.TrimSpace(text[end:])
	}
	return first
}

// finding is what went wrong, what promise that breaks, and what followed from what.
func (s *explanation) finding() {
	if len(s.story.Symptoms) == 0 {
		return
	}
	s.b.WriteString("\n")
	for _, line := range format.Fit(format.Clean(s.story.Finding), s.opts.Width) {
		s.b.WriteString(s.paint.Bold(line) + "\n")
	}
	if s.story.Breaks != "" {
		fmt.Fprintf(&s.b, "breaks %s\n", format.Clean(s.story.Breaks))
	}
	for i, symptom := range s.story.Symptoms[:min(outcome.MaxListed, len(s.story.Symptoms))] {
		text := string(symptom.Anomaly.Name)
		if symptom.Follows >= 0 {
			text = format.Pad(text, 16) + fmt.Sprintf("  follows from !%d", symptom.Follows+1)
		}
		fmt.Fprintf(&s.b, "  %s %s\n", s.paint.Alarm(fmt.Sprintf("!%d", i+1)), format.Clean(text))
	}
}

// indented writes text behind a word, its lines below one another.
func (s *explanation) indented(word, text string) {
	for i, line := range format.Fit(format.Clean(text), s.opts.Width-len(word)) {
		if i > 0 {
			word = format.Blanks(len(word))
		}
		s.b.WriteString(word + line + "\n")
	}
}

func (s *explanation) timeline() {
	rows := s.rows
	s.holds, s.faults = visible(s.t.holds, rows), visible(s.t.faults, rows)
	if len(rows) == 0 {
		s.b.WriteString("The history is empty.\n")
		return
	}
	s.b.WriteString("Lanes: ┃ the client holds the lock, │ it does not; z paused, x dead, / cut off,\n: a message held, ~ clock or link disturbed.\n")
	if n := leftOut(rows); n > 0 {
		fmt.Fprintf(&s.b, "%s left out, to keep this readable.\n", format.Plural(n, "event is", "events are"))
	}
	s.b.WriteString("\n")
	s.columns()
	for _, r := range rows {
		s.row(r)
	}
}

func (s *explanation) columns() {
	line := format.Blanks(s.marks) + format.Pad("    #", numberWidth) + format.Pad("       ms", stampWidth) + " "
	for _, client := range s.t.clients {
		line += " " + format.Pad(format.Clean(client), laneWidth(client))
	}
	s.b.WriteString(s.paint.Bold(strings.TrimRight(line, " ")) + "\n")
}

// laneWidth is how many columns a client's lane takes.
func laneWidth(client string) int { return max(2, len([]rune(format.Clean(client)))) }

func (s *explanation) row(r row) {
	switch {
	case r.kind == rowGap:
		fmt.Fprintf(&s.b, "%s… %s left out (%d to %d)\n", format.Blanks(s.marks+numberWidth+1), format.Plural(r.left, "event", "events"), r.event+1, r.event+r.left)
	case r.kind == rowMoment:
		m := s.t.moments[r.moment]
		s.lines(r, "", "", m.Lane+": "+m.Text)
	case s.t.Events[r.event].Kind == history.KindStep:
		fmt.Fprintf(&s.b, "%s\n", s.paint.Bold("── "+format.Clip(s.t.describe(r.event), s.opts.Width-12)+" "+strings.Repeat("─", 8)))
	default:
		s.event(r)
	}
}

func (s *explanation) event(r row) {
	e := s.t.Events[r.event]
	text := s.t.describe(r.event)
	if c := e.Command(); e.Kind == history.KindCommand && c != nil && (len(s.t.servers) > 1 || c.Server == history.Resource) {
		text = "→ " + c.Server + ": " + text
	}
	who := s.t.laneOf(e)
	if !slices.Contains(s.t.clients, who) && who != "" {
		who += ":"
	}
	s.lines(r, markNumbers(s.shows[r.event]), fmt.Sprint(r.event+1), strings.TrimSpace(who+" "+text))
}

// lines writes a row: the lanes of the clients, and text beside them.
func (s *explanation) lines(r row, sign, number, text string) {
	lanes := ""
	for _, client := range s.t.clients {
		lanes += " " + format.Pad(s.gutter(client, r.pos), laneWidth(client))
	}
	margin := s.marks + numberWidth + stampWidth + 1 + len([]rune(lanes)) + 2
	for i, line := range format.Fit(format.Clean(text), max(format.LeastBeside, s.opts.Width-margin-2)) {
		start := format.Blanks(s.marks + numberWidth + stampWidth)
		if i == 0 {
			start = s.paint.Alarm(sign) + format.Blanks(s.marks-len([]rune(sign))) + fmt.Sprintf("%*s%*s", numberWidth, number, stampWidth, stamp(r.at))
		} else {
			line = "  " + line
		}
		s.b.WriteString(strings.TrimRight(start+" "+lanes+"  "+line, " ") + "\n")
	}
}

// gutter shows the state of a client at a position: whether it holds a lock, and what has hit it.
func (s *explanation) gutter(client string, pos float64) string {
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

func (s *explanation) anomalies() {
	list := s.cell.Verdict.Anomalies
	if len(list) == 0 {
		s.b.WriteString("\nNo anomalies.\n")
		return
	}
	fmt.Fprintf(&s.b, "\n%s\n", s.paint.Bold("What went wrong"))
	for i, a := range list {
		if i == outcome.MaxListed {
			fmt.Fprintf(&s.b, "\nand %s\n", format.Plural(len(list)-i, "more anomaly", "more anomalies"))
			return
		}
		s.anomaly(i+1, a)
	}
}

func (s *explanation) anomaly(n int, a checker.Anomaly) {
	fmt.Fprintf(&s.b, "\n%s %s at %s\n", s.paint.Alarm(fmt.Sprintf("!%d", n)), s.paint.Bold(format.Clean(string(a.Name))), format.Seconds(a.At))
	s.indented("    ", outcome.Meaning(a.Name))
	for _, line := range format.Fit(format.Clean(outcome.Reason(a)), s.opts.Width-4) {
		fmt.Fprintf(&s.b, "    %s\n", line)
	}
	for i, event := range a.Events {
		if i == outcome.MaxWhys {
			fmt.Fprintf(&s.b, "    and %s\n", format.Plural(len(a.Events)-i, "more event", "more events"))
			return
		}
		if event < 0 || event >= len(s.t.Events) {
			continue
		}
		e := s.t.Events[event]
		s.indented(fmt.Sprintf("    %*d%*s  ", numberWidth-1, event+1, stampWidth, stamp(e.At)), s.t.laneOf(e)+" "+s.t.describe(event))
	}
}
