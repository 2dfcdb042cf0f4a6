package explore

import (
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// A lock can take the place of another that is still held. Its client, the challenger, has it only once it is told so, and those whose value has been
// replaced by then are none any more.

// challenger is what a client has put in the place of a live owner's value.
type challenger struct {
	claims   ms    // when the lease of its challenge ends
	replaced uint8 // the clients that have challenged since
	// stray: it has also done so by what is no acquire, or by one that had ended: nobody is told that the lock is its own.
	stray         bool
	strayReplaced uint8 // the clients that have challenged since
	Gap           gap
}

// challenges notes that a client has put something in the place of a live owner's value; acquires: it may be told that the lock is its own.
func (j *judge) challenges(n int, ends ms, acquires bool) {
	c := &j.s.clients[n]
	if !acquires {
		c.stray, c.strayReplaced = true, 0
		return
	}
	for i := range j.clients {
		other := &j.s.clients[i]
		if other.has(challenge) && i != n {
			other.replaced |= 1 << n
		}
		if other.stray {
			other.strayReplaced |= 1 << n
		}
	}
	c.set(challenge)
	c.claims, c.replaced = ends, 0
}

func (j *judge) settleOwner(n int, ok bool) {
	c, o := &j.s.clients[n], &j.s.owner
	if int(o.client) == n+1 && o.standing == ownership.Pending {
		o.standing, o.early = ownership.Refused, j.acquirers(n)
		if ok {
			o.standing, o.sure, o.early = ownership.Granted, o.ends, 0
		}
	}
	if !c.has(challenge) {
		return
	}
	claims := c.claims
	c.endChallenge()
	if !ok {
		return
	}
	j.setOwner(owner{client: uint8(n) + 1, standing: ownership.Granted, ends: claims, margin: j.margin, sure: claims, sighting: o.sighting})
	for i := range j.clients {
		other := &j.s.clients[i]
		if other.replaced&(1<<n) != 0 {
			other.endChallenge()
		}
		if other.strayReplaced&(1<<n) != 0 {
			other.stray, other.strayReplaced = false, 0
		}
	}
}

func (c *client) endChallenge() {
	c.clear(challenge)
	c.claims, c.replaced = 0, 0
}

// dropChallengers: what they had put in the place of the owner's value is gone.
func (j *judge) dropChallengers() {
	for i := range j.s.clients {
		c := &j.s.clients[i]
		c.clear(challenge)
		c.challenger = challenger{}
	}
}

// challenged says whether a client has replaced the live owner's value, and waits to be told whether the lock is now its own.
func (j *judge) challenged() bool {
	for i := range j.clients {
		if c := &j.s.clients[i]; c.has(challenge) || c.stray {
			return true
		}
	}
	return false
}
