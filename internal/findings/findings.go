// Package findings groups what went wrong in many cells by what caused it: one mistake of a lock shows in many scenarios.
//
// It owns what counts as the same cause, and how it is said in one line. It must not know how a report is laid out, nor judge a history.
package findings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// Finding is one way in which a lock fails, and where it does.
type Finding struct {
	Cause
	Places []Place // the smallest first: the one whose history shows it soonest
}

// Cause is what makes two anomalies the same finding.
type Cause struct {
	Lock    string
	Promise string // in the word of the client protocol; empty: no promise is about it
	Name    checker.Name
	Command string // that did it; empty: no single one did
}

// Place is a cell in which a finding shows.
type Place struct {
	Cell    int // among those that were given
	Anomaly checker.Anomaly
}

// Group lists the causes of the anomalies of some cells, those that show most often first. against has the
// anomalies of a cell that count.
func Group(cells []record.Cell, against func(record.Cell) []checker.Anomaly) []Finding {
	var all []Finding
	for i, cell := range cells {
		for _, a := range causes(against(cell)) {
			cause := Cause{cell.Lock, a.Breaks, a.Name, a.Command}
			n := slices.IndexFunc(all, func(f Finding) bool { return f.Cause == cause })
			if n < 0 {
				n, all = len(all), append(all, Finding{Cause: cause})
			}
			all[n].Places = append(all[n].Places, Place{i, a})
		}
	}
	for _, f := range all {
		slices.SortStableFunc(f.Places, func(a, b Place) int { return cmp.Compare(a.shown(), b.shown()) })
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(len(b.Places), len(a.Places)) })
	return all
}

// shown is the last event that shows the anomaly.
func (p Place) shown() int { return slices.Max(append([]int{0}, p.Anomaly.Events...)) }

// causes are the anomalies that a command made, one of each kind, or else the first one: the others follow from these.
func causes(anomalies []checker.Anomaly) []checker.Anomaly {
	inTime := slices.SortedStableFunc(slices.Values(anomalies), func(a, b checker.Anomaly) int { return cmp.Compare(a.At, b.At) })
	var out []checker.Anomaly
	for _, a := range inTime {
		known := func(b checker.Anomaly) bool {
			return b.Name == a.Name && b.Command == a.Command && b.Breaks == a.Breaks
		}
		if a.Command != "" && !slices.ContainsFunc(out, known) {
			out = append(out, a)
		}
	}
	if len(out) == 0 && len(inTime) > 0 {
		out = inTime[:1]
	}
	return out
}

// byCommand begins the meaning of an anomaly that a command made.
const byCommand = "a client's command"

// String says which promise is broken, and how: "release-by-owner: DEL removed another client's lock".
func (c Cause) String() string {
	did := string(c.Name)
	for _, d := range checker.Definitions() {
		if d.Name == c.Name {
			did = d.Meaning
		}
	}
	switch {
	case c.Command == "":
	case strings.HasPrefix(did, byCommand):
		did = c.Command + strings.TrimPrefix(did, byCommand)
	default:
		did += " (" + c.Command + ")"
	}
	return cmp.Or(c.Promise, string(c.Name)) + ": " + did
}
