package screen

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/terminal"
)

// That a stall of the host spoilt a cell before it came out is said, beside the cell and in the sum.
func TestStallsAreShown(t *testing.T) {
	safe := checker.Verdict{Kind: checker.Safe}
	cells := []record.Cell{
		{Lock: "getset", Scenario: "turns", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe},
			Stalls: []string{"the host stalled for 600ms", "the host stalled for 1.1s"}},
		{Lock: "watchdog", Scenario: "turns", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
	}
	require.Equal(t, 1, outcome.Count(cells).Retried)
	require.Contains(t, outcome.Count(cells).String(), "; 1 retried at half speed (host stalled)")
	require.NotContains(t, outcome.Count(cells[1:]).String(), "retried")

	var out bytes.Buffer
	require.NoError(t, New(&out, &bytes.Buffer{}, terminal.Options{Verbose: true}).Handle(report.Event{Kind: report.CellEnd, Cell: &cells[0]}))
	require.Contains(t, out.String(), "- retried at half speed: the host stalled for 600ms\n")
	require.Contains(t, out.String(), "- retried at half speed: the host stalled for 1.1s\n")
}
