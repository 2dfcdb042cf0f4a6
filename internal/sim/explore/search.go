package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// errEnough ends a search: there is a counterexample, or a limit.
var errEnough = errors.New("enough")

// errTravel: of the requests that a client has sent and does not wait for any more, not all found room.
var errTravel = errors.New("more was on its way at a time than the search can remember")

// errProvisional: what the properties have to remember did not fit.
var errProvisional = errors.New("more was undecided at a time than the search can remember")

// search expands states by faults spent, then by steps. A step that costs another fault waits until it is known that fewer are not enough.
func (x *explorer) search(ctx context.Context) error {
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
				return x.finish(cmp.Or(x.concludeAtLimit(err, faults, steps), err))
			}
		}
		if done, err := x.conclude(faults, math.MaxInt); done || err != nil {
			return x.finish(err)
		}
	}
	return x.finish(nil)
}

// concludeAtLimit concludes what was found before a limit, in the middle of a level: nothing that is left can be smaller.
func (x *explorer) concludeAtLimit(err error, faults, steps int) error {
	if err != errEnough {
		return nil
	}
	done, err := x.conclude(faults, steps+1)
	if done {
		x.result.Limit = ""
	}
	return err
}

// level takes every step that leads to so many faults, from every state after so many steps. From states with fewer faults, such a step is
// a fault.
func (x *explorer) level(ctx context.Context, faults, steps int) error {
	for spending := min(faults, x.atOnce); spending >= 0; spending-- {
		if err := x.expandLevel(ctx, faults, steps, spending); err != nil {
			return err
		}
	}
	x.done(faults, steps)
	return nil
}

// expandLevel takes the steps that spend so many faults, and lead to so many, from the states of one level.
func (x *explorer) expandLevel(ctx context.Context, faults, steps, spending int) error {
	x.result.Faults, x.result.Steps = faults, steps
	defer x.settle(steps + 1)
	e := expansion{x: x, faults: faults, steps: steps, spending: spending}
	return x.queues[faults-spending].at(steps).each(x.width, func(number uint32, f *form) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if x.visits++; x.visits%1024 == 0 {
			x.settle(steps + 1)
			if err := x.checkLimits(faults, steps); err != nil {
				return err
			}
		}
		return e.expand(number, f)
	})
}

// expansion expands the states of one level, one after the other.
type expansion struct {
	x                       *explorer
	faults, steps, spending int
	s, next                 state
	moves                   []move
}

func (e *expansion) expand(number uint32, f *form) error {
	x, s := e.x, &e.s
	x.unpack(s, f)
	m, after, private, err := x.privately(s, f)
	if err != nil {
		return err
	}
	if private {
		if x.missesClock() {
			return x.clockError()
		}
		if e.spending > 0 {
			return nil
		}
		return x.reach(after, e.faults, number, x.packMove(m), e.steps+1)
	}
	e.moves = x.moves(e.moves[:0], s, e.spending)
	for _, m := range e.moves {
		if err := e.take(m, number, f); err != nil {
			return err
		}
	}
	if e.spending == 0 && (x.ended(s) || x.onlyRefused(s)) && x.only&(stuckLock|lostUpdate) != 0 {
		return x.judgeEnd(s, number, e.faults, e.steps)
	}
	return nil
}

// missesClock says whether the lock has turned out to read a clock that the search has left out.
func (x *explorer) missesClock() bool {
	return x.automaton.Reads && !x.reads || x.automaton.Told && !x.told || x.automaton.Walls && !x.walls && x.allowed[stepAhead]+x.allowed[stepBack] > 0
}

// take makes a move from the state that has a number and a form.
func (e *expansion) take(m move, number uint32, f *form) error {
	x := e.x
	e.next = e.s
	x.judge.found = 0
	switch err := x.apply(&e.next, m); {
	case errors.Is(err, learn.ErrTokens):
		x.cut = learn.ErrTokens
		return nil
	case err != nil:
		return err
	}
	if x.missesClock() {
		return x.clockError()
	}
	if x.countsOn(&e.s, &e.next) {
		x.cut = errCounted
		return nil
	}
	for f := range x.struck {
		x.struck[f] = x.struck[f] || e.next.spent[f] > e.s.spent[f]
	}
	if x.finds(x.judge.found&x.only, &e.next, e.faults, finding{steps: e.steps + 1, parent: number, move: x.packMove(m)}) {
		return nil
	}
	return x.reach(x.pack(&e.next, &e.s, f), e.faults, number, x.packMove(m), e.steps+1)
}

// finds notes anomalies of a state, and says whether the search ends there. It goes on after those that are excused.
func (x *explorer) finds(found anomalies, s *state, faults int, f finding) bool {
	if found == 0 {
		return false
	}
	excused := x.excuses(found, s, f)
	if f.found = found &^ excused; f.found != 0 {
		x.note(faults, f)
		return true
	}
	for rest := excused; rest != 0; rest &= rest - 1 {
		name := rest & -rest
		if _, known := x.excused[name]; !known {
			f.found = name
			x.excused[name] = f
		}
	}
	return false
}

// excuses are those of the anomalies of a state that Config.Excuses lets pass. To wait for what is lost takes as long as a long hold.
func (x *explorer) excuses(found anomalies, s *state, f finding) (excused anomalies) {
	if x.config.Excuses == nil {
		return 0
	}
	struck := s.struck()
	if !slices.Contains(struck, faults.LongHold) && x.waited(f) {
		struck = append(struck, faults.LongHold)
	}
	for i, name := range Anomalies() {
		if found&(1<<i) != 0 && x.config.Excuses(name, struck) {
			excused |= 1 << i
		}
	}
	return excused
}

// waited says whether time passed on the way to a finding while a client waited for what was lost.
func (x *explorer) waited(f finding) bool {
	waits := func(packed uint32) bool {
		m := x.unpackMove(packed)
		return m.kind == movePass && m.paused&m.busy != 0
	}
	for n := f.parent; n != 0; n = x.origins[n].parent {
		if waits(x.origins[n].move) {
			return true
		}
	}
	return !f.end && waits(f.move)
}

// concludeExcused makes traces of the excused anomalies. Those that the checker does not confirm are disputed.
func (x *explorer) concludeExcused() error {
	for _, name := range slices.Sorted(maps.Keys(x.excused)) {
		found, err := x.trace(x.excused[name])
		if err != nil {
			return err
		}
		if unseen := disputed(found, name); unseen != "" {
			x.result.Disputed = append(x.result.Disputed, Dispute{Anomaly: unseen, Verdict: found.Verdict, Trace: found})
			continue
		}
		x.result.Excused = append(x.result.Excused, found)
	}
	return nil
}

// conclude turns the first finding that is due into a trace. One that the checker does not confirm is kept as disputed, and the search goes
// on.
func (x *explorer) conclude(faults, steps int) (bool, error) {
	for list := x.findings[faults]; len(list) > 0 && list[0].steps <= steps; list = x.findings[faults] {
		if err := cmp.Or(x.asked(), x.automaton.Verify()); err != nil {
			return false, err // a trace of what a lock does not do could not even be recorded
		}
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

func (x *explorer) checkLimits(faults, steps int) error {
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
	case len(x.origins) >= math.MaxUint32-1<<16:
		x.result.Limit = "as many states as can be numbered"
	default:
		return nil
	}
	return errEnough
}

func (x *explorer) finish(err error) error {
	if err != nil && err != errEnough {
		return err
	}
	if x.result.Found == nil {
		if err := x.concludeExcused(); err != nil {
			return err
		}
	}
	for f, kind := range kinds {
		if x.allowed[f] > 0 && x.most > 0 && !x.struck[f] {
			x.result.Idle = append(x.result.Idle, kind)
		}
	}
	x.result.Progress = x.progress(x.result.Faults, x.result.Steps)
	x.result.Learned, x.result.Nodes = x.automaton.Steps, len(x.automaton.Nodes)
	x.result.Longest, x.result.Coverage = x.longest, x.judge.coverage.words()
	x.result.Symmetric, x.result.Unjudged = len(x.texts.Orders) > 1, x.judge.unjudged().names()
	x.result.Sessions, x.result.Uncalled = x.sessions, x.uncalled()
	x.result.Unnamed = !x.servers.Seen && x.config.Lock.Needs != impls.NoServer
	if x.beyond || (x.reads || x.told) && x.result.Found == nil { // who reads a clock may compare with any time
		x.result.Horizon = duration(maxPass)
		if x.timed {
			x.result.Horizon = duration(x.horizon)
		}
	}
	n := float64(len(x.origins))
	x.result.Collision = n * n / 2 / math.Pow(2, 64)
	if x.judge.full {
		x.cut = errProvisional
	}
	if x.cut != nil && x.result.Limit == "" && x.result.Found == nil {
		x.result.Limit = x.cut.Error()
	}
	return nil
}

// ended says whether no client will do anything any more unless time passes.
func (x *explorer) ended(s *state) bool {
	for i := range x.clients {
		c := &s.clients[i]
		if c.travel != [mostTravel]uint32{} || c.cut {
			return false
		}
		main, background := x.ready(s, i)
		if main || background {
			return false
		}
	}
	timer, _ := x.deadlines(s)
	return timer == never || x.allGone(s)
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
