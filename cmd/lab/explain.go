package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/lab"
)

func newExplain() *cobra.Command {
	round := 0
	cmd := &cobra.Command{
		Use:   "explain DIR [LOCK/SCENARIO]",
		Short: "Print what happened in a cell, step by step",
		Long: `Explain prints one cell of a saved run as a table with a column for each client
and the servers: operations, faults, the commands that reached the server, and
what each did to the lock. Each anomaly names the events that show it.

Of a cell that was run several times, it prints the first round that was a
surprise, or else the first.`,
		Example: `  lab explain runs/latest setpx-del/pause-past-lease
  lab explain runs/latest setpx-del/pause-past-lease --round 3`,
		Args:              oneRun,
		ValidArgsFunction: completeCells,
		RunE: func(cmd *cobra.Command, args []string) error {
			collectMore()
			run, err := readRun(args[0])
			if err != nil {
				return err
			}
			cell, err := pickCell(run, args[1:], round)
			if err != nil {
				return err
			}
			cell, events, err := lab.ReadCell(cmd.Context(), run, cell)
			if errors.Is(err, fs.ErrNotExist) {
				return usagef("%s/%s was not started in this run: %v", cell.Lock, cell.Scenario, err)
			}
			if err != nil {
				return err
			}
			opts := terminalOptions(cmd)
			return explainUntil(cmd.Context(), cmd.OutOrStdout(), cell, events, report.ExplainOptions{Width: opts.Width, Color: opts.Color})
		},
	}
	cmd.Flags().IntVar(&round, "round", 0, "explain round `N` of a cell that was run several times")
	return cmd
}

// explainUntil explains a cell. When ctx ends first, which may be in the middle of a long history, the error is its cause, and nothing is written.
func explainUntil(ctx context.Context, w io.Writer, cell checker.Cell, events []history.Event, opts report.ExplainOptions) error {
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- report.Explain(&out, cell, events, opts) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		_, err = out.WriteTo(w)
	}
	return err
}

// pickCell finds the cell that the user named, in a round or, if that is 0, in the one that needs attention. A run of one cell needs no name.
func pickCell(run *checker.Run, names []string, round int) (checker.Cell, error) {
	if len(names) > 1 {
		return checker.Cell{}, usagef("explain takes one cell, not %d", len(names))
	}
	if len(run.Cells) == 0 {
		return checker.Cell{}, usagef("%s: no cell of this run was started", run.Dir)
	}
	if len(names) == 0 && len(run.Cells) == 1 && round == 0 {
		return run.Cells[0], nil
	}
	var known []string
	for _, cell := range run.Cells {
		known = append(known, cell.Lock+"/"+cell.Scenario)
	}
	if len(names) == 0 {
		return checker.Cell{}, usagef("which cell of this run? For example: %s", strings.Join(known[:min(3, len(known))], ", "))
	}
	var rounds []checker.Cell
	for i, name := range known {
		lock, scenario, _ := strings.Cut(name, "/")
		if names[0] == name || names[0] == scenario+"/"+lock {
			rounds = append(rounds, run.Cells[i])
		}
	}
	if len(rounds) == 0 {
		return checker.Cell{}, unknownCell(names[0], known)
	}
	i := slices.IndexFunc(rounds, func(c checker.Cell) bool { return round == 0 && c.Surprise() || round != 0 && c.Round == round })
	if i < 0 && round != 0 {
		return checker.Cell{}, usagef("%s has no round %d; it was run %d times", names[0], round, len(rounds))
	}
	return rounds[max(i, 0)], nil
}
