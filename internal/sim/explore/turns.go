package explore

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// grantTurn makes it the client's turn, unless a client that took the lock later was told so before. A client that was not seen to take it
// takes it when it is told.
func (j *judge) grantTurn(n int) {
	c := &j.s.clients[n]
	if !j.owners || c.has(late) {
		return
	}
	j.s.turn, j.s.over = uint8(n)+1, false
	j.passTurn(n)
	for i := range j.clients {
		other := &j.s.clients[i]
		if i != n && other.phase == acquiring && other.has(took) && (other.after&(1<<n) != 0 || !c.has(took)) {
			other.set(late)
		}
	}
}

// wrote takes in that the resource has accepted a client's write. same: it was there already. passed: another client has had a turn since the
// work was called that the write is part of.
func (j *judge) wrote(n int, same, passed bool) {
	mayOwn := int(j.s.owner.client) == n+1 && j.s.owner.standing != ownership.Refused
	write := ownership.Write{Client: n + 1, MayOwn: mayOwn, Same: same, Passed: passed}
	if (ownership.LatestGrant{Client: int(j.s.turn), Released: j.s.over}).Stale(write) {
		j.found |= staleWrite
	}
}

// passTurn notes that a client has a turn while others work, and while what they wrote may arrive again.
func (j *judge) passTurn(to int) {
	if j.only&staleWrite == 0 {
		return
	}
	for i := range j.clients {
		c := &j.s.clients[i]
		if i == to {
			continue
		}
		c.passed = c.passed || c.phase == working
		for k, r := range c.travel {
			if history.Op(r>>travelOp&7) == history.OpWork {
				c.travel[k] |= passedOn
			}
		}
		c.sortTravel()
	}
}
