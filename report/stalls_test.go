package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
)

// That the machine spoilt a cell before it came out is said, beside the cell and in the sum.
func TestStallsAreTold(t *testing.T) {
	safe := checker.Verdict{Kind: checker.Safe}
	cells := []checker.Cell{
		{Lock: "getset", Scenario: "turns", Round: 1, Verdict: safe, Expected: checker.Expected{Verdict: safe},
			Stalls: []string{"the machine stood still for 600ms", "the machine stood still for 1.1s"}},
		{Lock: "watchdog", Scenario: "turns", Round: 1, Verdict: safe, Expected: checker.Expected{Verdict: safe}},
	}
	require.Equal(t, 1, countCells(cells).BegunAnew)
	require.Contains(t, countCells(cells).String(), "; 1 begun anew at half the pace, because the machine stood still")
	require.NotContains(t, countCells(cells[1:]).String(), "begun anew")

	var out bytes.Buffer
	require.NoError(t, NewTerminal(&out, &bytes.Buffer{}, TerminalOptions{}).Handle(Event{Kind: CellEnd, Cell: &cells[0]}))
	require.Contains(t, out.String(), "- begun anew at half the pace: the machine stood still for 600ms\n")
	require.Contains(t, out.String(), "- begun anew at half the pace: the machine stood still for 1.1s\n")
}
