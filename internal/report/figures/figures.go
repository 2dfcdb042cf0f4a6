// Package figures shows a measurement: its tables and plots on a terminal and as a page, and the files that keep it.
//
// It owns tables and plots. It must not measure: the figures are those of package bench.
package figures

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/report/format"
)

// section is a part of a measurement's report: a table, plots and what is to be said about them.
type section struct {
	Title string
	Lead  string
	Table figures
	Plots []plot
	Notes []string
}

// figures is a table. Columns are of numbers unless Text says otherwise; the last of text is wrapped.
type figures struct {
	Head []string
	Text []bool
	Rows [][]string
}

func (f figures) text(column int) bool { return column < len(f.Text) && f.Text[column] }

// plot is a chart of bars. Each bar has a value for each part, in ascending order: they are drawn within one another.
type plot struct {
	Title string
	Unit  string   // for the axis
	Parts []string // what the values of a bar are; one needs no name
	Log   bool     // each step of the axis is ten times the one before
	Bars  []bar
}

type bar struct {
	Label  string
	Values []float64
	Text   string // the values in words
}

// sections are the parts of a measurement's report.
func sections(r *bench.Record) []section {
	switch {
	case r.Market != nil:
		return marketSections(r.Market)
	case r.Waiting != nil:
		return waitingSections(r.Waiting)
	case r.Locks != nil:
		return locksSections(r.Locks)
	case r.Updates != nil:
		return updatesSections(r.Updates)
	}
	return nil
}

// titleOf is what was measured, in words.
func titleOf(r *bench.Record) string {
	title := map[bench.Kind]string{
		bench.KindMarket:  "The market of article 004",
		bench.KindWaiting: "Ways to wait for a lock",
		bench.KindLocks:   "Acquire and release",
		bench.KindUpdates: "Updates under a lock while clients are paused",
	}[r.Kind]
	if !r.Finished {
		title += " (not finished)"
	}
	return title
}

// condition is something to know about how it was measured.
type condition struct{ Name, Value string }

// conditions say how it was measured.
func conditions(r *bench.Record) []condition {
	took := format.Duration(r.Took.Round(100 * time.Millisecond))
	if !r.Finished {
		took += ", interrupted: what is known is shown"
	}
	return []condition{
		{"lab", format.Clean(r.Lab)},
		{"server", format.Clean(r.Server)},
		{"machine", fmt.Sprintf("%s, %s", format.Plural(r.Cores, "core", "cores"), format.Clean(r.Platform))},
		{"clients", format.Clean(r.Clients)},
		{"path", format.Clean(r.Path)},
		{"took", took},
	}
}

// absent notes the locks that could not be measured.
func absent(all []bench.Absent) []string {
	var notes []string
	for _, a := range all {
		notes = append(notes, fmt.Sprintf("%s: n/a, %s", format.Clean(a.Lock), format.Clean(a.Why)))
	}
	return notes
}

// thousands groups the digits of a number.
func thousands[N int | int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return sign + text
}

// decimal writes a ratio with as many digits as a reader wants.
func decimal(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "∞"
	case x >= 99.5:
		return thousands(int64(x + 0.5))
	case x >= 9.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 0.995:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.0995, x == 0:
		return fmt.Sprintf("%.2f", x)
	case x < 0.0001:
		return "< 0.0001"
	}
	return fmt.Sprintf("%.2g", x)
}

// percent writes a share.
func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// shortTime writes a time that may be below a millisecond.
func shortTime(d time.Duration) string {
	if d > 0 && d < time.Millisecond {
		return fmt.Sprintf("%.0fµs", float64(d)/float64(time.Microsecond))
	}
	return format.Duration(d.Round(10 * time.Microsecond))
}

// none is an entry without a value.
const none = "–"

// spreadBar is a bar of three percentiles in milliseconds.
func spreadBar(label string, s bench.Spread) bar {
	return bar{
		Label: label, Values: []float64{format.Milliseconds(s.P50), format.Milliseconds(s.P90), format.Milliseconds(s.P99)},
		Text: fmt.Sprintf("%s, %s, %s", shortTime(s.P50), shortTime(s.P90), shortTime(s.P99)),
	}
}

// percentiles names the parts of spreadBar.
func percentiles() []string { return []string{"p50", "p90", "p99"} }

// joined is a sentence of parts.
func joined(parts ...string) string { return strings.Join(parts, "; ") }
