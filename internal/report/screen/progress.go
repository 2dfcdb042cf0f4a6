package screen

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/terminal"
)

// progress shows on stderr how far a run has got: how many cells have ended and how many of them badly, the time that has passed, and
// about how much is left.
type progress struct {
	meter     *terminal.Meter
	since     func() time.Duration
	bar       bool
	running   []string
	surprises int
	unknown   int
	failures  int // of the lab
}

func newProgress(w io.Writer, opts terminal.Options) *progress {
	p := &progress{meter: terminal.NewMeter(w, opts, false), since: opts.Since, bar: opts.Bar}
	if p.since == nil {
		began := time.Now()
		p.since = func() time.Duration { return time.Since(began) }
	}
	return p
}

func (p *progress) handle(e report.Event) {
	p.note(e)
	if e.Kind == report.RunStart || e.Kind == report.RunEnd || e.Total == 0 {
		return
	}
	p.meter.Show(p.since(), p.line(e))
}

func (p *progress) note(e report.Event) {
	switch e.Kind {
	case report.CellStart:
		p.running = append(p.running, outcome.CellName(*e.Cell))
	case report.CellEnd:
		if i := slices.Index(p.running, outcome.CellName(*e.Cell)); i >= 0 {
			p.running = slices.Delete(p.running, i, i+1)
		}
		switch outcome.StatusOf(*e.Cell) {
		case outcome.Surprise:
			p.surprises++
		case outcome.Unknown:
			p.unknown++
		case outcome.Failed:
			p.failures++
		}
	}
}

// line is one line about the whole run.
func (p *progress) line(e report.Event) string {
	took := p.since()
	text := fmt.Sprintf("%d/%d done, %s, %d unknown, %d failed, %s elapsed",
		e.Done, e.Total, format.Plural(p.surprises, "surprise", "surprises"), p.unknown, p.failures, took.Round(time.Second))
	if left := remaining(took, e.Done, e.Total); left > 0 {
		text += fmt.Sprintf(", about %s left", left)
	}
	if p.bar {
		const cells = 20
		full := cells * min(e.Done, e.Total) / e.Total
		text = fmt.Sprintf("[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), text)
	}
	switch {
	case e.Kind == report.StormGoesOn:
		text += "; " + goesOn(*e.Cell)
	case len(p.running) == 1:
		text += "; " + p.running[0]
	case len(p.running) > 1:
		text += fmt.Sprintf("; %s and %d more", p.running[0], len(p.running)-1)
	}
	return text
}

// remaining is about how long the rest takes if it goes on as before; zero if that is not known yet.
func remaining(took time.Duration, done, total int) time.Duration {
	if done == 0 || done >= total || 20*done < total {
		return 0
	}
	return (took * time.Duration(total-done) / time.Duration(done)).Round(time.Second)
}

// goesOn says how far a storm has got.
func goesOn(c record.Cell) string {
	return fmt.Sprintf("%s for %v, %s", outcome.RoundName(c, c.Round), c.Took, format.Plural(c.Storm.Operations, "operation", "operations"))
}
