package scenarios

import (
	"cmp"
	"slices"
	"strings"

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
	verb := s.Verb
	if verb == VerbSave {
		verb = VerbRestartSaved
	}
	words := cmp.Or(wordsFor(phrases(), verb, s.Op), wordsFor(labPhrases(), verb, s.Op))
	return faults.BegunBy(strings.TrimPrefix(words, "server "))
}
