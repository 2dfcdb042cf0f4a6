package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/rundir"
)

// NoRunError says that there is no run that could be read.
type NoRunError struct {
	Path string
	Err  error
}

func (e *NoRunError) Error() string { return e.Err.Error() }
func (e *NoRunError) Unwrap() error { return e.Err }

// ReadRun reads a saved run, of which it is given the directory or the run.json within it. The error is a *NoRunError.
func ReadRun(path string) (*record.Run, error) {
	run, err := rundir.ReadRun(path)
	if err != nil {
		return nil, &NoRunError{path, err}
	}
	return run, nil
}

// Checked is what came of judging a run again.
type Checked struct {
	Run *record.Run // with the cells that had been begun
	// Differs says of each verdict that is not that of the run in what it differs.
	Differs []error
}

// Check judges the saved histories of a run again, without any server: what was expected is in run.json. A run that was cut short is
// judged for what it had recorded. twice asks for the second opinion. The sink is told as by Run; nil: nobody is. When ctx ends, the error is its cause at once.
func Check(ctx context.Context, dir string, twice bool, sink report.Sink) (*Checked, error) {
	run, err := ReadRun(dir)
	if err != nil {
		return nil, err
	}
	if sink == nil {
		sink = report.Tee()
	}
	histories := HistoriesOf(run)
	checked, err := check(ctx, run, histories, twice, sink)
	return checked, errors.Join(err, histories.Close())
}

func check(ctx context.Context, run *record.Run, histories *Histories, twice bool, sink report.Sink) (*Checked, error) {
	recorded := run.Cells
	run.Command = nil
	if v := Version(); v != run.Lab {
		run.Lab += ", judged again by " + v
	}
	if twice {
		run.Lab += ", judged twice"
	}
	teller := &teller{run: run, sink: sink, total: len(recorded)}
	if err := teller.tell(report.RunStart, nil); err != nil {
		return nil, err
	}
	run.Cells = nil
	out := &Checked{Run: run}
	for _, was := range recorded {
		cell, err := judgeAgain(ctx, run, histories, was, twice)
		if errors.Is(err, fs.ErrNotExist) && !run.Finished {
			continue // never begun
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s/%s: %w; the run has finished, so it must be there", was.Lock, was.Scenario, err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, &NoRunError{run.Dir, err}
		}
		if was.Verdict.Kind != "" && !sameFindings(cell.Verdict, was.Verdict) {
			out.Differs = append(out.Differs, difference(was, cell))
		}
		run.Cells = append(run.Cells, cell)
		if err := teller.cellEnded(cell); err != nil {
			return nil, err
		}
	}
	return out, teller.tell(report.RunEnd, nil)
}

// sameFindings says whether two verdicts rest on the same findings. Wording does not count: it changes from version to version.
func sameFindings(a, b checker.Verdict) bool {
	return a.Kind == b.Kind && a.CheckerFault == b.CheckerFault && slices.EqualFunc(a.Anomalies, b.Anomalies, func(a, b checker.Anomaly) bool {
		return a.Name == b.Name && a.Lock == b.Lock && slices.Equal(a.Clients, b.Clients) && a.At == b.At && slices.Equal(a.Events, b.Events) &&
			(a.Beyond == "") == (b.Beyond == "")
	})
}

// difference words that the checker has changed its mind, or that somebody has changed the history.
func difference(was, now record.Cell) error {
	if was.Verdict.Same(now.Verdict) {
		return fmt.Errorf("%s/%s: the verdict is %q as in the run, but it rests on other events", was.Lock, was.Scenario, now.Verdict)
	}
	return fmt.Errorf("%s/%s: the run said %q, the checker now says %q", was.Lock, was.Scenario, was.Verdict, now.Verdict)
}

// judgeAgain reads the history of a cell and judges it. Where the lab failed there is nothing to judge, and maybe no history.
func judgeAgain(ctx context.Context, run *record.Run, histories *Histories, cell record.Cell, twice bool) (record.Cell, error) {
	if cell.Failure != "" {
		return cell, nil
	}
	file, err := histories.read(ctx, cell)
	if err != nil {
		return cell, err
	}
	now, err := settledUntil(ctx, run, cell, file.Events, twice)
	if err != nil {
		return cell, err
	}
	now.Known = cell.Known && now.Verdict.Same(cell.Verdict)
	return now, nil
}

// settledUntil is Settled. When ctx ends first, the judgement is left to end by itself, and its verdict is dropped: it waits for nothing, and
// changes nothing but its own memory.
func settledUntil(ctx context.Context, run *record.Run, cell record.Cell, events []history.Event, twice bool) (record.Cell, error) {
	done := make(chan record.Cell, 1)
	go func() { done <- Settled(cell, events, run.Elsewhere, twice) }()
	select {
	case now := <-done:
		return now, nil
	case <-ctx.Done():
		return cell, context.Cause(ctx)
	}
}

// ReadCell reads the history of a cell of a run, and judges it. When ctx ends, the error is its cause at once.
func ReadCell(ctx context.Context, run *record.Run, cell record.Cell) (_ record.Cell, _ *history.File, err error) {
	histories := HistoriesOf(run)
	defer func() { err = errors.Join(err, histories.Close()) }()
	file, err := histories.read(ctx, cell)
	if ctx.Err() != nil {
		return cell, nil, context.Cause(ctx)
	}
	if err != nil {
		return cell, nil, &NoRunError{run.Dir, err}
	}
	cell, err = settledUntil(ctx, run, cell, file.Events, false)
	return cell, file, err
}

// RunOf finds the run that a path leads to: the directory of a run, or anything below it. rest is the path from there, empty if it is the
// run itself.
func RunOf(path string) (dir, rest string) {
	for up := filepath.Clean(path); ; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, rundir.RunFile)); err == nil {
			rest, _ := filepath.Rel(up, filepath.Clean(path))
			if rest == "." {
				rest = ""
			}
			return up, rest
		}
		if up == filepath.Dir(up) {
			return path, ""
		}
	}
}
