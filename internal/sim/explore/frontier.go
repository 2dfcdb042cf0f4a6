package explore

import (
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"
)

// frontier is which states have been found, in which order they are expanded, and what they showed.
type frontier struct {
	seen     *learn.Fingerprints
	arrivals []arrival
	origins  []origin              // by number
	queues   []queue               // by faults spent
	atOnce   int                   // how many faults one step can spend
	findings [][]finding           // by faults spent
	excused  map[anomalies]finding // the first of each that Config.Excuses lets pass
	longest  int                   // steps of a path
	visits   int                   // how many times a state has been expanded
}

func newFrontier(b bounds) frontier {
	return frontier{
		seen: learn.NewFingerprints(), queues: make([]queue, b.most+1), findings: make([][]finding, b.most+1), excused: map[anomalies]finding{},
		atOnce: min(max(int(b.allowed[pause])+int(b.allowed[longHold]), 1), b.most, b.clients),
	}
}

// queue holds the states that have been found at one number of faults, by steps.
type queue struct {
	levels []level  // by steps; those that are not needed any more are empty
	spare  []uint32 // the room of the level that was cleared last
}

// level is states, one after another: the number of each, and its form.
type level struct {
	words []uint32
	fresh int // of them, those that have not been expanded
}

func (q *queue) add(steps int, number uint32, written []uint32) {
	for len(q.levels) <= steps {
		q.levels = append(q.levels, level{})
	}
	l := &q.levels[steps]
	if l.words == nil {
		l.words, q.spare = q.spare[:0], nil
	}
	l.words = append(append(l.words, number), written...)
	l.fresh++
}

// at is the level of so many steps, as far as it is known.
func (q *queue) at(steps int) level {
	if steps >= len(q.levels) {
		return level{}
	}
	return q.levels[steps]
}

// clear forgets a level, and returns its room.
func (q *queue) clear(steps int) (room []uint32) {
	room = q.at(steps).words
	if steps < len(q.levels) {
		q.levels[steps] = level{}
	}
	return room
}

// each visits the states of a level, whose forms have so many words.
func (l level) each(width int, visit func(number uint32, f *form) error) error {
	var f form
	for w := l.words; len(w) > 0; w = w[1+width:] {
		copy(f[:width], w[1:])
		if err := visit(w[0], &f); err != nil {
			return err
		}
	}
	return nil
}

// origin is how a state was found: by a packed move from its parent.
type origin struct{ parent, move uint32 }

// finding is the first step at some number of faults that shows an anomaly.
type finding struct {
	found  anomalies
	steps  int
	parent uint32
	move   uint32
	end    bool // it shows after the parent, which is an end
}

// mostFindings is how many findings are kept at each number of faults: one is enough, if the checker agrees.
const mostFindings = 64

// note keeps the first findings at each number of faults, by steps.
func (r *frontier) note(faults int, f finding) {
	list := r.findings[faults]
	at, _ := slices.BinarySearchFunc(list, f.steps+1, func(known finding, steps int) int { return known.steps - steps })
	if at < mostFindings {
		list = slices.Insert(list, at, f)
		r.findings[faults] = list[:min(len(list), mostFindings)]
	}
}

// reaches says whether a state is left to expand that costs no more than so many faults, after so many steps.
func (r *frontier) reaches(faults, steps int) bool {
	for f := max(faults-r.atOnce, 0); f <= faults; f++ {
		if steps < len(r.queues[f].levels) {
			return true
		}
	}
	return false
}

// done forgets what no later step starts from, once every step that leads to so many faults was taken from the states after so many steps.
func (r *frontier) done(faults, steps int) {
	if steps < len(r.queues[faults].levels) {
		r.queues[faults].levels[steps].fresh = 0
	}
	last := faults == len(r.queues)-1
	for f := max(faults-r.atOnce, 0); f < faults; f++ {
		if last || f == faults-r.atOnce {
			r.queues[f].clear(steps)
		}
	}
	if last {
		r.queues[faults].spare = r.queues[faults].clear(steps)
	}
}

// arrival is a state that a move leads to. It may have been found before.
type arrival struct {
	print        uint64
	form         form // the normal one
	faults       int
	parent, move uint32
}

// mostArrivals are looked up together, so that the processor loads their places in the table at the same time, and not one after the other.
const mostArrivals = 64

// reach adds the state that a move leads to.
func (x *explorer) reach(f form, faults int, parent, move uint32, steps int) error {
	f, _, err := x.normal(&f)
	if err != nil {
		return err
	}
	x.arrivals = append(x.arrivals, arrival{learn.Fingerprint(f[:x.width]), f, faults, parent, move})
	if len(x.arrivals) == mostArrivals {
		x.settle(steps)
	}
	return nil
}

// settle queues those arrivals that have not been found before, nor a state that is the same but for the order of the clients. All are so
// many steps from the first state.
func (x *explorer) settle(steps int) {
	for i := range x.arrivals {
		x.seen.Fetch(x.arrivals[i].print)
	}
	for i := range x.arrivals {
		a := &x.arrivals[i]
		if !x.seen.Add(a.print) {
			continue
		}
		if x.visited != nil {
			x.visited(a.form)
		}
		number := uint32(len(x.origins))
		if len(x.origins) == cap(x.origins) {
			x.origins = slices.Grow(x.origins, len(x.origins)+1<<12)
		}
		x.origins = append(x.origins, origin{a.parent, a.move})
		x.queues[a.faults].add(steps, number, a.form[:x.width])
		x.longest = max(x.longest, steps)
	}
	x.arrivals = x.arrivals[:0]
}

func (x *explorer) progress(faults, steps int) Progress {
	p := Progress{States: len(x.origins), Steps: steps, Faults: faults, Took: time.Since(x.began)}
	p.Memory = x.seen.Bytes() + 8*cap(x.origins) + x.parts.bytes() + x.rehearsed.bytes() + x.automaton.Bytes()
	for i := range x.queues {
		p.Memory += 4 * cap(x.queues[i].spare)
		for j := range x.queues[i].levels {
			p.Frontier += x.queues[i].levels[j].fresh
			p.Memory += 4 * cap(x.queues[i].levels[j].words)
		}
	}
	return p
}
