package screen

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
)

// surprises lists what came out otherwise than expected: what has one cause in several cells as one finding, with the smallest of them.
func (t *Screen) surprises(b *strings.Builder, run *record.Run, groups []outcome.Group) {
	same, cells, others := outcome.Alike(groups)
	if len(same) == 0 {
		t.list(b, "Surprises", run, groups)
		return
	}
	fmt.Fprintf(b, "%s\n", t.paint.Bold("Surprises"))
	for _, f := range same {
		smallest := cells[f.Places[0].Cell]
		line := fmt.Sprintf("%s: %s", f.Lock, outcome.FindingWords(f, smallest))
		fmt.Fprintf(b, "  %s %s\n", outcome.Surprise.Mark(), strings.Join(format.Fit(format.Clean(line), t.opts.Width-5), "\n     "))
		if run.Dir != "" {
			t.explainLine(b, run, smallest)
		}
		fmt.Fprintf(b, "     %s\n", strings.Join(format.Fit(format.Clean(outcome.AlsoWords(f, cells)), t.opts.Width-5), "\n     "))
	}
	if len(others) > 0 {
		t.list(b, "Others", run, others)
		return
	}
	b.WriteString("\n")
}
