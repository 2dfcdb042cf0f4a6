package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/story"
)

// Tour says how the run of a newcomer is shown: one screen with a small matrix in words, and one race in a few lines.
type Tour struct {
	// Setting says in a few words where the cells ran.
	Setting string
	// Dir is how the user names the directory of the run.
	Dir string
	// Situations are the names of the scenarios on the screen.
	Situations map[string]string
	// Race is the cell whose race is shown, as LOCK/SCENARIO; if it is not broken, another one is.
	Race string
	// Histories are those of the run.
	Histories func(*record.Run) Histories
	// More are commands to go on with, each with a word for what it does.
	More [][2]string
}

// tour is the screen.
func (t *Terminal) tour(b *strings.Builder, run *record.Run) {
	m := newMatrix(run.Cells)
	width := min(t.opts.Width, usualWidth)
	t.tourRace(b, run, width)
	fmt.Fprintf(b, "%s, %s, in %s\n\n", t.paint.bold(fmt.Sprintf("Lock Lab: %d locks, %d situations", len(m.columns()), len(m.scenarios))),
		t.opts.Tour.Setting, duration(t.took()))
	t.tourMatrix(b, m)
	t.tourLegend(b, m, width)
	n := countCells(run.Cells)
	fmt.Fprintf(b, "\n%s\n", t.paint.bold(expectedWords(n)))
	t.surprises(b, run, m.withStatus(statusSurprise))
	t.list(b, "Failures of the lab or a server", run, m.withStatus(statusFailed))
	t.tourNext(b)
}

// expectedWords says in one line whether a run came out as it should.
func expectedWords(n counts) string {
	if n.Surprises+n.Unknown+n.Failed == 0 {
		return fmt.Sprintf("%d cells, each with the verdict that the reviewed matrix expects.", n.Cells)
	}
	return n.String()
}

func (t *Terminal) tourMatrix(b *strings.Builder, m matrix) {
	first, each := 0, 0
	for _, scenario := range m.scenarios {
		first = max(first, len(t.opts.Tour.Situations[scenario]))
	}
	for _, g := range m.all() {
		each = max(each, len([]rune(tourWord(g.worst()))), len(g[0].Lock))
	}
	line := blanks(first)
	for _, lock := range m.columns() {
		line += "  " + t.paint.bold(pad(clean(lock), each))
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	for _, scenario := range m.scenarios {
		line := pad(t.opts.Tour.Situations[scenario], first)
		for _, lock := range m.columns() {
			word, c := "", record.Cell{}
			if g := m.at(lock, scenario); g != nil {
				c = g.worst()
				word = tourWord(c)
			}
			line += "  " + t.paint.status(word, c) + blanks(each-len([]rune(word)))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// tourWords are anomalies in a word or two; others have their short word.
func tourWords() map[checker.Name]string {
	return map[checker.Name]string{
		checker.LostUpdate: "lost data", checker.DoubleHolder: "2 holders", checker.StuckLock: "stuck", checker.StaleWrite: "old write",
		checker.GhostLock: "ghost", checker.WrongfulDelete: "wrong del",
	}
}

// tourWord is what came of a cell in a word or two: its worst anomaly.
func tourWord(c record.Cell) string {
	sign := strings.TrimSpace(mark(statusOf(c)))
	if c.Verdict.Kind != checker.Broken {
		return sign + string(c.Verdict.Kind)
	}
	return sign + wordOf(worstOf(c))
}

func worstOf(c record.Cell) checker.Name {
	return slices.MinFunc(c.Verdict.Names(), func(a, b checker.Name) int { return gravity(a) - gravity(b) })
}

func wordOf(name checker.Name) string {
	if word := tourWords()[name]; word != "" {
		return word
	}
	return shortWord(name)
}

// tourLegend explains the words that occur.
func (t *Terminal) tourLegend(b *strings.Builder, m matrix, width int) {
	for _, d := range checker.Definitions() {
		shown := func(g group) bool { return g.worst().Verdict.Kind == checker.Broken && worstOf(g.worst()) == d.Name }
		if slices.ContainsFunc(m.all(), shown) {
			fmt.Fprintf(b, "  %s\n", t.paint.dim(clip(pad(wordOf(d.Name), 10)+"  "+d.Meaning, width-2)))
		}
	}
}

// tourRace tells one race: what went wrong, and how.
func (t *Terminal) tourRace(b *strings.Builder, run *record.Run, width int) {
	isBroken := func(c record.Cell) bool { return c.Verdict.Kind == checker.Broken }
	i := slices.IndexFunc(run.Cells, func(c record.Cell) bool { return isBroken(c) && cellName(c) == t.opts.Tour.Race })
	if i < 0 {
		i = slices.IndexFunc(run.Cells, isBroken)
	}
	if i < 0 || t.opts.Tour.Histories == nil {
		return
	}
	c := run.Cells[i]
	events, err := t.opts.Tour.Histories(run).Read(c)
	if err != nil {
		return // the cell in the page says why
	}
	finding := fmt.Sprintf("%s, %s: %s", c.Lock, t.opts.Tour.Situations[c.Scenario], story.Of(c.Verdict, events).Finding)
	for _, line := range wrap(clean(finding), width) {
		b.WriteString(t.paint.bold(line) + "\n")
	}
	for _, line := range race(c, events, width-1) {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n")
}

func (t *Terminal) tourNext(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", t.paint.bold("Next"))
	next := [][2]string{{"picture", t.opts.Tour.Dir + "/" + PageFile}, {"explain", fmt.Sprintf("%s explain %s %s", t.opts.Prefix, shellWord(t.opts.Tour.Dir), t.opts.Tour.Race)}}
	for _, more := range t.opts.Tour.More {
		next = append(next, [2]string{more[0], t.opts.Prefix + " " + more[1]})
	}
	for _, n := range next {
		fmt.Fprintf(b, "  %-10s  %s\n", n[0], FoldCommand(n[1], 14, t.opts.Width))
	}
}
