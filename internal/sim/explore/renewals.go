package explore

import (
	"context"
	"fmt"
	"slices"
)

// Where a lock is renewed over and over, time is followed for some leases only. A lock that counts its renewals may do something else later. So where a
// search has found nothing, what a background task did last is repeated, with the same replies.

const (
	turnsInASample = 200 // of one task
	mostRenewing   = 16  // nodes at which turns are repeated
)

// noteRenewing notes the clients whose tasks go on where time is followed no further.
func (x *explorer) noteRenewing(s *state) {
	for i := range x.clients {
		c := &s.clients[i]
		if n := &x.automaton.nodes[c.node]; c.phase != crashed && n.idle && n.tasks > 0 {
			x.renewing[c.node] = true
		}
	}
}

// checkRenewals repeats what tasks did last before each node, and says what the lock then does otherwise.
func (p *sampler) checkRenewals(ctx context.Context, nodes []uint32) (string, error) {
	p.chance.Shuffle(len(nodes), func(i, k int) { nodes[i], nodes[k] = nodes[k], nodes[i] })
	sampled := 0
	for _, n := range nodes {
		if ctx.Err() != nil || sampled >= mostRenewing {
			return "", ctx.Err()
		}
		if p.by[n] == 0 {
			continue
		}
		path := p.path(p.by[n] - 1)
		from := p.turn(path)
		if from < 0 {
			continue
		}
		sampled++
		if again, err := p.repeat(path, from, turnsInASample); err != nil || again > 0 {
			return doubtOfRenewals(again), err
		}
	}
	return "", nil
}

func doubtOfRenewals(again int) string {
	if again == 0 {
		return ""
	}
	return fmt.Sprintf("a background task, which did the same over and over, does something else after %d times more", again)
}

// turn is the step of a path with which the last turn of its client's task begins: before it and at the end the client waits for the same. -1: there is none.
func (p *sampler) turn(path []uint32) int {
	last := &p.a.nodes[p.a.taken[path[len(path)-1]].to]
	for k, n := range slices.Backward(path) {
		t := &p.a.taken[n]
		before := &p.a.nodes[t.at]
		if t.in.kind == inputCall || t.in.kind == inputLost || t.in.kind == inputExpired || t.reads || !before.idle {
			break
		}
		if before.slots == last.slots {
			return k
		}
	}
	return -1
}
