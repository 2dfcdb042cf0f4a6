package screen

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/terminal"
)

// TestUnknownCellsOfOneReason: a bad adapter makes every cell unknown for one reason. A few of them are listed, with the command that checks an adapter.
func TestUnknownCellsOfOneReason(t *testing.T) {
	t.Parallel()
	var cells []record.Cell
	for n := range 6 {
		cells = append(cells, record.Cell{
			Lock: "mine", Scenario: fmt.Sprintf("race-%d", n), Client: []string{"/bin/sh", "-c", "python3 mine.py"},
			Verdict: checker.Verdict{Kind: checker.Undecided, Reason: "C1: no protocol message"},
		})
	}
	cells[5].Verdict.Reason = "another one"
	var out bytes.Buffer
	terminal := New(&out, &bytes.Buffer{}, terminal.Options{Prefix: "lab"})
	require.NoError(t, terminal.Handle(report.Event{Kind: report.RunEnd, Run: &record.Run{Dir: "r", Cells: cells, Finished: true}, Total: len(cells)}))
	assert.Contains(t, out.String(), `
     lab explain r mine/race-2
  ?? mine/race-5                         another one
     lab explain r mine/race-5
     and 2 more for the same reasons
`)
	assert.Contains(t, out.String(), `
  explain  lab explain r mine/race-0
  adapter  lab doctor --client 'python3 mine.py'
`)
}
