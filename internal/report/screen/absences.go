package screen

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
)

// mostAbsences is how many reasons are listed.
const mostAbsences = 5

// absentFrom counts why scenarios did not apply to clients of the user's own.
func absentFrom(cells []record.Cell) map[string]int {
	counts := map[string]int{}
	for _, c := range cells {
		if len(c.Client) > 0 && c.Verdict.Kind == checker.NotApplicable {
			counts[c.Verdict.Reason]++
		}
	}
	return counts
}

// absences says why scenarios did not apply to clients of the user's own, the most frequent reason first: what the client could do besides may make
// many of them apply. Of the lab's own locks that is in the reviewed matrix.
func (t *Screen) absences(b *strings.Builder, cells []record.Cell) {
	counts := absentFrom(cells)
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n", t.paint.Bold("Not applicable, and why"))
	reasons := byFrequency(counts)
	for i, reason := range reasons {
		if i == mostAbsences {
			fmt.Fprintf(b, "       and %s\n", format.Plural(len(reasons)-i, "other reason", "other reasons"))
			break
		}
		lines := format.Fit(format.Clean(reason), max(20, t.opts.Width-7))
		fmt.Fprintf(b, "  %3d  %s\n", counts[reason], strings.Join(lines, "\n       "))
	}
	b.WriteString("\n")
}
