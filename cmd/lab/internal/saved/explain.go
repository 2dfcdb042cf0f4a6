package saved

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/look"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
)

// Explain is lab explain.
func Explain() *cobra.Command {
	round, asJSON := 0, false
	cmd := &cobra.Command{
		Use:   "explain NAME|DIR [LOCK/SCENARIO]",
		Short: "Explain a name, or what happened in a cell of a run",
		Long: `Explain explains a name that "lab list" prints: an anomaly, a fault, a lock, a
scenario, a promise, a source, an exit code, a verdict, a workload, a capability
that faults need, or a word of a script.

It plays a short cell in the model that shows the thing. It says why that
happens, which locks stop it by the reviewed matrix, and which only seem to. If
things of several kinds have the name, the kind that comes first in the list
above is explained; KIND/NAME chooses another one, as in scenario/clock-ahead.
With --json it prints all that is known.

If the argument is the directory of a run, explain prints one cell of that run:
what went wrong in one sentence, then every step, with a lane for each client,
operations, faults, the commands that reached the server, and what each did to
the lock. Each anomaly names the events that show it, and what it follows from.

Without LOCK/SCENARIO it prints a surprise, if the run has one, or else another
telling cell. Without --round it prints the first round that was a surprise, or
else the first round. With --json it leaves out no event.`,
		Example: `  lab explain double-holder
  lab explain setpx-lua
  lab explain scenario/clock-ahead
  lab explain runs/latest setpx-del/pause-past-lease
  lab explain runs/latest setpx-del/pause-past-lease --round 3
  lab explain runs/latest setpx-del/pause-past-lease --json`,
		Args:              oneRun,
		ValidArgsFunction: look.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if e, err := look.NamedEntry(cmd, args); err != nil || e != nil {
				if e != nil && cmd.Flags().Changed("round") {
					err = cli.Usagef("--round is for a cell of a run, and %s is a name", args[0])
				}
				if err != nil {
					return err
				}
				return look.ExplainName(cmd.Context(), cmd.OutOrStdout(), cli.Width(cmd.OutOrStdout()), e, asJSON)
			}
			cli.CollectMore()
			run, err := Read(args[0])
			if err != nil {
				return naming.UnknownRun(strings.Join(args, " "), err)
			}
			names := args[1:]
			if len(names) == 0 && len(run.Cells) > 1 {
				names = []string{naming.Cell(mostTelling(run.Cells))}
			}
			cell, err := pickCell(run, names, round)
			if err != nil {
				return err
			}
			cell, file, err := readHistory(cmd.Context(), run, cell)
			if err != nil {
				return err
			}
			text, err := textOf(cmd.Context(), func(w io.Writer) error {
				if asJSON {
					return diagram.ExplainJSON(w, cell, file.Events)
				}
				opts := cli.Terminal(cmd)
				return diagram.Explain(w, cell, file.Events, diagram.ExplainOptions{Width: opts.Width, Color: opts.Color})
			})
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().IntVar(&round, "round", 0, "explain round `N` of a cell that was run several times")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object, with all events of the cell")
	return cmd
}

// textOf is a text that may take long to write. When ctx ends first, which may be in the middle of it, there is no text, and the error is its cause.
func textOf(ctx context.Context, write func(io.Writer) error) ([]byte, error) {
	var text bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- write(&text) }()
	select {
	case err := <-done:
		if ctx.Err() == nil {
			return text.Bytes(), err
		}
	case <-ctx.Done():
	}
	return nil, context.Cause(ctx)
}

// readHistory reads and judges the history of a cell.
func readHistory(ctx context.Context, run *record.Run, cell record.Cell) (record.Cell, *history.File, error) {
	cell, file, err := lab.ReadCell(ctx, run, cell)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s was not started in this run: %w", naming.Cell(cell), err)
	}
	return cell, file, err
}

// mostTelling is the cell of a run that shows most: a surprise before what was expected, then that with the most kinds of anomalies, then the first.
func mostTelling(cells []record.Cell) record.Cell {
	tells := func(c record.Cell) int {
		if c.Surprise() {
			return 1000 + len(c.Verdict.Names())
		}
		return len(c.Verdict.Names())
	}
	return slices.MaxFunc(cells, func(a, b record.Cell) int { return tells(a) - tells(b) })
}

// pickCell finds the cell that the user named, in a round or, if that is 0, in the one that needs attention. A run of one cell needs no name.
func pickCell(run *record.Run, names []string, round int) (record.Cell, error) {
	if len(names) > 1 {
		return record.Cell{}, cli.Usagef("explain takes one cell, not %d", len(names))
	}
	if len(run.Cells) == 0 {
		return record.Cell{}, cli.Usagef("%s: no cell of this run was started", run.Dir)
	}
	if len(names) == 0 && len(run.Cells) == 1 && round == 0 {
		return run.Cells[0], nil
	}
	known := cli.Map(run.Cells, naming.Cell)
	if len(names) == 0 {
		return record.Cell{}, cli.Usagef("which cell of this run? For example: %s", strings.Join(known[:min(3, len(known))], ", "))
	}
	var rounds []record.Cell
	for i, name := range known {
		lock, scenario, _ := strings.Cut(name, "/")
		if names[0] == name || names[0] == scenario+"/"+lock {
			rounds = append(rounds, run.Cells[i])
		}
	}
	if len(rounds) == 0 {
		return record.Cell{}, naming.UnknownCell(names[0], known)
	}
	i := slices.IndexFunc(rounds, func(c record.Cell) bool { return round == 0 && c.Surprise() || round != 0 && c.Round == round })
	if i < 0 && round != 0 {
		return record.Cell{}, cli.Usagef("%s has no round %d; it was run %d times", names[0], round, len(rounds))
	}
	return rounds[max(i, 0)], nil
}
