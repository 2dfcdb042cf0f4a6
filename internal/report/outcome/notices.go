package outcome

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/findings"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
)

// against are the anomalies that make a cell a surprise: of a lock that is judged by its promises those that break one, else those that are not
// expected.
func against(c record.Cell) []checker.Anomaly {
	return slices.DeleteFunc(slices.Clone(c.Verdict.Anomalies), func(a checker.Anomaly) bool {
		if c.Expected.By == record.ByPromises {
			return a.Beyond != ""
		}
		return slices.Contains(c.Expected.Verdict.Names(), a.Name)
	})
}

// Alike are surprises with one cause in several cells, those in most first, and the others.
func Alike(surprises []Group) (same []findings.Finding, cells []record.Cell, others []Group) {
	for _, g := range surprises {
		cells = append(cells, g.Worst())
	}
	same = slices.DeleteFunc(findings.Group(cells, against), func(f findings.Finding) bool { return len(f.Places) < 2 })
	for i, g := range surprises {
		told := func(f findings.Finding) bool {
			return slices.ContainsFunc(f.Places, func(p findings.Place) bool { return p.Cell == i })
		}
		if !slices.ContainsFunc(same, told) {
			others = append(others, g)
		}
	}
	return same, cells, others
}

// FindingWords are a finding in one line.
func FindingWords(f findings.Finding, smallest record.Cell) string {
	return fmt.Sprintf("%s, in %s; smallest: %s", f.Cause, format.Plural(len(f.Places), "scenario", "scenarios"), smallest.Scenario)
}

// AlsoWords lists the places of a finding but for the smallest.
func AlsoWords(f findings.Finding, cells []record.Cell) string {
	var names []string
	for _, p := range f.Places[1:min(len(f.Places), MaxListed)] {
		names = append(names, cells[p.Cell].Scenario)
	}
	words := "also " + strings.Join(names, ", ")
	if more := len(f.Places) - MaxListed; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words
}

// notice is something that came out otherwise than expected, or not at all.
type notice struct {
	Status     Status
	Name, Text string
	Cell       record.Cell // that shows it
}

// Notices are what needs attention in a run: failures, surprises, those with one cause as one, and what is unknown. What a baseline knows is none.
func (m Matrix) Notices() []notice {
	var out []notice
	add := func(groups []Group) {
		for _, g := range groups {
			c := g.Worst()
			out = append(out, notice{StatusOf(c), RoundName(c, len(g)), Of(c), c})
		}
	}
	add(m.WithStatus(Failed))
	same, cells, others := Alike(m.WithStatus(Surprise))
	for _, f := range same {
		smallest := cells[f.Places[0].Cell]
		out = append(out, notice{Surprise, CellName(smallest), format.Clean(FindingWords(f, smallest)), smallest})
	}
	add(others)
	add(m.WithStatus(Unknown))
	return out
}
