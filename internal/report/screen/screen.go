// Package screen shows on a terminal how a run goes and what came of it.
//
// It owns the layout of a run's screen. It must not judge, and must not know of the page.
package screen

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/terminal"
)

// Screen shows a person how a run goes and what came of it. Results go to stdout, progress to stderr.
//
// It is brief: what came out as expected is counted, what did not is listed at the end, with the command that explains it. A few cells are
// shown in full, some dozens as a matrix.
type Screen struct {
	out      io.Writer
	progress *progress
	opts     terminal.Options
	show     *Tour // as one screen for a newcomer; nil: it is none
	paint    format.Paint
	names    int // width of the names of cells
}

// How many cells are shown in full without being asked for, and as a matrix.
const (
	fewCells    = 3
	matrixCells = 200
)

// maxAlike bounds the lines of unknown cells for one reason.
const maxAlike = 3

// usualNames is the width of the names of cells if the run does not say at its start which it has.
const usualNames = 34

// mostNames is the width of the names of cells at most; a longer one, of a lock with several chosen bugs, pushes its line to the right.
const mostNames = 60

// New returns a sink that reports to a person.
func New(stdout, stderr io.Writer, opts terminal.Options) *Screen {
	if opts.Prefix == "" {
		opts.Prefix = "lab"
	}
	if opts.Width <= 0 {
		opts.Width = format.UsualWidth
	}
	opts.Width = max(opts.Width, format.LeastWidth)
	return &Screen{out: stdout, progress: newProgress(stderr, opts), opts: opts, paint: format.Paint(opts.Color), names: usualNames}
}

// NewTour is NewTerminal for a run that is shown as one screen for a newcomer.
func NewTour(stdout, stderr io.Writer, opts terminal.Options, tour Tour) *Screen {
	t := New(stdout, stderr, opts)
	t.show = &tour
	return t
}

// Handle implements Sink.
func (t *Screen) Handle(e report.Event) error {
	if text := t.text(e); text != "" {
		t.progress.meter.Clear()
		if _, err := io.WriteString(t.out, text); err != nil {
			return err
		}
	}
	if e.Kind == report.RunEnd {
		t.progress.meter.Clear()
	}
	t.progress.handle(e)
	return nil
}

func (t *Screen) text(e report.Event) string {
	var b strings.Builder
	switch e.Kind {
	case report.RunStart:
		t.start(&b, e)
	case report.CellEnd:
		if t.opts.Verbose {
			t.cell(&b, *e.Cell)
		}
	case report.RunEnd:
		t.end(&b, e)
	}
	return b.String()
}

// start fixes the layout, and says, where that was asked for, what the run runs on.
func (t *Screen) start(b *strings.Builder, e report.Event) {
	if len(e.Run.Cells) > 0 {
		t.names = 0
	}
	for _, c := range e.Run.Cells {
		t.names = min(max(t.names, utf8.RuneCountInString(outcome.RoundName(c, c.Round))), mostNames)
	}
	if t.opts.Verbose {
		t.facts(b, e)
		b.WriteString("\n")
	}
}

func (t *Screen) facts(b *strings.Builder, e report.Event) {
	fmt.Fprintf(b, "%s\n", t.paint.Bold("Lock Lab"))
	for _, f := range outcome.Facts(e.Run) {
		fmt.Fprintf(b, "  %-10s %s\n", f.Name, strings.Join(format.Wrap(f.Value, t.opts.Width-13), "\n"+format.Blanks(13)))
	}
	fmt.Fprintf(b, "  %-10s %d\n", "cells", e.Total)
}

// cell is a cell in full.
func (t *Screen) cell(b *strings.Builder, c record.Cell) {
	s := outcome.StatusOf(c)
	left := t.beside(b, outcome.Painted(t.paint, format.Pad(s.String(), 8), c)+" "+format.Pad(outcome.RoundName(c, c.Round), t.names)+"  ", 9+t.names+2, 9, outcome.Beside(c))
	if took := format.Duration(c.Took); len(took)+2 <= left {
		fmt.Fprintf(b, "  %s\n", t.paint.Dim(took))
	} else {
		fmt.Fprintf(b, "\n         %s\n", t.paint.Dim(took))
	}
	if c.Storm != nil {
		t.hang(b, "         ", outcome.StormWords(c))
	}
	for _, stall := range c.Stalls {
		t.hang(b, "         - ", "retried at half speed: "+format.Clean(stall))
	}
	t.data(b, c)
	t.skips(b, c)
	t.whys(b, c)
}

// hang writes a text after a head, and what does not fit below its beginning.
func (t *Screen) hang(b *strings.Builder, head, text string) {
	b.WriteString(format.Hang(head, text, t.opts.Width))
}

// beside writes a text that begins in the column at, after a head, or below it where the room is too small for it. It returns the room that is left in the
// last line, which is not ended.
func (t *Screen) beside(b *strings.Builder, head string, at, below int, text string) (left int) {
	if room := t.opts.Width - at; room < format.LeastBeside && utf8.RuneCountInString(text) > room {
		head, at = strings.TrimRight(head, " ")+"\n"+format.Blanks(below), below
	}
	lines := format.FitSpaced(text, max(format.LeastBeside, t.opts.Width-at))
	fmt.Fprintf(b, "%s%s", head, strings.Join(lines, "\n"+format.Blanks(at)))
	return t.opts.Width - at - utf8.RuneCountInString(lines[len(lines)-1])
}

// skips lists the steps that were not carried out.
func (t *Screen) skips(b *strings.Builder, c record.Cell) {
	if !t.opts.Verbose {
		return
	}
	for i, step := range c.Skipped {
		if i == outcome.MaxWhys {
			fmt.Fprintf(b, "         - skipped %s\n", format.Plural(len(c.Skipped)-i, "more step", "more steps"))
			return
		}
		t.hang(b, "         - ", "skipped "+format.Clean(step))
	}
}

// data says what became of the data that was worked on.
func (t *Screen) data(b *strings.Builder, c record.Cell) {
	if c.Data != "" {
		t.hang(b, "           ", outcome.DataWords(c))
	}
}

// whys writes the finding, and each anomaly's reason.
func (t *Screen) whys(b *strings.Builder, c record.Cell) {
	if c.Finding != "" {
		t.hang(b, "         ", format.Clean(c.Finding))
	}
	for i, a := range c.Verdict.Anomalies {
		if i == outcome.MaxWhys {
			fmt.Fprintf(b, "           and %s\n", format.Plural(len(c.Verdict.Anomalies)-i, "more anomaly", "more anomalies"))
			return
		}
		t.hang(b, "         - ", format.Clean(fmt.Sprintf("%s at %s: %s", a.Name, format.Seconds(a.At), outcome.Reason(a))))
	}
}

func (t *Screen) end(b *strings.Builder, e report.Event) {
	if t.show != nil && e.Run.Finished && !t.opts.Verbose {
		t.tour(b, e.Run)
		return
	}
	m := outcome.NewMatrix(e.Run.Cells)
	cells := e.Run.Cells
	switch {
	case t.opts.Verbose:
		b.WriteString("\n")
		t.matrix(b, m, cells)
	case len(cells) == 0:
	case len(cells) <= fewCells:
		for _, c := range cells {
			t.cell(b, c)
		}
		b.WriteString("\n")
	case len(cells) <= matrixCells && e.Run.Finished:
		t.matrix(b, m, cells)
	}
	t.storms(b, cells)
	t.rounds(b, m.Differing())
	if t.opts.Verbose || len(cells) > fewCells {
		t.list(b, "Unknown", e.Run, m.WithStatus(outcome.Unknown))
		t.surprises(b, e.Run, m.WithStatus(outcome.Surprise))
		t.list(b, "Failures of the lab or a server", e.Run, m.WithStatus(outcome.Failed))
		t.absences(b, cells)
	}
	if !e.Run.Finished {
		fmt.Fprintf(b, "%s\n", t.paint.Alarm(fmt.Sprintf("CUT SHORT after %d of %s.", whole(cells), format.Plural(e.Total, "cell", "cells"))))
	}
	counts, by := outcome.Count(cells).String()+" in "+format.Duration(t.took()), ", by lab "+format.Clean(e.Run.Lab)
	if utf8.RuneCountInString(counts+by) > t.opts.Width {
		by = "\n" + strings.TrimPrefix(by, ", ")
	}
	fmt.Fprintf(b, "%s%s\n", t.paint.Bold(strings.Join(format.Fit(counts, t.opts.Width), "\n")), t.paint.Dim(by))
	t.next(b, e.Run, m)
}

// whole is how many cells were played to their ends.
func whole(cells []record.Cell) (n int) {
	for _, c := range cells {
		if !c.Interrupted {
			n++
		}
	}
	return n
}

// took is how long the run took, to three digits or so.
func (t *Screen) took() time.Duration {
	took := t.progress.since()
	if took < time.Second {
		return took.Round(time.Millisecond)
	}
	return took.Round(100 * time.Millisecond)
}

// matrix shows every cell as a field of a table; what is n/a throughout is one line.
func (t *Screen) matrix(b *strings.Builder, m outcome.Matrix, cells []record.Cell) {
	if len(m.Groups) == 0 {
		return
	}
	shown, left := fold(m)
	absent := left.line(t.opts.Width-1, "; see -v")
	switch {
	case t.opts.Verbose:
		absent = left.line(t.opts.Width-1, "") // they are listed above
	case len(absentFrom(cells)) > 0:
		absent = left.count() // their reasons come below
	}
	b.WriteString(strings.TrimRight(grid{m: shown, paint: t.paint, width: t.opts.Width, absent: absent}.String(), "\n"))
	b.WriteString("\n\n")
}

// list shows the cells that need attention, each with the command that explains it.
func (t *Screen) list(b *strings.Builder, title string, run *record.Run, groups []outcome.Group) {
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n", t.paint.Bold(title))
	shown, alike := 0, make(map[string]int) // by reason
	for _, g := range groups {
		c := g.Worst()
		alike[outcome.Beside(c)]++
		if shown == outcome.MaxListed || outcome.StatusOf(c) == outcome.Unknown && alike[outcome.Beside(c)] > maxAlike {
			continue
		}
		shown++
		t.beside(b, "  "+outcome.StatusOf(c).Mark()+" "+format.Pad(outcome.RoundName(c, len(g)), t.names)+"  ", 5+t.names+2, 5, outcome.Beside(c))
		b.WriteString("\n")
		if run.Dir != "" && outcome.StatusOf(c) != outcome.Failed {
			t.explainLine(b, run, c)
		}
	}
	switch more := len(groups) - shown; {
	case more == 0:
	case shown < outcome.MaxListed:
		fmt.Fprintf(b, "     and %d more for the same reasons\n", more)
	default:
		fmt.Fprintf(b, "     and %d more\n", more)
	}
	b.WriteString("\n")
}

// explainLine is the command that explains a cell that is listed.
func (t *Screen) explainLine(b *strings.Builder, run *record.Run, c record.Cell) {
	for line := range strings.SplitSeq(format.FoldCommand(explainCommand(t.opts.Prefix, run, c), 5, t.opts.Width), "\n") {
		fmt.Fprintf(b, "     %s\n", t.paint.Dim(strings.TrimPrefix(line, format.Blanks(5))))
	}
}

// rounds shows the cells whose verdicts were not the same each time.
func (t *Screen) rounds(b *strings.Builder, groups []outcome.Group) {
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n", t.paint.Bold("Verdicts that differ between rounds"))
	for i, g := range groups {
		if i == outcome.MaxListed {
			fmt.Fprintf(b, "     and %d more\n", len(groups)-i)
			break
		}
		t.beside(b, "   ~ "+format.Pad(outcome.CellName(g[0]), t.names)+"  ", 5+t.names+2, 5, format.Clean(tally(g)))
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// tally counts the verdicts of a group: "3× safe, 1× double-holder".
func tally(g outcome.Group) string {
	var words []string
	seen := make(map[string]int)
	for _, c := range g {
		v := checker.Verdict{Kind: c.Verdict.Kind, Anomalies: c.Verdict.Anomalies}.String()
		if seen[v]++; seen[v] == 1 {
			words = append(words, v)
		}
	}
	for i, v := range words {
		words[i] = fmt.Sprintf("%d× %s", seen[v], v)
	}
	return strings.Join(words, " | ")
}

// next says what to do now, as commands to copy.
func (t *Screen) next(b *strings.Builder, run *record.Run, m outcome.Matrix) {
	commands := nextCommands(t.opts.Prefix, run, m)
	if len(commands) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n%s", t.paint.Bold("Next"), format.Listed(commands, t.opts.Width))
}
