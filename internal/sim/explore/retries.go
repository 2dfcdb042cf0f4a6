package explore

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"
)

// A refused try is repeated only where it may come to something else. Nothing else does if nothing has changed: neither the servers, nor the
// time, nor what the lock remembers. Otherwise a lock that counts its refusals could do anything at the next one. A try that takes back what
// it does to the servers has changed nothing.

const (
	// mostTries is how often a try is repeated while the lock's State goes on changing.
	mostTries = 8
	// mostTriesBeside is the same where it is not known what the lock keeps, or while a background task runs, if the try may have changed that.
	mostTriesBeside = 2
)

// mostTriesInQueue is how often a try is repeated while the first node below a ZooKeeper's lock stays the same. Each try makes a node and removes it, so
// something has always changed.
const mostTriesInQueue = 2

// mayReleaseAgain says whether a client may release once more. It need not, so nothing waits for it.
func (x *explorer) mayReleaseAgain(s *state, i int) bool {
	c := &s.clients[i]
	return c.has(unsure) && (c.phase == waiting || c.phase == finished) && x.automaton.Nodes[c.node].Idle
}

// retries lets a client whose try was refused try again, unless the next try would be the same. The try was called at the node from.
func (x *explorer) retries(s *state, i int, from uint32) {
	c := &s.clients[i]
	if !c.has(futile) {
		c.tries = 0
		return
	}
	before, after := &x.automaton.Nodes[from], &x.automaton.Nodes[c.node]
	if x.sessions {
		x.retriesInQueue(s, i)
		return
	}
	if from == c.node || before.Memory != 0 && before.Memory == after.Memory && x.sameTokens(s, i, before.Own, after.Own) {
		c.tries = 0
		if x.wouldChange(s, i) {
			c.clear(futile)
		}
		return
	}
	c.tries++
	switch {
	case (after.Tasks > 0 || !x.automaton.Manner.Declares) && c.tries >= mostTriesBeside:
		x.result.Tired = true
	case c.tries >= mostTries:
		x.result.Counting = true
	default:
		c.clear(futile)
		return
	}
	c.tries = 0
}

// retriesInQueue lets a client of a ZooKeeper whose try was refused try again.
func (x *explorer) retriesInQueue(s *state, i int) {
	c := &s.clients[i]
	if x.isTired(s, i) {
		x.result.Tired, c.tries = true, 0
		return
	}
	c.tries++
	if c.tries >= mostTriesInQueue || !x.wouldChange(s, i) {
		c.tries = 0
		return
	}
	c.clear(futile)
}

// isTired says whether a client of a ZooKeeper waits for what its tries have left to a background task: it does not try again before that is done.
func (x *explorer) isTired(s *state, i int) bool {
	c := &s.clients[i]
	return c.phase == waiting && x.automaton.Nodes[c.node].Tasks > 0 && x.automaton.Nodes[c.node].Idle
}

// wouldChange says whether a client's next try would leave the servers otherwise than they are, or take the lock, if it were made at once.
func (x *explorer) wouldChange(s *state, i int) bool {
	if x.automaton.Aside {
		return false
	}
	return x.rehearsed.changes.Once(x.situation(s, i), func() bool { return x.findWouldChange(s, i) })
}

func (x *explorer) findWouldChange(s *state, i int) bool {
	r := x.rehearse(s, i, func(*state, []learn.Input) {})
	return r.after.servers != s.servers || r.after.clients[i].phase == holding
}

// sameTokens says whether it makes no difference that a client's tokens have changed: nobody else has seen those that did.
func (x *explorer) sameTokens(s *state, i int, before, after []uint8) bool {
	if slices.Equal(before, after) {
		return true
	}
	var changed uint16
	for k := range before {
		if before[k] != after[k] {
			changed |= 1<<before[k] | 1<<after[k]
		}
	}
	return x.tokensBeside(s, i)&changed == 0
}
