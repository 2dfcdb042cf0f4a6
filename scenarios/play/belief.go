package play

import (
	"sync/atomic"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// Belief decides which steps of a script a client takes, by what its lock has answered. Who holds the lock is another question, which
// package timeline answers by the history: a client whose hold has lapsed still works and releases here, for that is what is tested.
//
// It belongs to the goroutine that plays the script; only Lost may be set by others.
type Belief struct {
	Lost atomic.Bool // the lock has announced its loss

	holds   bool // its acquire returned ok, and its release has not been called
	again   int  // reentrant acquires beyond the first; 0 for other locks
	unsure  bool // the outcome of its release is unknown, so it may release again
	skipped bool // its last operation was skipped, so steps that continue it are skipped too
}

// Skips says whether to skip a step that only a client that believes to hold the lock takes: a client does not work under, or release, a
// lock that it was refused, and does not begin work after a loss notice. It may repeat a release with an unknown outcome.
func (b *Belief) Skips(step *scenarios.Step) bool {
	switch step.Verb {
	case scenarios.VerbOp:
		begins := step.Op == history.OpWork || step.Op == history.OpRenew
		b.skipped = step.Op != history.OpAcquire && (!b.holds || begins && b.Lost.Load()) &&
			!(step.Op == history.OpRelease && b.unsure)
		return b.skipped
	case scenarios.VerbWaitsLost:
		return !b.holds
	case scenarios.VerbAwait, scenarios.VerbContinue, scenarios.VerbTimesOut, scenarios.VerbGiveUp:
		return b.skipped
	}
	return false
}

// Begin updates the belief before an operation.
func (b *Belief) Begin(op history.Op) {
	switch {
	case op == history.OpAcquire:
		b.Lost.Store(false)
	case op != history.OpRelease:
	case b.again > 0:
		b.again--
	default:
		b.holds = false
	}
}

// Learn updates the belief with the outcome of an operation.
func (b *Belief) Learn(op history.Op, outcome history.Outcome, reentrant bool) {
	switch op {
	case history.OpAcquire:
		switch {
		case !reentrant || !b.holds:
			b.holds = outcome == history.OK
		case outcome == history.OK:
			b.again++
		}
	case history.OpRelease:
		b.unsure = outcome == history.Unknown
	case history.OpCheck:
		if outcome == history.No {
			b.Lost.Store(true)
		}
	}
}

// Vanish resets the belief: the client is gone.
func (b *Belief) Vanish() { b.holds, b.again, b.unsure = false, 0, false }
