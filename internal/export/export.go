// Package export writes a cell's history in the formats of other people's viewers and tools.
//
// It owns the table of formats, and what of a history each of them shows. It must not know where histories are kept, nor judge them: it is
// given a cell with its verdict.
package export

import (
	"io"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/timeline"
)

// Format is a format in which a cell can be written.
type Format struct {
	Name string
	Idea string // what it is for, in one line
	Ext  string // of a file's name, with the dot
	// Write writes the cell. It writes the same bytes for the same cell.
	Write func(io.Writer, *Cell) error
}

// Formats lists all formats, in the order in which a reader should meet them.
func Formats() []Format {
	return []Format{
		{"perfetto", "trace events for ui.perfetto.dev and chrome://tracing", ".json", writePerfetto},
		{"edn", "Jepsen's history: an operation a line", ".edn", writeEDN},
		{"porcupine", "porcupine's own page, with faults and commands as annotations", ".html", writePorcupine},
		{"otlp", "OpenTelemetry spans as JSON, for a collector or Jaeger", ".json", writeOTLP},
		{"shiviz", "a log with vector clocks for ShiViz, with its regular expression", ".log", writeShiViz},
		{"csv", "a table with a row for each event", ".csv", writeCSV},
	}
}

// Cell is what is exported.
type Cell struct {
	record.Cell
	Base   time.Time // the wall-clock time from which the events' times count
	Lab    string    // version of the lab
	Events []history.Event

	line  *timeline.Timeline
	lines []diagram.Line
}

// timeline is the history as spans.
func (c *Cell) timeline() *timeline.Timeline {
	if c.line == nil {
		c.line = timeline.Of(c.Events)
	}
	return c.line
}

// words is an event in words.
func (c *Cell) words(i int) diagram.Line {
	if c.lines == nil {
		c.lines = diagram.Lines(c.Events)
	}
	return c.lines[i]
}

// name is how commands name the cell.
func (c *Cell) name() string { return c.Lock + "/" + c.Scenario }

// end is when the history ends.
func (c *Cell) end() time.Duration {
	if len(c.Events) == 0 {
		return 0
	}
	return c.Events[len(c.Events)-1].At
}

// until is when a span ends: one that is open does so with the history.
func (c *Cell) until(s timeline.Span) time.Duration {
	if s.Open {
		return max(c.end(), s.Began)
	}
	return max(s.Ended, s.Began)
}

// byClient says whether a client sent the command: a ZooKeeper does some things by itself.
func byClient(e *history.Event, c *history.Command) bool { return e.Client != "" && !c.ByServer() }

// sent is when a command was let through to its server: when it was carried out, if that is not known.
func sent(e *history.Event, c *history.Command) time.Duration {
	if c.Sent == 0 {
		return e.At
	}
	return min(c.Sent, e.At)
}
