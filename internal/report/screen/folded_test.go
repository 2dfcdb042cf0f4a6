package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/terminal"
)

// naCell is n/a, as expected or as a surprise.
func naCell(lock, scenario, reason string, expected bool) record.Cell {
	c := record.Cell{Lock: lock, Scenario: scenario, Round: 1, Verdict: checker.Verdict{Kind: checker.NotApplicable, Reason: reason}}
	c.Expected = record.Expectation{Verdict: c.Verdict, By: "matrix"}
	if !expected {
		c.Expected.Verdict = checker.Verdict{Kind: checker.Safe}
	}
	return c
}

// screenOf is what a terminal shows of a finished run.
func screenOf(t *testing.T, opts terminal.Options, cells []record.Cell) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, New(&out, &bytes.Buffer{}, opts).Handle(report.Event{Kind: report.RunEnd, Run: &record.Run{Cells: cells, Finished: true}, Total: len(cells)}))
	return out.String()
}

// TestAbsentLocksAreOneLine: a scenario in which most locks are n/a shows those that are not, and one line about the others.
func TestAbsentLocksAreOneLine(t *testing.T) {
	t.Parallel()
	safe := record.Cell{Lock: "held", Scenario: "race", Round: 1, Verdict: checker.Verdict{Kind: checker.Safe}}
	cells := []record.Cell{safe, naCell("strange", "race", "", false)}
	for i := range 29 {
		reason := [...]string{"the lock does not renew itself", "the lock uses one server", "its acquire sends no GETSET"}[min(i/14, 2)]
		cells = append(cells, naCell(fmt.Sprintf("lock-%d", i), "race", reason, true))
	}
	for _, width := range []int{60, 80, 120} {
		out := screenOf(t, terminal.Options{Width: width}, cells)
		assert.Contains(t, out, "held ")
		assert.Contains(t, out, "strange", "a surprise is shown")
		assert.NotContains(t, out, "lock-")
		assert.Equal(t, 1, strings.Count(out, "  n/a  "), out)
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "  n/a ") {
				assert.LessOrEqual(t, utf8.RuneCountInString(line), width, line)
				assert.Contains(t, line, "; see -v\n")
			}
		}
	}
	assert.Contains(t, screenOf(t, terminal.Options{Width: 120}, cells),
		"  n/a     29 of 31 locks: the lock does not renew itself (14), the lock uses one server (14), …; see -v\n")
	assert.Contains(t, screenOf(t, terminal.Options{Width: 80}, cells), "  n/a     29 of 31 locks: the lock does not renew itself (14), …; see -v\n")
}

// TestAbsentScenariosAreOneLine: so does a lock that most scenarios do not fit. What is n/a here and not there stays in the table.
func TestAbsentScenariosAreOneLine(t *testing.T) {
	t.Parallel()
	var cells []record.Cell
	for i := range 20 {
		scenario := fmt.Sprintf("race-%d", i)
		if i < 3 {
			cells = append(cells, record.Cell{Lock: "a", Scenario: scenario, Verdict: checker.Verdict{Kind: checker.Safe}}, naCell("b", scenario, "the lock has no lease", true))
			continue
		}
		cells = append(cells, naCell("a", scenario, "the lock has no lease", true))
	}
	out := screenOf(t, terminal.Options{Width: 100}, cells)
	assert.Contains(t, out, "  n/a     1 of 2 locks and 17 of 20 scenarios: the lock has no lease (20); see -v\n")
	assert.NotContains(t, out, "race-3 ")
	all := screenOf(t, terminal.Options{Width: 100}, cells[6:])
	assert.Contains(t, all, "  n/a     1 of 1 lock and 17 of 17 scenarios: the lock has no lease (17); see -v\n")
}
