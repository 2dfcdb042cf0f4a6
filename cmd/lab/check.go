package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/report"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/scenarios/storm"
)

func newCheck() *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Judge the saved histories of a run again, without any server",
		Long: `Check reads DIR/run.json and the histories below DIR and judges them again. It
needs neither the sources nor a server: what was expected is in run.json. A run
that was cut short can be checked as well, for what it had recorded.

It exits like the run, and with 3 if a verdict differs from the one that the run
gave. A run that was cut short never exits with 0.`,
		Example: "  lab check runs/latest",
		Args:    oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return check(cmd, args[0], asJSON, verbose)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON event a line instead of text")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "say of each cell why it was accused")
	return cmd
}

func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs the directory of a run, for example: %s runs/latest", cmd.Name(), cmd.CommandPath())
	}
	if len(args) > 1 && cmd.Name() == "check" {
		return usagef("check takes one directory, not %d", len(args))
	}
	return nil
}

// readRun reads the run that the user named.
func readRun(path string) (*checker.Run, error) {
	run, err := report.ReadRun(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("no run there: %v; name its directory, for example runs/latest", err)
	}
	if err != nil {
		return nil, usagef("%v", err)
	}
	return run, nil
}

func check(cmd *cobra.Command, path string, asJSON, verbose bool) error {
	run, err := readRun(path)
	if err != nil {
		return err
	}
	recorded := run.Cells
	run.Command = nil
	var sink report.Sink
	if asJSON {
		sink = report.NewJSON(cmd.OutOrStdout())
	} else {
		opts := terminalOptions(cmd)
		opts.Verbose = verbose
		sink = report.NewTerminal(cmd.OutOrStdout(), cmd.ErrOrStderr(), opts)
	}
	teller := &teller{run: run, sink: sink, total: len(recorded), known: func(c checker.Cell) bool { return c.Known }}
	if err := teller.tell(report.RunStart, nil); err != nil {
		return err
	}
	run.Cells = nil
	var differ []error
	for _, was := range recorded {
		cell, err := judgeAgain(run.Dir, was)
		if errors.Is(err, fs.ErrNotExist) && !run.Finished {
			continue // never begun
		}
		if errors.Is(err, fs.ErrNotExist) {
			return usagef("%s/%s: %v; the run has finished, so it must be there", was.Lock, was.Scenario, err)
		}
		if err != nil {
			return usagef("%v", err)
		}
		if run.Finished && !reflect.DeepEqual(cell.Verdict, was.Verdict) {
			differ = append(differ, difference(was, cell))
		}
		run.Cells = append(run.Cells, cell)
		if err := teller.CellEnded(cell); err != nil {
			return err
		}
	}
	if err := teller.tell(report.RunEnd, nil); err != nil {
		return err
	}
	if len(differ) > 0 {
		return errors.Join(differ...)
	}
	if len(run.Cells) == 0 {
		return &nothingError{fmt.Sprintf("nothing to judge: no cell of %s was begun", run.Dir)}
	}
	return conclude(run.Cells, len(recorded))
}

// difference words that the checker has changed its mind, or that somebody has changed the history.
func difference(was, now checker.Cell) error {
	if was.Verdict.Same(now.Verdict) {
		return fmt.Errorf("%s/%s: the verdict is %q as in the run, but its reasons differ", was.Lock, was.Scenario, now.Verdict)
	}
	return fmt.Errorf("%s/%s: the run said %q, the checker now says %q", was.Lock, was.Scenario, was.Verdict, now.Verdict)
}

// judgeAgain reads the history of a cell and judges it. Where the lab failed there is nothing to judge, and maybe no history.
func judgeAgain(dir string, cell checker.Cell) (checker.Cell, error) {
	if cell.Failure != "" {
		return cell, nil
	}
	file, err := history.ReadFile(historyPath(dir, cell))
	if err != nil {
		return cell, err
	}
	now := judged(cell, file.Events)
	now.Known = cell.Known && now.Verdict.Same(cell.Verdict)
	return now, nil
}

// judged is the cell with the verdict that its history deserves.
func judged(cell checker.Cell, events []history.Event) checker.Cell {
	cell.Data = checker.Tally(events)
	if cell.Storm == nil {
		cell.Verdict = checker.Conclude(events, checker.Options{})
		return cell
	}
	cell.Verdict, cell.Storm = storm.Conclude(events, storm.CreedIn(cell.Expected), *cell.Storm)
	return cell
}

func historyPath(dir string, cell checker.Cell) string {
	return filepath.Join(dir, cell.Dir, cells.HistoryFile)
}

// page renders a run as HTML with a picture of the cells that need one.
func page(dir string) func(io.Writer, *checker.Run) error {
	return func(w io.Writer, run *checker.Run) error {
		return report.HTML(w, run, func(cell checker.Cell) ([]history.Event, error) {
			file, err := history.ReadFile(historyPath(dir, cell))
			if err != nil {
				return nil, err
			}
			return file.Events, nil
		})
	}
}
