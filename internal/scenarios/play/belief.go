package play

import (
	"slices"
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
	open    bool // its last acquire was refused, which the script leaves open; no release came after it
	unsure  bool // the outcome of its release is unknown, so it may release again
	skipped bool // its last operation was skipped, so steps that continue it are skipped too
}

// May says whether an operation makes sense to a client that minds what its lock has answered: it does not work under, or release, a lock that
// it was refused, and does not begin work after a loss notice. It may repeat a release with an unknown outcome.
func (b *Belief) May(op history.Op) bool {
	switch op {
	case history.OpAcquire:
		return true
	case history.OpRelease:
		return b.holds || b.unsure
	case history.OpWork, history.OpRenew:
		return b.holds && !b.Lost.Load()
	}
	return b.holds
}

// Skips says whether to skip a step that only a client that believes to hold the lock takes. A release is skipped only where the script leaves
// open whether its client got the lock: otherwise the script asks for a release without holding.
func (b *Belief) Skips(step *scenarios.Step) bool {
	switch step.Verb {
	case scenarios.VerbOp:
		switch {
		case step.IfUnknown:
			b.skipped = !b.unsure
		case step.Op == history.OpRelease:
			b.skipped = !b.holds && b.open && !step.Anyway
		default:
			b.skipped = !b.May(step.Op)
		}
		return b.skipped
	case scenarios.VerbWaitsLost:
		return !b.holds
	case scenarios.VerbAwait, scenarios.VerbContinue, scenarios.VerbTimesOut, scenarios.VerbGiveUp:
		return b.skipped
	}
	return false
}

// Asked says whether the script asks for a step that is skipped: it states a result, or says by itself that the client does not hold the lock.
func (b *Belief) Asked(step *scenarios.Step) bool {
	return len(step.Want) > 0 || !b.holds && !b.open && !step.IfUnknown
}

// Why says why a step is skipped.
func (b *Belief) Why(step *scenarios.Step) string {
	switch {
	case step.IfUnknown:
		return "knows the outcome of its last release"
	case b.holds:
		return "was told that it has lost the lock"
	}
	return "does not hold the lock"
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
		b.holds, b.open = false, false
	}
}

// Learn updates the belief with the outcome of an operation.
func (b *Belief) Learn(op history.Op, outcome history.Outcome, reentrant bool) {
	switch op {
	case history.OpAcquire:
		switch {
		case !reentrant || !b.holds:
			b.holds, b.open = outcome == history.OK, outcome != history.OK
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

// Stated updates the belief with the results that the script allows for a step, one of which it had: a script that allows no ok for an acquire
// says itself that the client is refused. No other step of a client that was refused can have had such a result: it would have been skipped.
func (b *Belief) Stated(want []scenarios.Result) {
	refusals := []scenarios.Result{scenarios.ResultNo, scenarios.ResultUnknown}
	other := func(r scenarios.Result) bool { return !slices.Contains(refusals, r) }
	b.open = b.open && (len(want) == 0 || slices.ContainsFunc(want, other))
}

// Vanish resets the belief: the client is gone.
func (b *Belief) Vanish() { b.holds, b.again, b.unsure = false, 0, false }
