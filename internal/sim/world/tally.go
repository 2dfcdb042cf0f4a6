package world

import (
	"slices"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// reenters says whether a holder of the lock can acquire it again.
func (w *world) reenters() bool { return slices.Contains(w.config.Lock.Promises, impls.Reentrance) }

// tally counts what the client was answered that created the lock: released as often as acquired, the lock must be gone.
type tally struct {
	client         int // plus 1; 0: there is none, or nobody can know what it should be
	gained, called int // acquires that were answered ok, and releases that were called
}

func (t *tally) of(i int) bool { return t.client == i+1 }

func (t *tally) acquired(i int) {
	if t.of(i) {
		t.gained++
	}
}

// releases: a client has called release; sure: it holds the lock.
func (t *tally) releases(i int, sure bool) {
	if t.of(i) {
		if t.called++; !sure {
			*t = tally{}
		}
	}
}

// released notes what a release has come to, and says whether it was the last.
func (t *tally) released(i int, outcome history.Outcome) bool {
	if t.of(i) && outcome != history.OK {
		*t = tally{}
	}
	return t.of(i) && t.called == t.gained
}

// commanded handles a command that names the lock.
func (t *tally) commanded(i int, effect history.Effect, foreign, acquires bool) {
	ends := effect == history.EffectRemoved || effect == history.EffectUnclear || effect == history.EffectReplaced && !t.of(i)
	if foreign || ends || effect == history.EffectCreated {
		*t = tally{}
	}
	if effect == history.EffectCreated && acquires {
		t.client = i + 1
	}
}
