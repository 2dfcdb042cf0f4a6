package report

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
		opts.Width = usualWidth
	}
	opts.Width = max(opts.Width, leastWidth)
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
	t             *chart
	story         *story.Story
	rows          []row
	holds, faults []span // those that can be seen beside the rows
	opts          ExplainOptions
	paint         paint
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
		cell: cell, t: newChart(events), story: story.Of(cell.Verdict, events), opts: opts, paint: paint(opts.Color), shows: shownBy(cell.Verdict.Anomalies),
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
	name := roundName(s.cell, s.cell.Round)
	for i, line := range wrap(name+": "+outcome(s.cell), s.opts.Width) {
		if i == 0 {
			line = strings.Replace(line, name, s.paint.bold(name), 1)
		}
		fmt.Fprintln(&s.b, line)
	}
	fmt.Fprintf(&s.b, "status: %s; %s; took %s\n", statusOf(s.cell), plural(len(s.t.events), "event", "events"), duration(s.cell.Took))
	if s.cell.Storm != nil {
		s.paragraph("storm: " + stormWords(s.cell))
	}
	if s.cell.Data != "" {
		s.paragraph(dataWordsOf(s.cell))
	}
	for _, step := range s.cell.Skipped {
		s.paragraph("skipped " + clean(step))
	}
	s.background()
	s.finding()
	s.b.WriteString("\n")
}

func (s *explanation) paragraph(text string) {
	s.b.WriteString(strings.Join(wrap(text, s.opts.Width-2), "\n  ") + "\n")
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
	for _, line := range wrap(clean(s.story.Finding), s.opts.Width) {
		s.b.WriteString(s.paint.bold(line) + "\n")
	}
	if s.story.Breaks != "" {
		fmt.Fprintf(&s.b, "breaks %s\n", clean(s.story.Breaks))
	}
	for i, symptom := range s.story.Symptoms[:min(maxListed, len(s.story.Symptoms))] {
		text := string(symptom.Anomaly.Name)
		if symptom.Follows >= 0 {
			text = pad(text, 16) + fmt.Sprintf("  follows from !%d", symptom.Follows+1)
		}
		fmt.Fprintf(&s.b, "  %s %s\n", s.paint.alarm(fmt.Sprintf("!%d", i+1)), clean(text))
	}
}

// indented writes text behind a word, its lines below one another.
func (s *explanation) indented(word, text string) {
	for i, line := range wrap(clean(text), s.opts.Width-len(word)) {
		if i > 0 {
			word = blanks(len(word))
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
		fmt.Fprintf(&s.b, "%s left out, to keep this readable.\n", plural(n, "event is", "events are"))
	}
	s.b.WriteString("\n")
	s.columns()
	for _, r := range rows {
		s.row(r)
	}
}

func (s *explanation) columns() {
	line := blanks(s.marks) + pad("    #", numberWidth) + pad("       ms", stampWidth) + " "
	for _, client := range s.t.clients {
		line += " " + pad(clean(client), laneWidth(client))
	}
	s.b.WriteString(s.paint.bold(strings.TrimRight(line, " ")) + "\n")
}

// laneWidth is how many columns a client's lane takes.
func laneWidth(client string) int { return max(2, len([]rune(clean(client)))) }

func (s *explanation) row(r row) {
	switch {
	case r.kind == rowGap:
		fmt.Fprintf(&s.b, "%s… %s left out (%d to %d)\n", blanks(s.marks+numberWidth+1), plural(r.left, "event", "events"), r.event+1, r.event+r.left)
	case r.kind == rowMoment:
		m := s.t.moments[r.moment]
		s.lines(r, "", "", m.Lane+": "+m.Text)
	case s.t.events[r.event].Kind == history.KindStep:
		fmt.Fprintf(&s.b, "%s\n", s.paint.bold("── "+clip(s.t.describe(r.event), s.opts.Width-12)+" "+strings.Repeat("─", 8)))
	default:
		s.event(r)
	}
}

func (s *explanation) event(r row) {
	e := s.t.events[r.event]
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
		lanes += " " + pad(s.gutter(client, r.pos), laneWidth(client))
	}
	margin := s.marks + numberWidth + stampWidth + 1 + len([]rune(lanes)) + 2
	for i, line := range wrap(clean(text), max(leastBeside, s.opts.Width-margin-2)) {
		start := blanks(s.marks + numberWidth + stampWidth)
		if i == 0 {
			start = s.paint.alarm(sign) + blanks(s.marks-len([]rune(sign))) + fmt.Sprintf("%*s%*s", numberWidth, number, stampWidth, stamp(r.at))
		} else {
			line = "  " + line
		}
		s.b.WriteString(strings.TrimRight(start+" "+lanes+"  "+line, " ") + "\n")
	}
}

// leastBeside is into how few columns text is squeezed beside many clients.
const leastBeside = 32

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
	fmt.Fprintf(&s.b, "\n%s\n", s.paint.bold("What went wrong"))
	for i, a := range list {
		if i == maxListed {
			fmt.Fprintf(&s.b, "\nand %s\n", plural(len(list)-i, "more anomaly", "more anomalies"))
			return
		}
		s.anomaly(i+1, a)
	}
}

func (s *explanation) anomaly(n int, a checker.Anomaly) {
	fmt.Fprintf(&s.b, "\n%s %s at %s\n", s.paint.alarm(fmt.Sprintf("!%d", n)), s.paint.bold(clean(string(a.Name))), inSeconds(a.At))
	s.indented("    ", meaning(a.Name))
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
		s.indented(fmt.Sprintf("    %*d%*s  ", numberWidth-1, event+1, stampWidth, stamp(e.At)), s.t.laneOf(e)+" "+s.t.describe(event))
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
