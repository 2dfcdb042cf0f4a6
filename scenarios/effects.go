package scenarios

import (
	"slices"

	"github.com/locklab/locklab/faults"
)

// Waits says whether a step may rightly take long: for a lease or a renewal, for an operation in the background, for a time-out, for a
// lock that somebody else has, or for a client library to send a command again.
func (s Step) Waits() bool {
	switch s.Verb {
	case VerbWaitExpired, VerbWaitHalf, VerbWaitFreed, VerbWaitRenewed, VerbRenews, VerbWaits, VerbAwait, VerbTimesOut:
		return true
	case VerbOp:
		return s.Within != Span{} || slices.ContainsFunc(s.Breakpoints, func(t faults.Breakpoint) bool { return t.Nth > 1 })
	}
	return false
}

// Fault is the fault that a step begins, or prepares; ok is false where it begins none.
func (s Step) Fault() (f faults.Fault, ok bool) {
	kinds := map[Verb]faults.Kind{
		VerbPause: faults.Pause, VerbCrash: faults.Crash, VerbThreadDies: faults.ThreadDeath, VerbClock: faults.Skew,
		VerbCutOff: faults.Partition, VerbRefuse: faults.Refuse, VerbDelay: faults.Delay, VerbLoseReplies: faults.ReplyLost,
		VerbServerJump: faults.ClockJump, VerbOperator: faults.Operator,
		VerbRestart: faults.Restart, VerbSave: faults.FailOver, VerbRestartSaved: faults.FailOver,
	}
	kind, ok := kinds[s.Verb]
	return kind.Of(), ok
}
