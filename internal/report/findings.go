package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/findings"
	"github.com/locklab/locklab/internal/record"
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

// alike are surprises with one cause in several cells, those in most first, and the others.
func alike(surprises []group) (same []findings.Finding, cells []record.Cell, others []group) {
	for _, g := range surprises {
		cells = append(cells, g.worst())
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

// surprises lists what came out otherwise than expected: what has one cause in several cells as one finding, with the smallest of them.
func (t *Terminal) surprises(b *strings.Builder, run *record.Run, groups []group) {
	same, cells, others := alike(groups)
	if len(same) == 0 {
		t.list(b, "Surprises", run, groups)
		return
	}
	fmt.Fprintf(b, "%s\n", t.paint.bold("Surprises"))
	for _, f := range same {
		smallest := cells[f.Places[0].Cell]
		line := fmt.Sprintf("%s: %s", f.Lock, findingWords(f, smallest))
		fmt.Fprintf(b, "  %s %s\n", mark(statusSurprise), strings.Join(wrap(clean(line), t.opts.Width-5), "\n     "))
		if run.Dir != "" {
			t.explainLine(b, run, smallest)
		}
		fmt.Fprintf(b, "     %s\n", strings.Join(wrap(clean(alsoWords(f, cells)), t.opts.Width-5), "\n     "))
	}
	if len(others) > 0 {
		t.list(b, "Others", run, others)
		return
	}
	b.WriteString("\n")
}

// findingWords are a finding in one line.
func findingWords(f findings.Finding, smallest record.Cell) string {
	return fmt.Sprintf("%s, in %s; smallest: %s", f.Cause, plural(len(f.Places), "scenario", "scenarios"), smallest.Scenario)
}

// alsoWords lists the places of a finding but for the smallest.
func alsoWords(f findings.Finding, cells []record.Cell) string {
	var names []string
	for _, p := range f.Places[1:min(len(f.Places), maxListed)] {
		names = append(names, cells[p.Cell].Scenario)
	}
	words := "also " + strings.Join(names, ", ")
	if more := len(f.Places) - maxListed; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words
}

// notice is something that came out otherwise than expected, or not at all.
type notice struct {
	status     status
	name, text string
	cell       record.Cell // that shows it
}

// notices are what needs attention in a run: failures, surprises, those with one cause as one, and what is unknown. What a baseline knows is none.
func (m matrix) notices() []notice {
	var out []notice
	add := func(groups []group) {
		for _, g := range groups {
			c := g.worst()
			out = append(out, notice{statusOf(c), roundName(c, len(g)), outcome(c), c})
		}
	}
	add(m.withStatus(statusFailed))
	same, cells, others := alike(m.withStatus(statusSurprise))
	for _, f := range same {
		smallest := cells[f.Places[0].Cell]
		out = append(out, notice{statusSurprise, cellName(smallest), clean(findingWords(f, smallest)), smallest})
	}
	add(others)
	add(m.withStatus(statusUnknown))
	return out
}
