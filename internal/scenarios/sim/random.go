package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// random chooses by priorities, like PCT (Burckhardt et al. 2010): each connection, and each client with its next operation, has a random priority. What
// can happen next with the highest priority happens, and at a few random steps it falls behind all others. In between time passes, connections
// break, and clients give up.
type random struct {
	Search
	rng    *rand.Rand
	room   []choice
	steps  int   // so far
	falls  []int // the steps at which the first choice falls behind
	lowest int   // priority so far
}

// choice is one of the things that can happen next, and how urgent it is.
type choice struct {
	step
	priority *int
}

// The odds of each step: one in so many.
const (
	oddsOfTime   = 12
	oddsOfBreak  = 25
	oddsOfGiveUp = 60
)

// expectedSteps is about how long a schedule is. Falls lie within.
const expectedSteps = 120

func newRandom(search Search) *random {
	r := &random{Search: search, rng: rand.New(rand.NewPCG(search.Seed, 0))}
	for range search.Depth {
		r.falls = append(r.falls, r.rng.IntN(expectedSteps))
	}
	return r
}

func (r *random) oneIn(n int) bool { return r.rng.IntN(n) == 0 }

func (r *random) priority() int { return 1 + r.rng.IntN(1000) }

func (*random) sent(*schedule, string, message) {}

func (r *random) next(s *schedule) (step, error) {
	number, choices, what := r.steps, r.choices(s), step{takes: instant}
	r.steps++
	switch {
	case len(choices) == 0:
		what.passes = s.idle()
	case r.oneIn(oddsOfTime):
		what.passes, what.through = r.some(), true
	case s.struck < r.Faults && r.oneIn(oddsOfBreak):
		r.breakOne(s, &what)
	case s.struck < r.Faults && r.oneIn(oddsOfGiveUp):
		r.giveUpOne(s, &what)
	default:
		first := slices.MaxFunc(choices, func(a, b choice) int { return *a.priority - *b.priority })
		if slices.Contains(r.falls, number) {
			r.lowest--
			*first.priority = r.lowest
		}
		what = first.step
		what.takes = instant + hop // what happens one after the other has times one after the other
	}
	return what, nil
}

// choices are what can happen without time. They are good until the next call.
func (r *random) choices(s *schedule) []choice {
	r.room = r.room[:0]
	for _, f := range s.flows {
		if f.underWay() {
			r.room = append(r.room, choice{step{arrives: f}, &f.priority})
		}
	}
	for _, p := range s.programs {
		if p.ready(s.bubble.Now()) {
			r.room = append(r.room, choice{step{begins: p}, &p.priority})
		}
	}
	return r.room
}

// some is for how long messages are late.
func (r *random) some() time.Duration {
	return r.Lease * time.Duration([]int{1, 5, 25, 40, 60, 110}[r.rng.IntN(6)]) / 100
}

// breakOne breaks a connection on which something is under way. A request may still arrive.
func (r *random) breakOne(s *schedule, what *step) {
	var under []*flow
	for _, f := range s.flows {
		if s.breakable(f) {
			under = append(under, f)
		}
	}
	if len(under) > 0 {
		s.struck++
		what.breaks = under[r.rng.IntN(len(under))]
		what.drop = !what.breaks.outlives() || r.oneIn(2)
	}
}

// giveUpOne has a client give its operation up.
func (r *random) giveUpOne(s *schedule, what *step) {
	for _, i := range r.rng.Perm(len(s.programs)) {
		if p := s.programs[i]; p.mayQuit() {
			s.struck++
			what.quits = p
			return
		}
	}
}

// turn waits for the lock, or tries once.
func (r *random) turn(s *schedule) []scenarios.Step {
	steps := []scenarios.Step{opStep(history.OpAcquire, r.Lease*time.Duration(r.rng.IntN(2))/2), opStep(history.OpWork, 0)}
	if s.bubble.run.Traits.Can(protocol.Renew) && r.oneIn(2) {
		steps = append(steps, opStep(history.OpRenew, 0))
	}
	if r.oneIn(3) {
		steps = append(steps, opStep(history.OpWork, 0))
	}
	return append(steps, opStep(history.OpRelease, 0))
}

func (r *random) patience(*schedule) time.Duration {
	return r.Lease * time.Duration(1+7*r.rng.IntN(2)) / 4
}

func (r *random) rest(*schedule) time.Duration {
	if !r.oneIn(3) {
		return 0
	}
	return r.some()
}
