package explore

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/history"
)

// baseline is a path with what it does at the times of the search, and how that depends on them.
type baseline struct {
	path   []uint32
	clocks []ms
	first  int   // the first step that reads the clock
	gaps   []int // the steps after it before which time passes
	did    []behavior
	made   bool          // all its steps by the search itself
	slopes [][][]float64 // by gap and step: how much each number changes in a millisecond; nil: not known yet
}

// clockwork says what the clock shows in a step. before: in the one before. due: when what is given is due at the earliest, and at the latest.
type clockwork func(k int, before, earliest, latest ms) ms

// baselineOf executes a path at the times of the search.
func (p *sampler) baselineOf(end uint32) (*baseline, error) {
	if known := p.bases[end]; known != nil {
		return known, nil
	}
	b := &baseline{path: p.path(end), made: true}
	clock, begun := ms(0), false
	for k, n := range b.path {
		t := &p.a.taken[n]
		b.made = b.made && p.a.isMade(t)
		if t.reads {
			switch {
			case !begun:
				b.first = k
			case t.when.clock > clock:
				b.gaps = append(b.gaps, k)
			}
			clock, begun = t.when.clock, true
		}
		b.clocks = append(b.clocks, clock)
	}
	var err error
	if b.did, _, err = p.run(b, func(k int, _, _, _ ms) ms { return b.clocks[k] }); err != nil {
		return nil, err
	}
	if last := len(b.path) - 1; len(b.did) != len(b.path) || b.did[last].shape != p.behaved[b.path[last]].shape {
		return nil, p.a.impure(errTwice)
	}
	p.bases[end] = b
	return b, nil
}

// run executes a path up to the first step that does something else than in the search.
func (p *sampler) run(b *baseline, clock clockwork) (did []behavior, clocks []ms, err error) {
	p.a.executing.Store(int64(time.Since(p.a.born)))
	defer p.a.executing.Store(0)
	s := p.a.newInstance(int(p.a.nodes[p.a.taken[b.path[0]].at].client))
	s.process.Rehearse()
	defer s.process.Close()
	var began [mostSlots]ms
	otherWords, sent := map[string]string{}, map[string]bool{}
	now, shown := ms(math.MinInt32), ms(0)
	for k, n := range b.path {
		t := &p.a.taken[n]
		earliest, latest := now, ms(never)
		if due := s.slots[t.in.slot].due; t.in.kind != inputCall && due >= 0 && due != never {
			switch t.in.kind {
			case inputWake, inputExpired:
				earliest = max(now, began[t.in.slot]+due)
			default:
				latest = began[t.in.slot] + due
			}
		}
		if now = max(now, earliest); t.reads {
			shown = clock(k, shown, earliest, latest)
			now = max(now, shown)
		}
		clocks = append(clocks, shown)
		waits := s.waits
		p.left--
		when := circumstances{reading{shown, t.when.steps, t.when.life, t.when.lasts}, t.when.used}
		in := p.inOtherWords(t.in, otherWords)
		notices, err := p.a.execute(s, in, when)
		if err != nil {
			return nil, nil, p.a.impure(err)
		}
		at, err := p.a.describe(s)
		if err != nil {
			return nil, nil, err
		}
		for slot := range began {
			if s.waits[slot] != waits[slot] && at.slots[slot].due != goesOn {
				began[slot] = now
			}
		}
		var remembered []float64
		if at.idle && !p.a.forgets {
			at.outline, remembered = p.a.outline(s)
		}
		does := p.of(&at, p.a.outputNumber(notices), s.host.read)
		does.numbers, does.stamps = append(does.numbers, remembered...), p.a.stampsIn(in, sent)
		did = append(did, does)
		if did[k].shape != p.behaved[n].shape {
			break
		}
		p.noteOtherWords(otherWords, &p.a.nodes[t.to], &at)
		p.a.noteSent(sent, &at)
	}
	return did, clocks, nil
}

// noteOtherWords notes what a client has sent where, in the search, it sent other words: a time stamp at another time.
func (p *sampler) noteOtherWords(words map[string]string, was, is *node) {
	for k, sl := range is.slots[:is.tasks] {
		before, now := was.slots[k].request, sl.request
		if before == now || before == 0 || now == 0 {
			continue
		}
		old, others := slices.Concat(p.a.texts.requests[before].commands...), slices.Concat(p.a.texts.requests[now].commands...)
		for i := range min(len(old), len(others)) {
			if old[i] != others[i] {
				words[old[i]] = others[i]
			}
		}
	}
}

// inOtherWords is an input in which a server answers with what the client has sent.
func (p *sampler) inOtherWords(in input, words map[string]string) input {
	if in.kind != inputReply || len(words) == 0 {
		return in
	}
	in.arg = p.a.texts.reply(renameReplies(p.a.texts.replies[in.arg].replies, func(text string) string { return cmp.Or(words[text], text) }))
	return in
}

// sample executes a path at other times. A try that the search has rehearsed, and has not made because nothing had changed, is none.
func (p *sampler) sample(end uint32) (string, error) {
	b, err := p.baselineOf(end)
	if err != nil || !b.made {
		return "", err
	}
	for range samplesAtOnce {
		gaps := b.gaps
		if len(gaps) == 0 {
			gaps = p.pausesIn(b)
		}
		if len(gaps) == 0 {
			return "", nil
		}
		did, clocks, err := p.run(b, func(k int, before, earliest, latest ms) ms { return p.draw(b, k, gaps, before, earliest, latest) })
		if err != nil {
			return "", err
		}
		points := []uint32{p.at[p.a.taken[b.path[0]].at]}
		for k := range did {
			offered, to, err := p.follows(b, k, points, gaps, clocks, did[k])
			if err != nil {
				return "", err
			}
			if !offered {
				break // there the search gives something else
			}
			if points = to; len(points) == 0 {
				return p.describe(b, k, gaps, clocks), nil
			}
		}
	}
	return "", nil
}

// pausesIn are some steps of a path, in which no time passes, before which its client may be paused. The search has no reason to pause it if nothing
// that it follows changes meanwhile.
func (p *sampler) pausesIn(b *baseline) []int {
	var reads []int
	for k, n := range b.path {
		switch t := &p.a.taken[n]; {
		case t.in.kind == inputLost, t.reads && t.when.clock != 0:
			return nil // somebody may have been struck before
		case t.reads:
			reads = append(reads, k)
		}
	}
	if len(reads) < 2 || p.pauses == 0 {
		return nil
	}
	reads = reads[1:]
	p.chance.Shuffle(len(reads), func(i, k int) { reads[i], reads[k] = reads[k], reads[i] })
	gaps := reads[:min(len(reads), p.pauses)]
	slices.Sort(gaps)
	return gaps
}

// draw is what the clock shows in a step: as much later than in the one before as in the search, or, where that is later at all, than it may be.
func (p *sampler) draw(b *baseline, k int, gaps []int, before, earliest, latest ms) ms {
	if !slices.Contains(gaps, k) {
		if k > 0 && b.clocks[k] <= b.clocks[k-1] {
			return max(before, earliest)
		}
		return b.clocks[k] // the first time that it is read
	}
	least, most := ms(1), 2*p.lease
	if f := p.forkAt(b, k); len(b.gaps) > 0 {
		s := p.spans[f]
		most = min(s.gap, s.clock-before)
		if !p.inputs[fork{f.from, f.in, false}] { // it may be the answer that there is from some time on only
			least = max(s.leastGap, s.leastClock-before)
		}
	}
	most = min(most, least+[...]ms{p.lease, 2 * p.lease, 2 * p.lease, horizon * p.lease}[p.chance.IntN(4)])
	drawn := before + least
	if most > least {
		drawn += ms(p.chance.Int32N(int32(most - least + 1)))
	}
	return max(min(drawn, latest), earliest)
}

func (p *sampler) forkAt(b *baseline, k int) fork {
	clock := ms(0)
	if k > 0 {
		clock = b.clocks[k-1]
	}
	return p.fork(&p.a.taken[b.path[k]], clock)
}

// follows returns the points to which a path's step k may lead, at other times, from one of some points: the search has seen there what the step has done. offered:
// it gives there what the step is given.
func (p *sampler) follows(b *baseline, k int, from []uint32, gaps []int, clocks []ms, did behavior) (offered bool, to []uint32, err error) {
	f, waited := p.forkAt(b, k), slices.Contains(gaps, k)
	for _, f.from = range from {
		offered = offered || p.offered(f, moment{did.stamps, clocks[k]}, waited)
		known, err := p.expected(b, k, f, gaps, clocks, did)
		if err != nil {
			return false, nil, err
		}
		to = append(to, known...)
	}
	return offered, to, nil
}

// expected returns the points that follow a fork in the search where what a path has done in its step k, at other times, was done there. There may be two after
// the call of an acquire: the search does not make a later one that comes to the same as an earlier one.
func (p *sampler) expected(b *baseline, k int, f fork, gaps []int, clocks []ms, did behavior) (to []uint32, err error) {
	in := p.a.taken[b.path[k]].in
	again := in.kind == inputCall && history.Op(in.arg) == history.OpAcquire
	if slices.Contains(gaps, k) {
		f.later = true
	}
	for _, later := range [...]bool{f.later, !f.later} {
		point, met := p.branches[branch{f.from, f.in, later, did.shape}]
		if !met || len(to) > 0 && !again {
			continue
		}
		known, err := p.fitsAny(b, k, point, gaps, clocks, did.numbers)
		if err != nil {
			return nil, err
		}
		if known {
			to = append(to, point)
		}
	}
	return to, nil
}

// fitsAny says whether numbers fit a path, or one of those that lead to a point.
func (p *sampler) fitsAny(b *baseline, k int, point uint32, gaps []int, clocks []ms, numbers []float64) (bool, error) {
	if ok, err := p.fits(b, k, gaps, clocks, numbers); ok || err != nil {
		return ok, err
	}
	for _, end := range p.points[point].paths {
		other, err := p.baselineOf(end)
		if err != nil {
			return false, err
		}
		if ok, err := p.fits(other, k, gaps, clocks, numbers); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// fits says whether numbers are those of a path's step k, if each goes on to change with time as it does there.
func (p *sampler) fits(b *baseline, k int, gaps []int, clocks []ms, numbers []float64) (bool, error) {
	if k >= len(b.did) || len(numbers) != len(b.did[k].numbers) {
		return false, nil
	}
	want, slope := slices.Clone(b.did[k].numbers), make([]float64, len(numbers))
	var shifted ms
	for _, from := range union(b.first, gaps, b.gaps, k) {
		shift := sincePrevious(clocks, from) - sincePrevious(b.clocks, from)
		if shift == 0 {
			continue
		}
		slopes, err := p.slope(b, from)
		if err != nil {
			return false, err
		}
		for i := range want {
			if slopes[k] == nil {
				return false, nil
			}
			want[i] += slopes[k][i] * float64(shift)
			slope[i] = max(slope[i], math.Abs(slopes[k][i]))
		}
		shifted += max(shift, -shift)
	}
	for i := range want {
		if math.Abs(want[i]-numbers[i]) > tolerance(want[i], slope[i], shifted) {
			return false, nil
		}
	}
	return true, nil
}

// tolerance is by how much a number may be another one than expected: to the millisecond, and if it is a time in seconds, to the second.
func tolerance(number, slope float64, shifted ms) float64 {
	if slope == 0 && number >= since1970 {
		return float64(shifted)/1000 + 1
	}
	return 2 * slope
}

// union are the first step and those in either of two lists, up to k.
func union(first int, a, b []int, k int) []int {
	list := slices.Concat([]int{first}, a, b)
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(n int) bool { return n > k })
}

// sincePrevious is how much later a step is than the one before; the first, than the beginning.
func sincePrevious(clocks []ms, k int) ms {
	if k == 0 {
		return clocks[0]
	}
	return clocks[k] - clocks[k-1]
}

// slope is how much the numbers of each step change if a step, and all after it, are a millisecond later, or earlier: whichever changes less.
func (p *sampler) slope(b *baseline, from int) ([][]float64, error) {
	if b.slopes == nil {
		b.slopes = make([][][]float64, len(b.path))
	}
	if known := b.slopes[from]; known != nil {
		return known, nil
	}
	slopes := make([][]float64, len(b.path))
	for _, by := range [...]ms{1, -1} {
		did, _, err := p.run(b, func(k int, _, _, _ ms) ms {
			if k < from {
				return b.clocks[k]
			}
			return b.clocks[k] + by
		})
		if err != nil {
			return nil, err
		}
		for k := from; k < len(did); k++ {
			was, is := b.did[k], did[k]
			if is.shape != was.shape || len(is.numbers) != len(was.numbers) {
				break
			}
			for i := range is.numbers {
				d := (is.numbers[i] - was.numbers[i]) * float64(by)
				switch {
				case len(slopes[k]) <= i:
					slopes[k] = append(slopes[k], d)
				case math.Abs(d) < math.Abs(slopes[k][i]):
					slopes[k][i] = d
				}
			}
		}
	}
	b.slopes[from] = slopes
	return slopes, nil
}

// operation is the operation that a path's step is part of, and the step in which it was called.
func (p *sampler) operation(b *baseline, k int) (op history.Op, called int) {
	op = history.OpAcquire
	for i, n := range b.path[:k+1] {
		if in := p.a.taken[n].in; in.kind == inputCall {
			op, called = history.Op(in.arg), i
		}
	}
	return op, called
}

// describe says what a path has done in its step k, and after what times.
func (p *sampler) describe(b *baseline, k int, gaps []int, clocks []ms) string {
	op, called := p.operation(b, k)
	var passed []string
	for _, from := range gaps {
		if from >= called && from > 0 && from <= k {
			passed = append(passed, duration(clocks[from]-clocks[from-1]).String())
		}
	}
	when := ""
	if len(passed) > 0 {
		when = fmt.Sprintf(", with %s between its steps,", strings.Join(passed, " and "))
	}
	return fmt.Sprintf("%s%s does or answers what it does at none of the times that the search visits", op, when)
}
