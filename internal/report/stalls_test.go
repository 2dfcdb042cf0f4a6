package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// That a stall of the host spoilt a cell before it came out is said, beside the cell and in the sum.
func TestStallsAreShown(t *testing.T) {
	safe := checker.Verdict{Kind: checker.Safe}
	cells := []record.Cell{
		{Lock: "getset", Scenario: "turns", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe},
			Stalls: []string{"the host stalled for 600ms", "the host stalled for 1.1s"}},
		{Lock: "watchdog", Scenario: "turns", Round: 1, Verdict: safe, Expected: record.Expectation{Verdict: safe}},
	}
	require.Equal(t, 1, countCells(cells).Retried)
	require.Contains(t, countCells(cells).String(), "; 1 retried at half speed (host stalled)")
	require.NotContains(t, countCells(cells[1:]).String(), "retried")

	var out bytes.Buffer
	require.NoError(t, NewTerminal(&out, &bytes.Buffer{}, TerminalOptions{Verbose: true}).Handle(Event{Kind: CellEnd, Cell: &cells[0]}))
	require.Contains(t, out.String(), "- retried at half speed: the host stalled for 600ms\n")
	require.Contains(t, out.String(), "- retried at half speed: the host stalled for 1.1s\n")
}
