package outcome

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
)

// MaxWhys bounds what is written about one cell, and maxListed the lines of a list.
const (
	MaxWhys   = 12
	MaxListed = 40
)

// fact is something to know about a run.
type fact struct{ Name, Value string }

// Facts says what a run ran on; values are clean, and empty ones are left out.
func Facts(run *record.Run) []fact {
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
		all[i].Value = format.Clean(all[i].Value)
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
}

// Reason is why a cell has an anomaly: with the promise that it breaks, or with what excuses the lock.
func Reason(a checker.Anomaly) string {
	switch {
	case a.Breaks != "":
		return fmt.Sprintf("breaks %s: %s", a.Breaks, a.Why)
	case a.Beyond != "":
		return fmt.Sprintf("%s Beyond its promises: %s.", a.Why, a.Beyond)
	}
	return a.Why
}

// brokenPromises are the promises that a verdict's anomalies break, in their order: "; breaks exclusion, fair", or "".
func brokenPromises(v checker.Verdict) string {
	var words []string
	for _, a := range v.Anomalies {
		if a.Breaks != "" && !slices.Contains(words, a.Breaks) {
			words = append(words, a.Breaks)
		}
	}
	return format.After("; breaks ", strings.Join(words, ", "))
}

// StormWords says in one line how the storm of a cell went.
func StormWords(c record.Cell) string {
	s := c.Storm
	text := fmt.Sprintf("seed %d: %s, %d of %s struck", s.Seed, format.Plural(s.Operations, "operation", "operations"),
		s.Faults, format.Plural(s.Planned, "fault", "faults"))
	switch {
	case s.First == nil && c.Interrupted:
		return text + " before it was interrupted"
	case s.First == nil:
		return text + "; no promise was broken"
	}
	return fmt.Sprintf("%s; caught by %s after %s, at operation %d", text, format.Clean(string(s.First.Name)), format.Duration(s.First.After), s.First.Operation)
}

// DataWords is what became of the data, after the name of the workload; a counter needs none.
func DataWords(c record.Cell) string {
	if c.Workload == "" {
		return format.Clean(c.Data)
	}
	return format.Clean(c.Workload + ": " + c.Data)
}
