package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	internal "github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// Run is what came of a suite or of storms.
type Run struct {
	Dir      string // where it was saved; empty: nowhere
	World    World
	Server   string // what the clients locked on, with its version
	Started  time.Time
	Finished bool // false: it was interrupted, and cells are missing
	Cells    []Cell

	record record.Run
}

// Cell is one lock in one scenario or storm, run once.
type Cell struct {
	Lock     string
	Scenario string // "storm" for a storm
	Round    int    // from 1, when cells are repeated
	Verdict  checker.Verdict
	// Expected is the verdict that was expected, with the names of anomalies alone. Its kind is empty where anything is: a lock that is known to be
	// broken, in a scenario that was not reviewed.
	Expected checker.Verdict
	Outcome  Outcome
	Took     time.Duration

	record record.Cell
}

// Outcome compares what came out with what was expected.
type Outcome string

// The outcomes, the worst first.
const (
	Failed        Outcome = "failed"         // the lab, its checker or a server failed
	Surprise      Outcome = "surprise"       // a lock broke that should hold, or held where it should break
	Unknown       Outcome = "unknown"        // no verdict, or cells are missing
	AsExpected    Outcome = "as expected"    //
	NotApplicable Outcome = "not applicable" // no cell applies to its lock
)

// outcomeOf is an outcome of the library below.
func outcomeOf(outcome internal.Outcome) Outcome {
	switch outcome {
	case internal.AsExpected:
		return AsExpected
	case internal.Surprise:
		return Surprise
	case internal.Unknown:
		return Unknown
	case internal.Nothing:
		return NotApplicable
	}
	return Failed
}

// ReadRun reads a saved run from its directory.
func ReadRun(dir string) (*Run, error) {
	run, err := internal.ReadRun(dir)
	return newRun(run), err
}

func newRun(record *record.Run) *Run {
	if record == nil {
		return nil
	}
	run := &Run{
		Dir: record.Dir, World: World(record.World), Server: record.Server, Started: record.Started, Finished: record.Finished, record: *record,
	}
	for _, cell := range record.Cells {
		run.Cells = append(run.Cells, newCell(cell))
	}
	return run
}

func newCell(record record.Cell) Cell {
	return Cell{
		Lock: record.Lock, Scenario: record.Scenario, Round: record.Round, Verdict: record.Verdict, Expected: record.Expected.Verdict,
		Outcome: outcomeOf(internal.OutcomeOfCell(record)), Took: record.Took, record: record,
	}
}

// Outcome is the worst outcome of the cells. A run that has not finished is unknown at best.
func (r *Run) Outcome() Outcome { return outcomeOf(internal.OutcomeOf(&r.record)) }

// Cell is the first cell of a lock in a scenario. The error names what the run has instead.
func (r *Run) Cell(lock, scenario string) (Cell, error) {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Lock == lock && c.Scenario == scenario })
	if i < 0 {
		return Cell{}, fmt.Errorf("the run has no cell of %s in %s among its %d", lock, scenario, len(r.Cells))
	}
	return r.Cells[i], nil
}

// History reads the saved history of a cell, and judges it again: the cell that it returns has the verdict of today's checker.
func (r *Run) History(ctx context.Context, cell Cell) (Cell, []history.Event, error) {
	again, file, err := internal.ReadCell(ctx, &r.record, cell.record)
	if err != nil {
		return newCell(again), nil, err
	}
	return newCell(again), file.Events, nil
}

// Shrink makes a short script of what a saved cell of a lock shows, mostly of a storm. The script shows one of its anomalies in the sim world, those
// first that break a promise. It is nil if none can be forced.
func (r *Run) Shrink(ctx context.Context, cell Cell, lock impls.Spec) (*scenarios.Script, error) {
	cell, events, err := r.History(ctx, cell)
	if err != nil {
		return nil, err
	}
	shrunk, err := internal.Shrink(ctx, internal.ShrinkPlan{
		Subject: play.SubjectOf(lock), Events: events, Anomalies: internal.AnomaliesToShow(cell.Verdict, ""), Lease: time.Second, Setting: internal.Setting{World: internal.Sim},
	})
	if err != nil {
		return nil, err
	}
	return shrunk.Script, nil
}
