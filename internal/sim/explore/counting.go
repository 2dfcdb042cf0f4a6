package explore

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/locklab/locklab/history"
)

// A lock may count its refusals, keep a log of them, or wait longer after each. Then no two refused tries leave it the same memory, and the search repeats
// them a few times only. What it does after many more shows in samples: a refused try is repeated, with the same replies, and then the path goes on.

const (
	mostCounting = 12 // nodes at which tries are repeated
	mostAfter    = 4  // paths that go on from each
)

// repetitions are how often a refused try is repeated before a path goes on.
var repetitions = [...]int{1, 2, 5, 13, 32, 95, 300, 1000}

// checkCounting repeats the tries that were refused last before each node, and says what the lock does otherwise then or later.
func (p *sampler) checkCounting(ctx context.Context, nodes []uint32) (string, error) {
	p.chance.Shuffle(len(nodes), func(i, k int) { nodes[i], nodes[k] = nodes[k], nodes[i] })
	checked, seen := 0, map[continuation]bool{}
	for _, n := range nodes {
		if checked == mostCounting {
			break
		}
		path, called := p.refusedTry(n)
		if called < 0 {
			continue
		}
		checked++
		for _, longer := range p.after(n, path, seen) {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if doubt, err := p.checkCount(longer, called, len(path)); doubt != "" || err != nil {
				return doubt, err
			}
		}
	}
	if checked == 0 && len(nodes) > 0 {
		return "it remembers each refusal, and no refused try can be repeated as it was", nil
	}
	return "", nil
}

// refusedTry is a path to a node, and where the try was called that was refused there. It is negative where a background task, which goes on during the
// try, has begun before it or lives on after it: such a try cannot be repeated as it was.
func (p *sampler) refusedTry(node uint32) (path []uint32, called int) {
	if p.by[node] == 0 {
		return nil, -1
	}
	path = p.path(p.by[node] - 1)
	called = lastCall(path, func(n uint32) input { return p.a.taken[n].in })
	if called < 0 {
		return nil, -1
	}
	beside := slices.ContainsFunc(path[called:], func(n uint32) bool { return p.a.taken[n].in.slot != 0 })
	if beside && p.a.nodes[p.a.taken[path[called]].at].tasks+p.a.nodes[node].tasks > 0 {
		return nil, -1
	}
	return path, called
}

// continuation is how a path ends that goes on after a refused try: what the lock was given last, and what it then did.
type continuation struct{ in, shape uint64 }

// after are some paths that go on from a node, to which a path leads: with a release, if there are such, and with ends that were not seen yet. If there are
// none, it is that one.
func (p *sampler) after(node uint32, path []uint32, seen map[continuation]bool) (longer [][]uint32) {
	below, released := make([]bool, len(p.a.nodes)), make([]bool, len(p.a.nodes))
	below[node] = true
	var ends, others []uint32
	for k := range p.a.taken {
		t := &p.a.taken[k]
		if !below[t.at] || t.to == node {
			continue
		}
		releases := released[t.at] || t.in.kind == inputCall && history.Op(t.in.arg) == history.OpRelease
		if t.adds {
			below[t.to], released[t.to] = true, releases
		}
		if releases {
			ends = append(ends, uint32(k))
		} else {
			others = append(others, uint32(k))
		}
	}
	p.chance.Shuffle(len(ends), func(i, k int) { ends[i], ends[k] = ends[k], ends[i] })
	p.chance.Shuffle(len(others), func(i, k int) { others[i], others[k] = others[k], others[i] })
	fresh := func(k uint32) bool {
		c := continuation{uint64(p.a.taken[k].in.packed()), p.behaved[k].shape}
		defer func() { seen[c] = true }()
		return !seen[c]
	}
	rare, usual := []uint32{}, []uint32{}
	for _, k := range ends {
		if len(rare) < mostAfter && fresh(k) {
			rare = append(rare, k)
		} else {
			usual = append(usual, k)
		}
	}
	ends = append(rare, usual...)
	for _, end := range slices.Concat(ends[:min(len(ends), mostAfter)], others[:min(len(others), 1)]) {
		longer = append(longer, p.path(end))
	}
	if len(longer) == 0 {
		return [][]uint32{path}
	}
	return longer
}

// checkCount executes a path, and again with its steps between two repeated ever more often.
func (p *sampler) checkCount(path []uint32, from, to int) (string, error) {
	usual, _, err := p.recount(path, from, to, 0, nil)
	if err != nil {
		return "", err
	}
	for _, times := range repetitions {
		switch _, otherwise, err := p.recount(path, from, to, times, usual); {
		case err != nil:
			return "", err
		case otherwise != "":
			return otherwise, nil
		}
	}
	return "", nil
}

// recount executes a path, with its steps between two repeated so often. It returns what the lock did in each step, or what it did otherwise than usual,
// where it ends: then it is not asked for what the next step answers.
func (p *sampler) recount(path []uint32, from, to, times int, usual []askedFor) (asked []askedFor, otherwise string, err error) {
	take, end := p.begin(path)
	defer end()
	did := func(k int) (now askedFor, same bool, err error) {
		now, err = take(k)
		return now, usual == nil || reflect.DeepEqual(now, usual[k]), err
	}
	for k := 0; ; k++ {
		for again := 1; k == to && again <= times; again++ {
			for i := from; i < to; i++ {
				if _, same, err := did(i); err != nil || !same {
					return nil, fmt.Sprintf("acquire, refused and repeated %d times more than in the search, does something else", again), err
				}
			}
		}
		if k == len(path) {
			return asked, "", nil
		}
		now, same, err := did(k)
		if err != nil || !same {
			return nil, fmt.Sprintf("the lock does something else after an acquire was refused %d times more than in the search", times), err
		}
		asked = append(asked, now)
	}
}
