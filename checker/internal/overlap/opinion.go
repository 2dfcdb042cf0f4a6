// Package overlap judges with porcupine what needs a search for an order because calls overlap: who held a lock, whether fencing tokens grow, and what became of
// the data.
//
// It owns the models of these, how a history is cut into windows, and a reading of holds that shares no arithmetic with package timeline, as it is the second
// judge of what the monitors find. It must not know the monitors, nor any anomaly but its own.
package overlap

import (
	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/history"
)

// Names of anomalies that are judged here.
const (
	doubleHolderName    = "double-holder"
	fenceRegressionName = "fence-regression"
	lostUpdateName      = "lost-update"
)

// Opinion is what porcupine found in a history.
type Opinion struct {
	Judged   []string // the anomalies that it looked for
	Illegal  []Finding
	TimedOut []Finding
	Unjudged []Finding // of a lock of which too little is known
	Several  []string  // locks of several permits
}

// Finding is one way in which one lock failed.
type Finding struct{ Name, Lock string }

// OpinionOf judges what needs a search for an order because calls overlap: the holds of each lock, its fencing tokens, and the data that it protects.
// Which command took a lock on several servers is not read here, so its tokens are unjudged.
func OpinionOf(locks []*Lock, events []history.Event, j Judge) Opinion {
	o := Opinion{Judged: []string{doubleHolderName, fenceRegressionName, lostUpdateName}}
	for _, lock := range locks {
		if lock.Permits > 1 {
			o.Several = append(o.Several, lock.Name)
		}
		o.Add(doubleHolderName, lock.Name, j.Windows(permitWindows(lock.Spans, lock.Permits)))
		o.Add(doubleHolderName, lock.Name, j.Windows(lock.checkWindows()))
		if lock.Spread {
			o.Unjudged = append(o.Unjudged, Finding{fenceRegressionName, lock.Name})
		} else {
			o.Fences(lock, j)
		}
	}
	for _, counter := range Counters(events) {
		o.Add(lostUpdateName, counter.name, j.Windows(CounterWindows(counter.Updates)))
		o.Add(lostUpdateName, counter.name, j.Windows(counter.dataWindows()))
	}
	return o
}

// Fences judges the fencing tokens of a lock.
func (o *Opinion) Fences(lock *Lock, j Judge) {
	o.Add(fenceRegressionName, lock.Name, j.Windows(fenceWindows(lock.grants)))
}

// Add notes what came of judging.
func (o *Opinion) Add(name, lock string, result porcupine.CheckResult) {
	what := Finding{name, lock}
	switch result {
	case porcupine.Illegal:
		o.Illegal = append(o.Illegal, what)
	case porcupine.Unknown:
		o.TimedOut = append(o.TimedOut, what)
	}
}
