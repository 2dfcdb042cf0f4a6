package suspicion

import "github.com/locklab/locklab/history"

// Tally counts what the client was answered that created the lock: released as often as acquired, the lock must be gone.
type Tally struct {
	client         int // plus 1; 0: there is none, or nobody can know what it should be
	gained, called int // acquires that were answered ok, and releases that were called
}

func (t *Tally) of(i int) bool { return t.client == i+1 }

// Acquired: an acquire of a client was answered ok.
func (t *Tally) Acquired(i int) {
	if t.of(i) {
		t.gained++
	}
}

// Releases: a client has called release; sure: it holds the lock.
func (t *Tally) Releases(i int, sure bool) {
	if t.of(i) {
		if t.called++; !sure {
			*t = Tally{}
		}
	}
}

// Released notes what a release has come to, and says whether it was the last.
func (t *Tally) Released(i int, outcome history.Outcome) bool {
	if t.of(i) && outcome != history.OK {
		*t = Tally{}
	}
	return t.of(i) && t.called == t.gained
}

// Commanded handles a command that names the lock.
func (t *Tally) Commanded(i int, effect history.Effect, foreign, acquires bool) {
	ends := effect == history.EffectRemoved || effect == history.EffectUnclear || effect == history.EffectReplaced && !t.of(i)
	if foreign || ends || effect == history.EffectCreated {
		*t = Tally{}
	}
	if effect == history.EffectCreated && acquires {
		t.client = i + 1
	}
}

// Under is what it is if the client with number i goes by number to[i].
func (t Tally) Under(to []int) Tally {
	if t.client > 0 {
		t.client = to[t.client-1] + 1
	}
	return t
}
