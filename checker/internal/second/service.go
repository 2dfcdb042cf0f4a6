package second

import (
	"iter"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

// The model of the lock service, as its clients get to know it: a register that is free, or somebody's for a lease. It is the second judge of
// refusals, of releases that leave the lock in place, and of untrue news of a loss.
//
// What is observed of the service takes effect at some point from a call to a return, and so does what can have ended somebody's lock meanwhile:
// a command at the moment at which it passed, an answer from the call on, and the end of a lease at any time from its earliest end on or, where
// it must have come, until its latest. Porcupine looks for an order in which every answer was true.

// ServiceNames are the anomalies that the model judges.
var ServiceNames = [...]string{"stuck-lock", "ghost-lock", "unreleasable", "false-alarm"}

// Their indexes.
const (
	observedStuck = iota
	observedGhost
	observedInPlace
	observedAlarm
)

// serviceState is what is in the register. One lock matters in a window.
type serviceState uint8

const (
	serviceFree serviceState = iota
	serviceMine              // the lock that matters
	serviceElse              // another's, or it is not known whose
)

// serviceInput is what can happen to the register, or what it is seen to answer.
type serviceInput uint8

const (
	serviceEnds    serviceInput = iota // the lock that matters ends, and leaves the register free
	serviceChanges                     // the register is, or may be, another's from now on
	serviceRefuses                     // an acquire is refused
	serviceDenies                      // the owner of the lock that matters is treated as if it was no longer the owner
)

// serviceModel is the register, with what is in it at the beginning of a window.
func serviceModel(begin serviceState) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, _ any) (bool, any) {
			s := state.(serviceState)
			switch input.(serviceInput) {
			case serviceEnds:
				if s == serviceMine {
					s = serviceFree
				}
				return true, s
			case serviceChanges:
				return true, serviceElse
			case serviceRefuses:
				return s != serviceFree, s
			case serviceDenies:
				return s != serviceMine, s
			}
			return false, s
		},
	}
}

// observation is an answer of the service with all that can have happened before it. The lock that matters is there when it begins.
type observation []porcupine.Operation

func (o *observation) add(what serviceInput, call, done int64) {
	*o = append(*o, porcupine.Operation{Input: what, Call: call, Return: done})
}

// lapses has the lease of a possession end at some time from its earliest end on.
func (o *observation) lapses(events []history.Event, p possession) {
	if p.ends != overlap.Never {
		o.add(serviceChanges, overlap.BeforeTime(events, p.ends-clockRoom(p.lease)), overlap.Open)
	}
}

// clockRoom is how much of a lease must be left for it to run certainly: clocks are read at different places. It is a fiftieth of it, and no less
// than five milliseconds.
func clockRoom(lease time.Duration) time.Duration {
	return max(lease/50, 5*time.Millisecond)
}

// serviceWindows are the observations of one kind, each a window.
func serviceWindows(observed []observation) iter.Seq[overlap.Window] {
	return func(yield func(overlap.Window) bool) {
		for _, o := range observed {
			if !yield(overlap.Window{Model: serviceModel(serviceMine), Operations: o}) {
				return
			}
		}
	}
}

// Observations are those of a lock that show one of serviceNames.
func (l *ownerHistory) Observations(n int) iter.Seq[overlap.Window] {
	return serviceWindows(l.service.observed[n])
}
