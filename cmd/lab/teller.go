package main

import (
	"errors"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/report"
	"github.com/locklab/locklab/scenarios/cells"
)

// errFailFast keeps further cells from being started.
var errFailFast = errors.New("--fail-fast")

// teller passes the progress of the cells on to the reports.
type teller struct {
	run         *checker.Run
	sink        report.Sink
	done, total int
	known       surprises
	failFast    bool
}

func (t *teller) tell(kind report.Kind, cell *checker.Cell) error {
	return t.sink.Handle(report.Event{Kind: kind, Run: t.run, Cell: cell, Done: t.done, Total: t.total})
}

func (t *teller) CellStarted(c cells.Case) error {
	cell := c.Planned()
	return t.tell(report.CellStart, &cell)
}

func (t *teller) StormGoesOn(c cells.Case, lasted time.Duration, operations int64) error {
	cell := c.Planned()
	cell.Took, cell.Storm.Operations = lasted, int(operations)
	return t.tell(report.StormGoesOn, &cell)
}

func (t *teller) CellEnded(cell checker.Cell) error {
	t.done++
	cell.Known = t.known(cell)
	if err := t.tell(report.CellEnd, &cell); err != nil {
		return err
	}
	if code := codeOf(cell); t.failFast && (code == codeSurprise || code == codeFailed) {
		return errFailFast
	}
	return nil
}
