package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
)

// progress tells on stderr how far a run has got: a bar that is drawn over, or a plain line at every tenth of the way.
type progress struct {
	w         io.Writer
	bar       bool
	width     int
	drawn     bool
	running   []string
	surprises int
	tenths    int
}

func newProgress(w io.Writer, opts TerminalOptions) *progress {
	return &progress{w: w, bar: opts.Bar, width: opts.Width}
}

// clear takes the bar away, so that a result can be written in its place.
func (p *progress) clear() error {
	if !p.drawn {
		return nil
	}
	p.drawn = false
	_, err := io.WriteString(p.w, "\r\x1b[K")
	return err
}

func (p *progress) handle(e Event) error {
	p.note(e)
	switch {
	case e.Kind == RunEnd || e.Total == 0:
		return nil
	case p.bar:
		return p.draw(e)
	case e.Kind == CellEnd:
		return p.say(e)
	case e.Kind == StormGoesOn && e.Cell.Took%stormLine == 0:
		_, err := fmt.Fprintf(p.w, "progress: %s\n", goesOn(*e.Cell))
		return err
	}
	return nil
}

// stormLine is how often a line is written about a storm.
const stormLine = 30 * time.Second

func (p *progress) note(e Event) {
	switch e.Kind {
	case CellStart:
		p.running = append(p.running, cellName(*e.Cell))
	case CellEnd:
		if i := slices.Index(p.running, cellName(*e.Cell)); i >= 0 {
			p.running = slices.Delete(p.running, i, i+1)
		}
		if statusOf(*e.Cell) == statusSurprise {
			p.surprises++
		}
	}
}

func (p *progress) draw(e Event) error {
	const cells = 24
	full := cells * min(e.Done, e.Total) / e.Total
	line := fmt.Sprintf("[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), p.summary(e))
	if e.Kind == StormGoesOn {
		line += "  " + goesOn(*e.Cell)
	} else if len(p.running) > 0 {
		line += "  " + p.running[0]
	}
	if len(p.running) > 1 {
		line += fmt.Sprintf(" +%d", len(p.running)-1)
	}
	p.drawn = true
	_, err := io.WriteString(p.w, "\r"+clip(line, p.width-1)+"\x1b[K")
	return err
}

// goesOn tells how far a storm has got.
func goesOn(c checker.Cell) string {
	return fmt.Sprintf("%s for %v, %s", roundName(c, c.Round), c.Took, plural(c.Storm.Operations, "operation", "operations"))
}

func (p *progress) say(e Event) error {
	tenths := 10 * e.Done / e.Total
	if tenths == p.tenths || e.Done == e.Total {
		return nil
	}
	p.tenths = tenths
	_, err := fmt.Fprintf(p.w, "progress: %s\n", p.summary(e))
	return err
}

func (p *progress) summary(e Event) string {
	return fmt.Sprintf("%d/%d cells, %s", e.Done, e.Total, plural(p.surprises, "surprise", "surprises"))
}
