package lab

import (
	"time"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
)

// progress is told how cells go on, one call at a time. An error keeps further cells from being started.
type progress interface {
	cellStarted(Case) error
	// stormGoesOn tells of a storm, every second, for how long it has lasted and how many operations there were.
	stormGoesOn(c Case, lasted time.Duration, operations int64) error
	cellEnded(record.Cell) error
}

// teller makes the progress of the cells into events.
type teller struct {
	run         *record.Run
	sink        report.Sink
	done, total int
	failFast    bool
}

func (t *teller) tell(kind report.Kind, cell *record.Cell) error {
	return t.sink.Handle(report.Event{Kind: kind, Run: t.run, Cell: cell, Done: t.done, Total: t.total})
}

func (t *teller) cellStarted(c Case) error {
	cell := c.Planned()
	return t.tell(report.CellStart, &cell)
}

func (t *teller) stormGoesOn(c Case, lasted time.Duration, operations int64) error {
	cell := c.Planned()
	cell.Took, cell.Storm.Operations = lasted, int(operations)
	return t.tell(report.StormGoesOn, &cell)
}

func (t *teller) cellEnded(cell record.Cell) error {
	t.done++
	if err := t.tell(report.CellEnd, &cell); err != nil {
		return err
	}
	if came := OutcomeOfCell(cell); t.failFast && (came == Surprise || came == Failed) {
		return errFailFast
	}
	return nil
}

// silent tells nobody.
type silent struct{}

func (silent) cellStarted(Case) error                       { return nil }
func (silent) stormGoesOn(Case, time.Duration, int64) error { return nil }
func (silent) cellEnded(record.Cell) error                  { return nil }
