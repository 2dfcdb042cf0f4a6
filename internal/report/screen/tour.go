package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/rundir"
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
	// Read is the history of a cell of the run.
	Read func(*record.Run, record.Cell) ([]history.Event, error)
	// More are commands to go on with, each with a word for what it does.
	More [][2]string
}

// tour is the screen.
func (t *Screen) tour(b *strings.Builder, run *record.Run) {
	m := outcome.NewMatrix(run.Cells)
	width := min(t.opts.Width, format.UsualWidth)
	t.tourRace(b, run, width)
	fmt.Fprintf(b, "%s, %s, in %s\n\n", t.paint.Bold(fmt.Sprintf("Lock Lab: %d locks, %d situations", len(m.Columns()), len(m.Scenarios))),
		t.show.Setting, format.Duration(t.took()))
	t.tourMatrix(b, m)
	t.tourLegend(b, m, width)
	n := outcome.Count(run.Cells)
	fmt.Fprintf(b, "\n%s\n", t.paint.Bold(expectedWords(n)))
	t.surprises(b, run, m.WithStatus(outcome.Surprise))
	t.list(b, "Failures of the lab or a server", run, m.WithStatus(outcome.Failed))
	t.tourNext(b)
}

// expectedWords says in one line whether a run came out as it should.
func expectedWords(n outcome.Counts) string {
	if n.Surprises+n.Unknown+n.Failed == 0 {
		return fmt.Sprintf("%d cells, each with the verdict that the reviewed matrix expects.", n.Cells)
	}
	return n.String()
}

func (t *Screen) tourMatrix(b *strings.Builder, m outcome.Matrix) {
	first, each := 0, 0
	for _, scenario := range m.Scenarios {
		first = max(first, len(t.show.Situations[scenario]))
	}
	for _, g := range m.All() {
		each = max(each, len([]rune(tourWord(g.Worst()))), len(g[0].Lock))
	}
	line := format.Blanks(first)
	for _, lock := range m.Columns() {
		line += "  " + t.paint.Bold(format.Pad(format.Clean(lock), each))
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	for _, scenario := range m.Scenarios {
		line := format.Pad(t.show.Situations[scenario], first)
		for _, lock := range m.Columns() {
			word, c := "", record.Cell{}
			if g := m.At(lock, scenario); g != nil {
				c = g.Worst()
				word = tourWord(c)
			}
			line += "  " + outcome.Painted(t.paint, word, c) + format.Blanks(each-len([]rune(word)))
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
	sign := strings.TrimSpace(outcome.StatusOf(c).Mark())
	if c.Verdict.Kind != checker.Broken {
		return sign + string(c.Verdict.Kind)
	}
	return sign + wordOf(worstOf(c))
}

func worstOf(c record.Cell) checker.Name {
	return slices.MinFunc(c.Verdict.Names(), func(a, b checker.Name) int { return outcome.Gravity(a) - outcome.Gravity(b) })
}

func wordOf(name checker.Name) string {
	if word := tourWords()[name]; word != "" {
		return word
	}
	return outcome.ShortWord(name)
}

// tourLegend explains the words that occur.
func (t *Screen) tourLegend(b *strings.Builder, m outcome.Matrix, width int) {
	for _, d := range checker.Definitions() {
		shown := func(g outcome.Group) bool {
			return g.Worst().Verdict.Kind == checker.Broken && worstOf(g.Worst()) == d.Name
		}
		if slices.ContainsFunc(m.All(), shown) {
			fmt.Fprintf(b, "  %s\n", t.paint.Dim(format.Clip(format.Pad(wordOf(d.Name), 10)+"  "+d.Meaning, width-2)))
		}
	}
}

// tourRace tells one race: what went wrong, and how.
func (t *Screen) tourRace(b *strings.Builder, run *record.Run, width int) {
	isBroken := func(c record.Cell) bool { return c.Verdict.Kind == checker.Broken }
	i := slices.IndexFunc(run.Cells, func(c record.Cell) bool { return isBroken(c) && outcome.CellName(c) == t.show.Race })
	if i < 0 {
		i = slices.IndexFunc(run.Cells, isBroken)
	}
	if i < 0 || t.show.Read == nil {
		return
	}
	c := run.Cells[i]
	events, err := t.show.Read(run, c)
	if err != nil {
		return // the cell in the page says why
	}
	finding := fmt.Sprintf("%s, %s: %s", c.Lock, t.show.Situations[c.Scenario], story.Of(c.Verdict, events).Finding)
	for _, line := range format.Fit(format.Clean(finding), width) {
		b.WriteString(t.paint.Bold(line) + "\n")
	}
	for _, line := range diagram.Race(c, events, width-1) {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n")
}

func (t *Screen) tourNext(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", t.paint.Bold("Next"))
	next := [][2]string{{"picture", t.show.Dir + "/" + rundir.PageFile}, {"explain", fmt.Sprintf("%s explain %s %s", t.opts.Prefix, format.ShellWord(t.show.Dir), t.show.Race)}}
	for _, more := range t.show.More {
		next = append(next, [2]string{more[0], t.opts.Prefix + " " + more[1]})
	}
	for _, n := range next {
		fmt.Fprintf(b, "  %-10s  %s\n", n[0], format.FoldCommand(n[1], 14, t.opts.Width))
	}
}
