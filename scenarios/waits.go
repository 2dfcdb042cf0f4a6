package scenarios

import "slices"

// Waits says whether a step may rightly take long: for a lease or a renewal, for an operation in the background, for a time-out, for a
// lock that somebody else has, or for a client library to send a command again.
func (s Step) Waits() bool {
	switch s.Verb {
	case VerbWaitExpired, VerbWaitHalf, VerbWaitFreed, VerbWaitRenewed, VerbRenews, VerbWaits, VerbAwait, VerbTimesOut:
		return true
	case VerbOp:
		return s.Within != Span{} || slices.ContainsFunc(s.Traps, func(t Trap) bool { return t.Nth > 1 })
	}
	return false
}
