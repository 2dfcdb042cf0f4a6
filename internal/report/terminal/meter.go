package terminal

import (
	"fmt"
	"io"
	"time"

	"github.com/locklab/locklab/internal/report/format"
)

// Meter shows on stderr how far something has come: one line that is drawn over, or a plain one now and then.
type Meter struct {
	w     io.Writer
	bar   bool
	quiet bool
	width int
	drawn bool
	next  time.Duration
}

// How often a meter prints. What takes less than patience needs no progress.
const (
	patience  = 2 * time.Second
	drawEvery = 200 * time.Millisecond
	sayEvery  = 10 * time.Second
)

// NewMeter returns a meter for a terminal; a quiet one says nothing.
func NewMeter(w io.Writer, opts Options, quiet bool) *Meter {
	m := &Meter{w: w, bar: opts.Bar, quiet: quiet, width: opts.Width, next: patience}
	if m.width <= 0 {
		m.width = format.UsualWidth
	}
	if !m.bar {
		m.next = sayEvery
	}
	return m
}

// Show shows a line, unless the last one was a moment ago; took is the time since the beginning.
func (m *Meter) Show(took time.Duration, line string) {
	if m.quiet || took < m.next {
		return
	}
	if !m.bar {
		m.next = took + sayEvery
		fmt.Fprintf(m.w, "progress: %s\n", line)
		return
	}
	m.next = took + drawEvery
	m.drawn = true
	fmt.Fprintf(m.w, "\r%s\x1b[K", format.Clip(line, m.width-1))
}

// Clear takes away what was drawn, so that something else can be written in its place.
func (m *Meter) Clear() {
	if m.drawn {
		m.drawn = false
		m.next = 0 // it is drawn again at once
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}
