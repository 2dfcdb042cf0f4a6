package main

import (
	"errors"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/report"
	"github.com/locklab/locklab/scenarios/live"
)

// errFailFast keeps further cells from being started.
var errFailFast = errors.New("--fail-fast")

// teller passes the progress of the cells on to the reports.
type teller struct {
	run         *checker.Run
	sink        report.Sink
	done, total int
	failFast    bool
}

func (t *teller) tell(kind report.Kind, cell *checker.Cell) error {
	return t.sink.Handle(report.Event{Kind: kind, Run: t.run, Cell: cell, Done: t.done, Total: t.total})
}

func (t *teller) CellStarted(c live.Case) error {
	cell := c.Planned()
	return t.tell(report.CellStart, &cell)
}

func (t *teller) CellEnded(cell checker.Cell) error {
	t.done++
	if err := t.tell(report.CellEnd, &cell); err != nil {
		return err
	}
	if t.failFast && (cell.Surprise() || cell.Failure != "") {
		return errFailFast
	}
	return nil
}
