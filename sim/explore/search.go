package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// queue holds the states that have been found at one number of faults, by steps.
type queue struct {
	levels []level  // by steps; those that are not needed any more are empty
	spare  []uint32 // the room of the level that was cleared last
}

// level is states, one after another: the number of each, and its form.
type level struct {
	words []uint32
	fresh int // of them, those that have not been looked at
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

// way is how a state was found: by a packed move from its parent.
type way struct{ parent, move uint32 }

// finding is the first step at some number of faults that shows an anomaly.
type finding struct {
	found  anomalies
	steps  int
	parent uint32
	move   uint32
	end    bool // what shows it is what comes after the parent, which is an end
}

// errEnough ends a search: there is a counterexample, or a limit.
var errEnough = errors.New("enough")

func (x *explorer) search(ctx context.Context) error {
	defer x.automaton.class.dismiss()
	if err := x.reach(x.pack(x.initial(), nil, nil), 0, 0, 0, 0); err != nil {
		return err
	}
	x.settle(0)
	for faults := range x.queues {
		for steps := 0; x.reaches(faults, steps); steps++ {
			if done, err := x.conclude(faults, steps); done || err != nil {
				return x.finish(err)
			}
			if err := x.level(ctx, faults, steps); err != nil {
				return x.finish(cmp.Or(x.salvage(err, faults, steps), err))
			}
		}
		if done, err := x.conclude(faults, math.MaxInt); done || err != nil {
			return x.finish(err)
		}
	}
	return x.finish(nil)
}

// salvage concludes what a limit has come upon in the middle of a level: nothing that is left can be smaller.
func (x *explorer) salvage(err error, faults, steps int) error {
	if err != errEnough {
		return nil
	}
	done, err := x.conclude(faults, steps+1)
	if done {
		x.result.Limit = ""
	}
	return err
}

// reaches says whether there is something to look at yet that costs no more than so many faults, after so many steps.
func (x *explorer) reaches(faults, steps int) bool {
	for f := max(faults-x.atOnce, 0); f <= faults; f++ {
		if steps < len(x.queues[f].levels) {
			return true
		}
	}
	return false
}

// level takes a step that leads to so many faults, from every state after so many steps: from those with fewer faults it is a fault. So
// what costs another fault is not looked at before it is known that fewer are not enough, and whatever is found, is found by its
// shortest way.
func (x *explorer) level(ctx context.Context, faults, steps int) error {
	for spending := min(faults, x.atOnce); spending >= 0; spending-- {
		if err := x.look(ctx, x.queues[faults-spending].at(steps), faults, steps, spending); err != nil {
			return err
		}
	}
	if steps < len(x.queues[faults].levels) {
		x.queues[faults].levels[steps].fresh = 0
	}
	last := faults == len(x.queues)-1
	for f := max(faults-x.atOnce, 0); f < faults; f++ {
		if last || f == faults-x.atOnce {
			x.queues[f].clear(steps)
		}
	}
	if last {
		x.queues[faults].spare = x.queues[faults].clear(steps)
	}
	return nil
}

// errTravel: of what a client has sent and nobody waits for any more, not all found room.
var errTravel = errors.New("more was on its way at a time than the search can remember")

// errCharges: what the properties have to remember did not fit.
var errCharges = errors.New("more was open at a time than the search can remember")

func (x *explorer) finish(err error) error {
	if err != nil && err != errEnough {
		return err
	}
	x.result.Progress = x.progress(x.result.Faults, x.result.Steps)
	x.result.Learned, x.result.Nodes = x.automaton.steps, len(x.automaton.nodes)
	x.result.Longest, x.result.Coverage = x.longest, x.judge.coverage.words()
	x.result.Symmetric = len(x.texts.orders) > 1
	if x.beyond {
		x.result.Horizon = duration(x.horizon)
	}
	n := float64(len(x.ways))
	x.result.Collision = n * n / 2 / math.Pow(2, 64)
	if x.judge.full {
		x.cut = errCharges
	}
	if x.cut != nil && x.result.Limit == "" && x.result.Found == nil {
		x.result.Limit = x.cut.Error()
	}
	return nil
}

// look takes all steps from the states of one level that spend so many faults, and lead to so many.
func (x *explorer) look(ctx context.Context, l level, faults, steps, spending int) error {
	var s, next state
	var moves []move
	x.result.Faults, x.result.Steps = faults, steps
	defer x.settle(steps + 1)
	return l.each(x.width, func(number uint32, f *form) error {
		if x.looked++; x.looked%1024 == 0 {
			x.settle(steps + 1)
			if err := x.pause(ctx, faults, steps); err != nil {
				return err
			}
		}
		x.unpack(&s, f)
		if m, after, found, err := x.privately(&s, f); found || err != nil {
			if err == nil && x.automaton.reads && !x.reads {
				err = errReads
			}
			if err != nil || spending > 0 {
				return err
			}
			return x.reach(after, faults, number, m.packed(), steps+1)
		}
		moves = x.spending(moves[:0], &s, spending)
		for _, m := range moves {
			next = s
			x.judge.found = 0
			switch err := x.apply(&next, m); {
			case errors.Is(err, errTokens):
				x.cut = errTokens
				continue
			case err != nil:
				return err
			}
			if x.automaton.reads && !x.reads {
				return errReads
			}
			if found := x.judge.found & x.only; found != 0 {
				x.note(faults, finding{found: found, steps: steps + 1, parent: number, move: m.packed()})
				continue
			}
			if err := x.reach(x.pack(&next, &s, f), faults, number, m.packed(), steps+1); err != nil {
				return err
			}
		}
		if spending == 0 && x.ended(&s) && x.only&(stuckLock|lostUpdate) != 0 {
			return x.judgeEnd(&s, number, faults, steps)
		}
		return nil
	})
}

// mostFindings is how many findings are kept at each number of faults: one is enough, if the checker agrees.
const mostFindings = 64

// note keeps the first findings at each number of faults, by steps.
func (x *explorer) note(faults int, f finding) {
	list := x.findings[faults]
	at, _ := slices.BinarySearchFunc(list, f.steps+1, func(known finding, steps int) int { return known.steps - steps })
	if at < mostFindings {
		list = slices.Insert(list, at, f)
		x.findings[faults] = list[:min(len(list), mostFindings)]
	}
}

// arrival is a state that has been come to; whether for the first time is still to be asked.
type arrival struct {
	print        uint64
	form         form // the normal one
	faults       int
	parent, move uint32
}

// mostArrivals are asked for together: what the table has of them comes from memory at the same time, and not one after the other.
const mostArrivals = 64

// reach comes to a state.
func (x *explorer) reach(f form, faults int, parent, move uint32, steps int) error {
	f, _, err := x.normal(&f)
	if err != nil {
		return err
	}
	x.arrivals = append(x.arrivals, arrival{fingerprint(f[:x.width]), f, faults, parent, move})
	if len(x.arrivals) == mostArrivals {
		x.settle(steps)
	}
	return nil
}

// settle puts those states that have been come to into the queues by their faults which have not been found before, nor one that is the
// same but for the order of the clients. All are so many steps from the beginning.
func (x *explorer) settle(steps int) {
	for i := range x.arrivals {
		x.seen.fetch(x.arrivals[i].print)
	}
	for i := range x.arrivals {
		a := &x.arrivals[i]
		if !x.seen.add(a.print) {
			continue
		}
		if x.visited != nil {
			x.visited(a.form)
		}
		number := uint32(len(x.ways))
		if len(x.ways) == cap(x.ways) {
			x.ways = slices.Grow(x.ways, len(x.ways)+1<<12)
		}
		x.ways = append(x.ways, way{a.parent, a.move})
		x.queues[a.faults].add(steps, number, a.form[:x.width])
		x.longest = max(x.longest, steps)
	}
	x.arrivals = x.arrivals[:0]
}

// conclude turns the first finding that is due into a trace. One that the checker does not confirm is kept for what it is, and the
// search goes on.
func (x *explorer) conclude(faults, steps int) (bool, error) {
	for list := x.findings[faults]; len(list) > 0 && list[0].steps <= steps; list = x.findings[faults] {
		found, err := x.trace(list[0])
		if err != nil {
			return false, err
		}
		unseen := disputed(found, list[0].found)
		if unseen == "" {
			x.result.Found = found
			return true, nil
		}
		x.result.Disputed = append(x.result.Disputed, Dispute{Anomaly: unseen, Verdict: found.Verdict, Trace: found})
		x.findings[faults] = list[1:]
	}
	return false, nil
}

func (x *explorer) pause(ctx context.Context, faults, steps int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := x.progress(faults, steps)
	if x.config.Progress != nil {
		x.config.Progress(p)
	}
	c := &x.config
	switch {
	case c.States > 0 && p.States >= c.States:
		x.result.Limit = fmt.Sprintf("%d states", c.States)
	case c.Memory > 0 && p.Memory >= c.Memory:
		x.result.Limit = fmt.Sprintf("%d MiB", c.Memory>>20)
	case c.Time > 0 && p.Took >= c.Time:
		x.result.Limit = c.Time.String()
	case len(x.ways) >= math.MaxUint32-1<<16:
		x.result.Limit = "as many states as can be numbered"
	default:
		return nil
	}
	return errEnough
}

func (x *explorer) progress(faults, steps int) Progress {
	p := Progress{States: len(x.ways), Steps: steps, Faults: faults, Took: time.Since(x.began)}
	p.Memory = x.seen.bytes() + 8*cap(x.ways) + x.parts.bytes()
	for i := range x.queues {
		p.Memory += 4 * cap(x.queues[i].spare)
		for j := range x.queues[i].levels {
			p.Frontier += x.queues[i].levels[j].fresh
			p.Memory += 4 * cap(x.queues[i].levels[j].words)
		}
	}
	return p
}

// ended says whether nobody will do anything any more unless time passes.
func (x *explorer) ended(s *state) bool {
	for i := range x.clients {
		c := &s.clients[i]
		if c.travel != [mostTravel]uint32{} {
			return false
		}
		main, beside := x.ready(s, i)
		if main || beside {
			return false
		}
	}
	timer, expiry := x.deadlines(s)
	return timer == never && expiry == never || x.allGone(s)
}

// allGone says whether no client is left that wants the lock.
func (x *explorer) allGone(s *state) bool {
	for i := range x.clients {
		if p := s.clients[i].phase; p != finished && p != crashed {
			return false
		}
	}
	return true
}
