package saved

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
)

// Ctrl-C while a long history is written as text: nothing is printed, and nobody waits for the rest.
func TestExplainIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	events := make([]history.Event, 50_000)
	for i := range events {
		events[i] = history.Event{Kind: history.KindStep, Detail: &history.Detail{Line: 1, Text: "a step"}}
	}
	signal := &cli.Interrupted{Signal: os.Interrupt}
	cancel(signal)
	text, err := textOf(ctx, func(w io.Writer) error {
		return diagram.Explain(w, record.Cell{}, events, diagram.ExplainOptions{})
	})
	require.ErrorIs(t, err, signal)
	require.Empty(t, text)
}

// Of several rounds, the one that was a surprise is what the user wants to see.
func TestExplainedRound(t *testing.T) {
	safe := checker.Verdict{Kind: checker.Safe}
	expected := record.Expectation{Verdict: safe, By: record.ByMatrix}
	cell := func(round int, v checker.Verdict) record.Cell {
		return record.Cell{Lock: "getset", Scenario: "take-turns", Round: round, Verdict: v, Expected: expected}
	}
	broken := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.DoubleHolder}}}
	run := &record.Run{Cells: []record.Cell{cell(1, safe), cell(2, broken), cell(3, safe)}}
	for round, want := range map[int]int{0: 2, 1: 1, 2: 2, 3: 3} {
		picked, err := pickCell(run, []string{"getset/take-turns"}, round)
		require.NoError(t, err)
		assert.Equal(t, want, picked.Round)
	}
	_, err := pickCell(run, []string{"getset/take-turns"}, 4)
	require.ErrorContains(t, err, "no round 4")
	run.Cells[1].Verdict = safe
	picked, err := pickCell(run, []string{"getset/take-turns"}, 0)
	require.NoError(t, err)
	assert.Equal(t, 1, picked.Round)
}
