package scenarios

import (
	"slices"

	"github.com/locklab/locklab/faults"
)

// Waits says whether a step may take long without a host stall: it waits for a lease, a renewal, a loss notice, a background operation, a time-out, a lock
// that another client holds, or a resend of the client library. A restart with a copy waits until it is old enough, but the restart itself may not take long.
func (s Step) Waits() bool {
	switch s.Verb {
	case VerbWaitFor, VerbWaitExpired, VerbWaitHalf, VerbWaitFreed, VerbWaitRenewed, VerbWaitRefused, VerbRenews, VerbWaits, VerbWaitsLost, VerbAwait, VerbTimesOut:
		return true
	case VerbOp:
		return s.Within != Span{} || slices.ContainsFunc(s.Breakpoints, func(t faults.Breakpoint) bool { return t.Nth > 1 })
	}
	f, _ := s.Fault()
	return f.Long
}

// Fault is the fault that a step begins, prepares or, of a server, ends; ok is false where it is about none.
func (s Step) Fault() (f faults.Fault, ok bool) { return faults.SpokenOf(string(s.Verb)) }

// Faults are the kinds of faults that strike in a script. Requests and replies that are held are none: they are how scripts order steps.
func (s *Script) Faults() []faults.Kind {
	var kinds []faults.Kind
	for _, step := range s.Steps {
		if fault, ok := step.Fault(); ok {
			kinds = append(kinds, fault.Kind)
		}
		for _, at := range step.Breakpoints {
			if !at.Action.Stops() {
				kinds = append(kinds, at.Action.Kind())
			}
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
