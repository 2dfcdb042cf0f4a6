package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/terminal"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
)

// TestErrorsOfOthersMoveNoCursor: what a server or a client says may reach an error of the lab.
func TestErrorsOfOthersMoveNoCursor(t *testing.T) {
	root := &cobra.Command{Use: "lab", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		return errors.New("redis at host: ERR \x1b]0;title\x07\x1b[31mred\r\u202e\nsecond \xff line")
	}}
	var out, stderr strings.Builder
	assert.Equal(t, codeFailed, execute(context.Background(), root, nil, strings.NewReader(""), &out, &stderr))
	assert.Equal(t, "lab: redis at host: ERR \\x1b]0;title\\x07\\x1b[31mred\\x0d\\u202e\nlab: second \\xff line\n", stderr.String())
}

func TestReplaysOfOthersMoveNoCursor(t *testing.T) {
	var out, stderr strings.Builder
	screen := &replayScreen{out: &out, err: &stderr, count: 1, of: 1, meter: terminal.NewMeter(&stderr, terminal.Options{}, true)}
	screen.played(lab.Played{Replay: &lab.Replay{Counterexample: reproduce.Counterexample{}}, Cell: record.Cell{Failure: "ERR \x1b[31mred"}})
	assert.NotContains(t, stderr.String(), "\x1b")
	assert.Contains(t, stderr.String(), `ERR \x1b[31mred`)
}
