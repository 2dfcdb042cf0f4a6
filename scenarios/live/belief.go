package live

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// skips says whether a step is left out because it makes sense only for a client that holds the lock by its own account:
// nobody works under, or releases, a lock that it was refused; and nobody begins work after being told that the lock is lost. A
// release of which nobody knows what became of it can be tried again.
func (cl *client) skips(step *scenarios.Step) bool {
	switch step.Verb {
	case scenarios.VerbOp:
		begins := step.Op == history.OpWork || step.Op == history.OpRenew
		cl.skipped = step.Op != history.OpAcquire && (!cl.holds || begins && cl.lost.Load()) &&
			!(step.Op == history.OpRelease && cl.unsure)
		return cl.skipped
	case scenarios.VerbAwait, scenarios.VerbContinue, scenarios.VerbGiveUp:
		return cl.skipped
	}
	return false
}

// releases notes that the client is about to release.
func (cl *client) releases() {
	if cl.again > 0 {
		cl.again--
		return
	}
	cl.holds = false
}

// learn notes what the client was told of its lock.
func (cl *client) learn(op history.Op, outcome history.Outcome) {
	switch op {
	case history.OpAcquire:
		switch {
		case !cl.cell.traits.Reentrant || !cl.holds:
			cl.holds = outcome == history.OK
		case outcome == history.OK:
			cl.again++
		}
	case history.OpRelease:
		cl.unsure = outcome == history.Unknown
	case history.OpCheck:
		if outcome == history.No {
			cl.lost.Store(true)
		}
	}
}

// vanish notes that the client is there no more.
func (cl *client) vanish() {
	cl.holds, cl.again, cl.unsure, cl.pending = false, 0, false, nil
}
