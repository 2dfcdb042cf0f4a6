package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/report"
	"github.com/locklab/locklab/scenarios/cells"
)

// run carries lab run out.
func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.settleWorld(cmd); err != nil {
		return err
	}
	plan, err := f.plan(args)
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("seed") {
		f.seed = rand.Int64N(1 << 31)
	}
	return f.carryOut(cmd, plan)
}

// carryOut runs what is planned.
func (f *runFlags) carryOut(cmd *cobra.Command, plan *plan) error {
	run := f.newRecord(plan.cases)
	results, err := makeResults(run.Dir)
	if err != nil {
		return err
	}
	world, sink, err := f.prepare(cmd, run)
	if err != nil {
		return errors.Join(err, results.discard())
	}
	err = f.play(cmd, world, sink, run, plan)
	return errors.Join(err, world.Close())
}

// play runs the cells and reports them as they end.
func (f *runFlags) play(cmd *cobra.Command, world world, sink report.Sink, run *checker.Run, plan *plan) error {
	run.Server, run.Toxiproxy = world.ServerVersion(), world.ToxiproxyVersion()
	if err := report.WriteRun(run.Dir, run); err != nil {
		return err
	}
	if err := pointLatest(run, f.out == ""); err != nil {
		return err
	}
	planned := run.Cells
	teller := &teller{run: run, total: len(planned), sink: sink, known: plan.known, failFast: f.failFast}
	if err := teller.tell(report.RunStart, nil); err != nil {
		return err
	}
	run.Cells = nil
	ended, err := cells.RunAll(cmd.Context(), plan.cases, cells.Order{Parallel: f.parallel, Seed: f.seed}, teller, world.Run)
	if err != nil && !errors.Is(err, errFailFast) {
		return err
	}
	for i := range ended {
		ended[i].Known = plan.known(ended[i])
	}
	run.Cells, run.Finished = withEnded(planned, ended), len(ended) == len(planned)
	err = report.WriteRun(run.Dir, run)
	run.Cells = ended
	if err := errors.Join(err, teller.tell(report.RunEnd, nil)); err != nil {
		return err
	}
	if cause := context.Cause(cmd.Context()); cause != nil {
		return cause
	}
	if f.update {
		if err := accept(cmd.ErrOrStderr(), plan.matrix, ended); err != nil {
			return err
		}
	}
	return conclude(ended, len(planned))
}

// withEnded is every planned cell, as it ended if it did: a run that was cut short keeps what it was at, for lab check.
func withEnded(planned, ended []checker.Cell) []checker.Cell {
	byDir := map[string]checker.Cell{}
	for _, cell := range ended {
		byDir[cell.Dir] = cell
	}
	all := slices.Clone(planned)
	for i := range all {
		if cell, ok := byDir[all[i].Dir]; ok {
			all[i] = cell
		}
	}
	return all
}

// sinks are the reports that were asked for.
func (f *runFlags) sinks(cmd *cobra.Command, run *checker.Run) (report.Sink, error) {
	sinks := []report.Sink{
		f.screen(cmd),
		toFile(filepath.Join(run.Dir, "junit.xml"), report.JUnit),
		toFile(filepath.Join(run.Dir, "report.html"), page(run.Dir)),
	}
	if f.junit != "" {
		file, err := os.Create(f.junit)
		if err != nil {
			return nil, usagef("--junit: %v", plainly(err))
		}
		sinks = append(sinks, report.AtEnd(func(run *checker.Run) error {
			return errors.Join(report.JUnit(file, run), file.Close())
		}))
	}
	return report.Tee(sinks...), nil
}

func (f *runFlags) screen(cmd *cobra.Command) report.Sink {
	if f.json {
		return report.NewJSON(cmd.OutOrStdout())
	}
	opts := terminalOptions(cmd)
	opts.Verbose = f.verbose
	return report.NewTerminal(cmd.OutOrStdout(), cmd.ErrOrStderr(), opts)
}

// toFile renders the whole run into a file when it has ended.
func toFile(path string, render func(io.Writer, *checker.Run) error) report.Sink {
	return report.AtEnd(func(run *checker.Run) error {
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		return errors.Join(render(file, run), file.Close())
	})
}
