// Package second is the rest of the second opinion: a porcupine model of each anomaly that shows without overlapping calls, too. Tests, fuzzing, storms and
// lab check --twice ask for it.
//
// It owns these models, and a reading of whose a lock was and what its service answered. It must not know package timeline, from which the monitors have
// both, so that the two can contradict each other.
package second

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// Names of anomalies that are judged here.
const (
	hungOperationName = "hung-operation"
	missedWakeupName  = "missed-wakeup"
	deadGrantName     = "dead-grant"
	unfairName        = "unfair"
)

// OpinionOf judges a history by all models: those of calls that overlap, and those of this package.
func OpinionOf(events []history.Event, j overlap.Judge) overlap.Opinion {
	locks, owners := LocksAndOwners(events, j.Searches)
	o := overlap.OpinionOf(locks, events, j)
	o.Unjudged = nil
	for _, lock := range locks {
		if lock.Spread {
			o.Fences(lock, j)
		}
	}
	o.Judged = append(o.Judged, hungOperationName, missedWakeupName, deadGrantName, unfairName)
	o.Judged = append(append(o.Judged, ownerNames[:]...), ServiceNames[:]...)
	for _, lock := range owners {
		lock.judge(&o, j)
	}
	for _, lock := range hungHistories(events) {
		o.Add(hungOperationName, lock.name, j.Windows(slices.Values(lock.waits)))
		o.Add(missedWakeupName, lock.name, j.Windows(slices.Values(lock.slept)))
	}
	for _, lock := range deadHistories(events) {
		o.Add(deadGrantName, lock.name, j.Windows(slices.Values(lock.answers)))
	}
	return o
}

// judge judges what clients did to a lock that was not theirs, and what the service answered.
func (l *ownerHistory) judge(o *overlap.Opinion, j overlap.Judge) {
	if l.unjudged {
		for _, name := range append(append([]string{unfairName}, ownerNames[:]...), ServiceNames[:]...) {
			o.Unjudged = append(o.Unjudged, overlap.Finding{Name: name, Lock: l.name})
		}
		return
	}
	if j.Windows(l.windows(allOffences)) != porcupine.Ok {
		for n, name := range ownerNames {
			o.Add(name, l.name, j.Windows(l.windows(1<<n)))
		}
	}
	o.Add(unfairName, l.name, j.Windows(queueWindows(l.service.queued)))
	for n, name := range ServiceNames {
		o.Add(name, l.name, j.Windows(l.Observations(n)))
	}
}
