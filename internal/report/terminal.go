package report

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// TerminalOptions say what the terminal can do and what its user wants.
type TerminalOptions struct {
	// Prefix is how the user calls the lab: "lab", "go run ./cmd/lab". Commands to copy begin with it; empty means "lab".
	Prefix string
	// Width is the number of columns; zero means 80.
	Width int
	// Verbose lists every cell as it ends, with its anomalies.
	Verbose bool
	// Color allows colours on stdout. No meaning is carried by colour alone.
	Color bool
	// Bar draws progress on stderr as one line that is drawn over; otherwise a plain line is written now and then.
	Bar bool
	// Tour shows the run as one screen for a newcomer; nil: it is none.
	Tour *Tour
	// Since is the time since the beginning; nil: by the clock, since the sink was made.
	Since func() time.Duration
}

// DetectTerminal finds out what stdout and stderr can do. It respects NO_COLOR, TERM=dumb and CI; getenv is os.Getenv. Prefix,
// Width and Verbose are left for the caller.
func DetectTerminal(stdout, stderr *os.File, getenv func(string) string) TerminalOptions {
	dumb := getenv("TERM") == "dumb"
	return TerminalOptions{
		Color: IsTerminal(stdout) && !dumb && getenv("NO_COLOR") == "",
		Bar:   IsTerminal(stderr) && !dumb && getenv("CI") == "",
	}
}

// IsTerminal says whether somebody may look at a file.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Terminal shows a person how a run goes and what came of it. Results go to stdout, progress to stderr.
//
// It is brief: what came out as expected is counted, what did not is listed at the end, with the command that explains it. A few cells are
// shown in full, some dozens as a matrix.
type Terminal struct {
	out      io.Writer
	progress *progress
	opts     TerminalOptions
	paint    paint
	names    int // width of the names of cells
}

// How many cells are shown in full without being asked for, and as a matrix.
const (
	fewCells    = 3
	matrixCells = 200
)

// leastWidth is the width in columns below which reports are not squeezed further.
const leastWidth = 60

// maxWhys bounds what is written about one cell, maxListed the lines of a list, and maxAlike those of unknown cells for one reason.
const (
	maxWhys   = 12
	maxListed = 40
	maxAlike  = 3
)

// usualNames is the width of the names of cells if the run does not say at its start which it has.
const usualNames = 34

// mostNames is the width of the names of cells at most; a longer one, of a lock with several chosen bugs, pushes its line to the right.
const mostNames = 60

// NewTerminal returns a sink that reports to a person.
func NewTerminal(stdout, stderr io.Writer, opts TerminalOptions) *Terminal {
	if opts.Prefix == "" {
		opts.Prefix = "lab"
	}
	if opts.Width <= 0 {
		opts.Width = usualWidth
	}
	opts.Width = max(opts.Width, leastWidth)
	return &Terminal{out: stdout, progress: newProgress(stderr, opts), opts: opts, paint: paint(opts.Color), names: usualNames}
}

// Handle implements Sink.
func (t *Terminal) Handle(e Event) error {
	if text := t.text(e); text != "" {
		t.progress.meter.Clear()
		if _, err := io.WriteString(t.out, text); err != nil {
			return err
		}
	}
	if e.Kind == RunEnd {
		t.progress.meter.Clear()
	}
	t.progress.handle(e)
	return nil
}

func (t *Terminal) text(e Event) string {
	var b strings.Builder
	switch e.Kind {
	case RunStart:
		t.start(&b, e)
	case CellEnd:
		if t.opts.Verbose {
			t.cell(&b, *e.Cell)
		}
	case RunEnd:
		t.end(&b, e)
	}
	return b.String()
}

// start fixes the layout, and says, where that was asked for, what the run runs on.
func (t *Terminal) start(b *strings.Builder, e Event) {
	if len(e.Run.Cells) > 0 {
		t.names = 0
	}
	for _, c := range e.Run.Cells {
		t.names = min(max(t.names, utf8.RuneCountInString(roundName(c, c.Round))), mostNames)
	}
	if t.opts.Verbose {
		t.facts(b, e)
		b.WriteString("\n")
	}
}

func (t *Terminal) facts(b *strings.Builder, e Event) {
	fmt.Fprintf(b, "%s\n", t.paint.bold("Lock Lab"))
	for _, f := range facts(e.Run) {
		fmt.Fprintf(b, "  %-10s %s\n", f.name, strings.Join(Wrap(f.value, t.opts.Width-13), "\n"+blanks(13)))
	}
	fmt.Fprintf(b, "  %-10s %d\n", "cells", e.Total)
}

// fact is something to know about a run.
type fact struct{ name, value string }

// facts says what a run ran on; values are clean, and empty ones are left out.
func facts(run *record.Run) []fact {
	all := []fact{
		{"lab", run.Lab},
		{"run", run.ID},
		{"seed", fmt.Sprint(run.Seed)},
		{"world", run.World},
		{"server", run.Server},
		{"toxiproxy", run.Toxiproxy},
		{"platform", run.Platform},
		{"results", run.Dir},
	}
	for i := range all {
		all[i].value = clean(all[i].value)
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.value == "" })
}

// cell is a cell in full.
func (t *Terminal) cell(b *strings.Builder, c record.Cell) {
	s := statusOf(c)
	left := t.beside(b, t.paint.status(pad(s.String(), 8), c)+" "+pad(roundName(c, c.Round), t.names)+"  ", 9+t.names+2, 9, outcomeBeside(c))
	if took := duration(c.Took); len(took)+2 <= left {
		fmt.Fprintf(b, "  %s\n", t.paint.dim(took))
	} else {
		fmt.Fprintf(b, "\n         %s\n", t.paint.dim(took))
	}
	if c.Storm != nil {
		t.hang(b, "         ", stormWords(c))
	}
	for _, stall := range c.Stalls {
		t.hang(b, "         - ", "retried at half speed: "+clean(stall))
	}
	t.data(b, c)
	t.skips(b, c)
	t.whys(b, c)
}

// hang writes a text after a head, and what does not fit below its beginning.
func (t *Terminal) hang(b *strings.Builder, head, text string) {
	fmt.Fprintf(b, "%s%s\n", head, strings.Join(wrapWide(text, max(leastBeside, t.opts.Width-len(head))), "\n"+blanks(len(head))))
}

// beside writes a text that begins in the column at, after a head, or below it where the room is too small for it. It returns the room that is left in the
// last line, which is not ended.
func (t *Terminal) beside(b *strings.Builder, head string, at, below int, text string) (left int) {
	if room := t.opts.Width - at; room < leastBeside && utf8.RuneCountInString(text) > room {
		head, at = strings.TrimRight(head, " ")+"\n"+blanks(below), below
	}
	lines := wrapWide(text, max(leastBeside, t.opts.Width-at))
	fmt.Fprintf(b, "%s%s", head, strings.Join(lines, "\n"+blanks(at)))
	return t.opts.Width - at - utf8.RuneCountInString(lines[len(lines)-1])
}

// skips lists the steps that were not carried out.
func (t *Terminal) skips(b *strings.Builder, c record.Cell) {
	if !t.opts.Verbose {
		return
	}
	for i, step := range c.Skipped {
		if i == maxWhys {
			fmt.Fprintf(b, "         - skipped %s\n", plural(len(c.Skipped)-i, "more step", "more steps"))
			return
		}
		t.hang(b, "         - ", "skipped "+clean(step))
	}
}

// data says what became of the data that was worked on.
func (t *Terminal) data(b *strings.Builder, c record.Cell) {
	if c.Data != "" {
		t.hang(b, "           ", dataWordsOf(c))
	}
}

// dataWordsOf is what became of the data, after the name of the workload; a counter needs none.
func dataWordsOf(c record.Cell) string {
	if c.Workload == "" {
		return clean(c.Data)
	}
	return clean(c.Workload + ": " + c.Data)
}

// whys writes the finding, and each anomaly's reason.
func (t *Terminal) whys(b *strings.Builder, c record.Cell) {
	if c.Finding != "" {
		t.hang(b, "         ", clean(c.Finding))
	}
	for i, a := range c.Verdict.Anomalies {
		if i == maxWhys {
			fmt.Fprintf(b, "           and %s\n", plural(len(c.Verdict.Anomalies)-i, "more anomaly", "more anomalies"))
			return
		}
		t.hang(b, "         - ", clean(fmt.Sprintf("%s at %s: %s", a.Name, inSeconds(a.At), reason(a))))
	}
}

func (t *Terminal) end(b *strings.Builder, e Event) {
	if t.opts.Tour != nil && e.Run.Finished && !t.opts.Verbose {
		t.tour(b, e.Run)
		return
	}
	m := newMatrix(e.Run.Cells)
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
	t.rounds(b, m.differing())
	if t.opts.Verbose || len(cells) > fewCells {
		t.list(b, "Unknown", e.Run, m.withStatus(statusUnknown))
		t.surprises(b, e.Run, m.withStatus(statusSurprise))
		t.list(b, "Failures of the lab or a server", e.Run, m.withStatus(statusFailed))
		t.absences(b, cells)
	}
	if !e.Run.Finished {
		fmt.Fprintf(b, "%s\n", t.paint.alarm(fmt.Sprintf("CUT SHORT after %d of %s.", whole(cells), plural(e.Total, "cell", "cells"))))
	}
	counts, by := countCells(cells).String()+" in "+duration(t.took()), ", by lab "+clean(e.Run.Lab)
	if utf8.RuneCountInString(counts+by) > t.opts.Width {
		by = "\n" + strings.TrimPrefix(by, ", ")
	}
	fmt.Fprintf(b, "%s%s\n", t.paint.bold(strings.Join(wrap(counts, t.opts.Width), "\n")), t.paint.dim(by))
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
func (t *Terminal) took() time.Duration {
	took := t.progress.since()
	if took < time.Second {
		return took.Round(time.Millisecond)
	}
	return took.Round(100 * time.Millisecond)
}

// matrix shows every cell as a field of a table; what is n/a throughout is one line.
func (t *Terminal) matrix(b *strings.Builder, m matrix, cells []record.Cell) {
	if len(m.groups) == 0 {
		return
	}
	shown, left := m.fold()
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
func (t *Terminal) list(b *strings.Builder, title string, run *record.Run, groups []group) {
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n", t.paint.bold(title))
	shown, alike := 0, make(map[string]int) // by reason
	for _, g := range groups {
		c := g.worst()
		alike[outcomeBeside(c)]++
		if shown == maxListed || statusOf(c) == statusUnknown && alike[outcomeBeside(c)] > maxAlike {
			continue
		}
		shown++
		t.beside(b, "  "+mark(statusOf(c))+" "+pad(roundName(c, len(g)), t.names)+"  ", 5+t.names+2, 5, outcomeBeside(c))
		b.WriteString("\n")
		if run.Dir != "" && statusOf(c) != statusFailed {
			t.explainLine(b, run, c)
		}
	}
	switch more := len(groups) - shown; {
	case more == 0:
	case shown < maxListed:
		fmt.Fprintf(b, "     and %d more for the same reasons\n", more)
	default:
		fmt.Fprintf(b, "     and %d more\n", more)
	}
	b.WriteString("\n")
}

// explainLine is the command that explains a cell that is listed.
func (t *Terminal) explainLine(b *strings.Builder, run *record.Run, c record.Cell) {
	for line := range strings.SplitSeq(FoldCommand(explainCommand(t.opts.Prefix, run, c), 5, t.opts.Width), "\n") {
		fmt.Fprintf(b, "     %s\n", t.paint.dim(strings.TrimPrefix(line, blanks(5))))
	}
}

// rounds shows the cells whose verdicts were not the same each time.
func (t *Terminal) rounds(b *strings.Builder, groups []group) {
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n", t.paint.bold("Verdicts that differ between rounds"))
	for i, g := range groups {
		if i == maxListed {
			fmt.Fprintf(b, "     and %d more\n", len(groups)-i)
			break
		}
		t.beside(b, "   ~ "+pad(cellName(g[0]), t.names)+"  ", 5+t.names+2, 5, clean(tally(g)))
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// tally counts the verdicts of a group: "3× safe, 1× double-holder".
func tally(g group) string {
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
func (t *Terminal) next(b *strings.Builder, run *record.Run, m matrix) {
	commands := nextCommands(t.opts.Prefix, run, m)
	if len(commands) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n%s", t.paint.bold("Next"), listed(commands, t.opts.Width))
}
