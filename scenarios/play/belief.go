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
	Lost atomic.Bool // it was told meanwhile that it does not hold any more

	holds   bool // its acquire returned ok, and its release has not been called
	again   int  // how often it has taken it once more; stays 0 where the lock does not count
	unsure  bool // its release has come to nothing certain, so it may release again
	skipped bool // its last operation was skipped, so what refers to it is skipped as well
}

// Skips says whether a step is left out because it makes sense only for a client that holds the lock by its own account:
// nobody works under, or releases, a lock that it was refused; and nobody begins work after being told that the lock is lost. A
// release of which nobody knows what became of it can be tried again.
func (b *Belief) Skips(step *scenarios.Step) bool {
	switch step.Verb {
	case scenarios.VerbOp:
		begins := step.Op == history.OpWork || step.Op == history.OpRenew
		b.skipped = step.Op != history.OpAcquire && (!b.holds || begins && b.Lost.Load()) &&
			!(step.Op == history.OpRelease && b.unsure)
		return b.skipped
	case scenarios.VerbAwait, scenarios.VerbContinue, scenarios.VerbTimesOut, scenarios.VerbGiveUp:
		return b.skipped
	}
	return false
}

// Begin notes that the client is about to begin an operation.
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

// Learn notes what the client was told of its lock, which it may take again where the lock is reentrant.
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

// Vanish notes that the client is there no more.
func (b *Belief) Vanish() { b.holds, b.again, b.unsure = false, 0, false }
