package explore

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/trace"
)

// A search lets time pass to where it knows that something changes. What a lock has noticed at other times, and shows only later, or by a number only, it
// does not find. So when it has found nothing, samples are taken: single clients go paths of the search once more, at other times in between. Where
// the lock then does what it did nowhere in the search after the same inputs, it goes by something that the search does not follow. The result is
// in doubt then.

const (
	sampleSteps   = 20_000 // of the lock's own code, for all samples
	samplesAtOnce = 8      // of one path
	mostPaths     = 16     // with one end, in which what is asked and told is the same
)

// execution is a transition that was executed.
type execution struct {
	at, to uint32
	output uint32
	in     input
	when   circumstances
	reads  bool // the step has read the clock
	adds   bool // to was not known before
}

// branch is one way in which a step can go on from a point: with an input, at the time of the step before or later.
type branch struct {
	from  uint32
	in    uint64
	later bool
	shape uint64
}

// fork is where branches begin.
type fork struct {
	from  uint32
	in    uint64
	later bool
}

// span is between which times the search has gone on from a fork: since the step before, and by the clock.
type span struct{ leastGap, gap, leastClock, clock ms }

// with is a span with one more gap and clock.
func (s span) with(gap, clock ms) span {
	if s == (span{}) {
		return span{gap, gap, clock, clock}
	}
	return span{min(s.leastGap, gap), max(s.gap, gap), min(s.leastClock, clock), max(s.clock, clock)}
}

// point is where a client stands, by all that it was given and did, but for numbers.
type point struct {
	ends  bool     // nothing was done after it
	met   int      // so many transitions lead to it
	paths []uint32 // some of them
}

// sampler takes samples.
type sampler struct {
	observer
	points   []point
	branches map[branch]uint32
	spans    map[fork]span
	inputs   map[fork]bool // that were given
	moments  map[fork][]moment
	firstMet map[float64]ms // what the clock showed when a time stamp was given first
	at       []uint32       // the point of each node
	by       []uint32       // the transition by which each node was reached first, plus 1
	behaved  []behavior
	bases    map[uint32]*baseline
	chance   *rand.Rand
	left     int // steps
	callers  process.Callers
	lease    ms
	pauses   int // that a client may have
}

// noticed says what the search has met that it does not follow; empty: nothing.
func (x *explorer) noticed() string {
	switch {
	case x.automaton.deadline:
		return "it asks for the deadline of its context, which in a search has none"
	case x.automaton.late:
		return "it asks whether a time-out of its own is over for which nothing waits, and in a search a time-out ends only what waits for it"
	case x.blocked && x.judge.coverage&wasHeld != 0:
		return "a client that came last was refused for good, although nothing was under the lock's key: another key, or the lock itself, keeps all others out"
	case x.endless && x.judge.coverage&wasHeld != 0:
		return "a client that came last was still in a try long after every lease had ended: whether the lock is stuck is not shown"
	case x.comparesRounded() && x.roundsFinely():
		return "it rounds the time, and goes by the time: there are more ends of rounded times than the search follows, as with less than a third of a lease, or with clocks that step"
	case x.far:
		return "a key, a wait or a sleep of more than two leases, or what is compared with a longer time, ends after the time that the search follows"
	}
	return ""
}

// doubts takes samples of what a search has seen and says what they show; empty: nothing else.
func (x *explorer) doubts(ctx context.Context) (string, error) {
	if noticed := x.noticed(); noticed != "" {
		return noticed, nil
	}
	p := newSampler(x.automaton)
	p.lease, p.pauses = x.lease, min(int(x.allowed[pause]), x.most)
	var ends []uint32
	for n, at := range p.points {
		if at.ends && len(at.paths) > 0 {
			ends = append(ends, uint32(n))
		}
	}
	p.chance.Shuffle(len(ends), func(i, k int) { ends[i], ends[k] = ends[k], ends[i] })
	if doubt, err := x.sampled(ctx, p, ends); doubt != "" || err != nil {
		return doubt, err
	}
	p.left = sampleSteps
	for before := p.left + 1; 0 < p.left && p.left < before; {
		before = p.left
		for _, n := range ends {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			paths := p.points[n].paths
			if doubt, err := p.sample(paths[p.chance.IntN(len(paths))]); doubt != "" || err != nil || p.left <= 0 {
				return doubt, err
			}
		}
	}
	return "", nil
}

// sampled takes samples of what a lock does otherwise than at other times, and looks at its code.
func (x *explorer) sampled(ctx context.Context, p *sampler, ends []uint32) (string, error) {
	booted := ends
	if !x.reads || slices.Contains(x.config.Lock.Clocks, impls.MonotonicClock) { // such a lock is explored with clocks that are off
		booted = nil
	}
	for _, check := range []struct {
		sample func(context.Context, []uint32) (string, error)
		of     []uint32
	}{
		{p.checkTokens, ends}, {p.checkLosses, ends}, {p.checkListings, ends}, {p.checkBoots, booted},
		{p.checkTries, p.endsAt(slices.Sorted(maps.Keys(x.tiredAt)))}, {p.checkTries, slices.Clone(p.a.ledBack)}, {p.checkCounting, slices.Sorted(maps.Keys(x.counting))},
		{p.checkRenewals, slices.Sorted(maps.Keys(x.renewing))},
	} {
		if doubt, err := check.sample(ctx, check.of); doubt != "" || err != nil {
			return doubt, err
		}
	}
	return p.checkCode(), nil
}

// doubt takes samples where the search has found nothing.
func (x *explorer) doubt(ctx context.Context) (err error) {
	if x.result.Found != nil {
		return x.checkIdentity()
	}
	if x.result.Limit == "" {
		x.result.Doubt, err = x.doubts(ctx)
	}
	return err
}

// checkIdentity refuses to accuse a lock whose clients call themselves by the numbers of their processes: in a search they all have the same.
func (x *explorer) checkIdentity() error {
	says := func(word string) bool {
		return slices.ContainsFunc(x.config.Numbers, func(number string) bool { return strings.Contains(word, number) })
	}
	shown := slices.ContainsFunc(x.result.Found.Steps, func(step trace.Step) bool {
		return slices.ContainsFunc(step.Request, func(words []string) bool { return slices.ContainsFunc(words, says) })
	})
	if !shown {
		return nil
	}
	s := x.automaton.newInstance(0)
	defer s.process.Close()
	by := process.Identity(x.automaton.spec, s.process.Lock("lock"))
	if by == "" {
		return nil
	}
	return x.automaton.impure(fmt.Errorf("%s asks for the number of its process, and in a search all clients are one, with one number: what is a client's own comes from Token", by))
}

func newSampler(a *automaton) *sampler {
	p := &sampler{
		observer: newObserver(a), branches: map[branch]uint32{}, spans: map[fork]span{}, inputs: map[fork]bool{}, moments: map[fork][]moment{}, firstMet: map[float64]ms{}, at: make([]uint32, len(a.nodes)), by: make([]uint32, len(a.nodes)),
		behaved: make([]behavior, len(a.taken)), bases: map[uint32]*baseline{}, callers: process.Callers{}, chance: rand.New(rand.NewPCG(3, uint64(len(a.taken)))), left: sampleSteps,
	}
	for client := range a.clients { // if they are all alike, they begin at one point
		p.points = append(p.points, point{ends: true})
		if len(a.texts.orders) == 1 {
			p.at[client] = uint32(client)
		}
	}
	clocks := make([]ms, len(a.nodes)) // of the latest step that has read it on the way to each node
	for i := range a.taken {
		t := &a.taken[i]
		n := a.nodes[t.to]
		p.behaved[i] = p.of(&n, t.output, t.reads)
		f := p.fork(t, clocks[t.at])
		clock := clocks[t.at]
		if t.reads {
			p.spans[f] = p.spans[f].with(t.when.clock-clock, t.when.clock)
			clock = t.when.clock
		}
		p.noteMoment(f, moment{p.a.stampsIn(t.in, nil), clock})
		to := p.follow(f, p.behaved[i].shape, uint32(i))
		if t.adds {
			p.at[t.to], p.by[t.to], clocks[t.to] = to, uint32(i)+1, clock
		}
	}
	return p
}

func (p *sampler) fork(t *execution, clock ms) fork {
	return fork{p.at[t.at], p.input(p.a.nodes[t.at].client, t.in), t.reads && t.when.clock > clock}
}

// follow is the point to which a transition leads.
func (p *sampler) follow(f fork, shape uint64, path uint32) uint32 {
	b := branch{f.from, f.in, f.later, shape}
	p.inputs[f] = true
	to, known := p.branches[b]
	if !known {
		to = uint32(len(p.points))
		p.points = append(p.points, point{ends: true})
		p.branches[b] = to
		p.points[f.from].ends = false
	}
	end := &p.points[to]
	end.met++
	if len(end.paths) < mostPaths {
		end.paths = append(end.paths, path)
	} else if n := p.chance.IntN(end.met); n < mostPaths { // any of them is as likely
		end.paths[n] = path
	}
	return to
}

// path are the transitions that lead to the end of one, from the first.
func (p *sampler) path(end uint32) (list []uint32) {
	for n := end + 1; n != 0; n = p.by[p.a.taken[n-1].at] {
		list = append(list, n-1)
	}
	slices.Reverse(list)
	return list
}

// isMade says whether the search itself has made a step, and has not only rehearsed it.
func (a *automaton) isMade(e *execution) bool {
	key := [2]uint64{uint64(e.at+1)<<32 | uint64(e.in.packed())}
	t := a.transitions.of(key)
	if !t.known {
		key[1] = t.particulars(e.when)
		t = a.transitions.of(key)
	}
	return t != nil && t.made
}
