// Package report passes the events of a run to those that show it, and renders it for programs: as JSON Lines, as JUnit XML, and for the page of a CI job.
//
// It owns the stream of events. It must not judge: verdicts are the checker's. What people read is in the packages below it.
//
// A renderer that needs the whole run only is a plain function of it; AtEnd turns such a function into a Sink.
package report

import (
	"errors"
	"sync"

	"github.com/locklab/locklab/internal/record"
)

// Kind says what an event of a run is about.
type Kind string

// The kinds of events, in the order in which a run sends them. Cells may overlap: several can have started and not ended.
const (
	// RunStart: the run is about to begin. Run has the cells as planned, without verdicts, or none; Total is their number.
	RunStart Kind = "run-start"
	// CellStart: a cell begins. Cell has Lock, Scenario and Round.
	CellStart Kind = "cell-start"
	// StormGoesOn: a storm has lasted for Cell.Took, with so many operations as Cell.Storm has. It comes every second.
	StormGoesOn Kind = "storm-goes-on"
	// CellEnd: a cell has ended. Cell is complete; Done counts it.
	CellEnd Kind = "cell-end"
	// RunEnd: no more will come. Run has all cells that ended, in the order in which they were planned: reports keep it. Run.Finished
	// is false if the run was interrupted; what is known so far is reported all the same.
	RunEnd Kind = "run-end"
)

// Event is one thing that happened to a run. A Sink must not change what it points to, nor keep it: at the end everything
// comes once more in Run.
type Event struct {
	Kind        Kind
	Run         *record.Run  // always set
	Cell        *record.Cell // CellStart, StormGoesOn and CellEnd
	Done, Total int          // cells ended, cells planned
}

// Sink receives the events of a run, from one goroutine at a time.
type Sink interface {
	Handle(Event) error
}

// Tee passes every event to every sink. Unlike a single sink it may be called by several goroutines at once. A sink that fails
// does not keep the event from the others; the errors are joined.
func Tee(sinks ...Sink) Sink {
	return &tee{sinks: sinks}
}

type tee struct {
	mu    sync.Mutex
	sinks []Sink
}

func (t *tee) Handle(e Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, sink := range t.sinks {
		errs = append(errs, sink.Handle(e))
	}
	return errors.Join(errs...)
}

// AtEnd is a sink that calls render once, with the whole run, when it has ended.
func AtEnd(render func(*record.Run) error) Sink {
	return atEnd(render)
}

type atEnd func(*record.Run) error

func (render atEnd) Handle(e Event) error {
	if e.Kind != RunEnd {
		return nil
	}
	return render(e.Run)
}
