package explore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
)

// A refused try is not repeated if it has changed nothing that the lock keeps; and beside a background task twice at most, if it may have. A lock that counts
// its refusals, such as in a variable of its package, may do something else later. So where a search has found nothing, refused tries are repeated, with the
// same replies.

const (
	triesInASample = 16 // of one refused try
	mostTired      = 64 // tries that are repeated, of either kind
)

// checkTries repeats the tries that were refused last on paths, by their ends, and says what the lock then does otherwise.
func (p *sampler) checkTries(ctx context.Context, ends []uint32) (string, error) {
	p.chance.Shuffle(len(ends), func(i, k int) { ends[i], ends[k] = ends[k], ends[i] })
	for _, end := range ends[:min(len(ends), mostTired)] {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if again, err := p.tryAgain(p.path(end)); err != nil || again > 0 {
			return doubtOfTries(again), err
		}
	}
	return "", nil
}

// endsAt are the ends of paths to nodes.
func (p *sampler) endsAt(nodes []uint32) (ends []uint32) {
	for _, n := range nodes {
		if p.by[n] != 0 {
			ends = append(ends, p.by[n]-1)
		}
	}
	return ends
}

func doubtOfTries(again int) string {
	if again == 0 {
		return ""
	}
	return fmt.Sprintf("acquire, refused and repeated %d times, does something else, and the search repeats it once at most", again)
}

// tryAgain executes a path that ends with a refused try, and repeats that. It returns how many repetitions it took until the lock did something else.
func (p *sampler) tryAgain(path []uint32) (again int, err error) {
	a := p.a
	called := lastCall(path, func(n uint32) input { return a.taken[n].in })
	if called < 0 || slices.ContainsFunc(path[called:], func(n uint32) bool { return a.taken[n].in.slot != 0 }) {
		return 0, nil // the task went on meanwhile
	}
	return p.repeat(path, called, triesInASample)
}

// repeat executes a path, and then its steps from one on again and again. It returns how many repetitions it took until the lock did something else;
// 0: it did not.
func (p *sampler) repeat(path []uint32, from, times int) (again int, err error) {
	did, end := p.begin(path)
	defer end()
	var first []askedFor
	for k := range path {
		asked, err := did(k)
		if err != nil {
			return 0, err
		}
		if k >= from {
			first = append(first, asked)
		}
	}
	for again := range times {
		for k := from; k < len(path); k++ {
			asked, err := did(k)
			if err != nil || !reflect.DeepEqual(asked, first[k-from]) {
				return again + 1, err
			}
		}
	}
	return 0, nil
}

// begin has a new instance take the steps of a path, in any order: did takes one, by its place in the path, and says what the lock then waits for and has
// reported.
func (p *sampler) begin(path []uint32) (did func(k int) (askedFor, error), end func()) {
	a := p.a
	s := a.newInstance(int(a.nodes[a.taken[path[0]].at].client))
	s.process.Rehearse()
	did = func(k int) (askedFor, error) {
		a.executing.Store(int64(time.Since(a.born))) // each step by itself: all of them may take longer than patience
		t := &a.taken[path[k]]
		notices, err := a.execute(s, t.in, t.when)
		if err != nil {
			return askedFor{}, a.impure(err)
		}
		return askedNow(s, notices), nil
	}
	return did, func() {
		s.process.Close()
		a.executing.Store(0)
	}
}

// lastCall is the step of a path in which an acquire is called last; -1: none is, or another operation is called after it.
func lastCall(path []uint32, in func(uint32) input) int {
	for k, n := range slices.Backward(path) {
		if i := in(n); i.kind == inputCall {
			if history.Op(i.arg) == history.OpAcquire {
				return k
			}
			break
		}
	}
	return -1
}
