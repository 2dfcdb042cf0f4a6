package explore

import (
	"slices"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/sim/trace"
)

// trace makes the moves to a finding again, records them, and has the checker judge the history.
func (x *explorer) trace(f finding) (*trace.Trace, error) {
	var path []uint32
	if !f.end {
		path = append(path, f.move)
	}
	for n := f.parent; n != 0; n = x.origins[n].parent {
		path = append(path, x.origins[n].move)
	}
	slices.Reverse(path)
	r := newRecorder(x)
	r.trace.Anomalies = f.found.names()
	wasTimed, wasSeen := x.timed, x.judge.coverage
	x.watcher = r
	defer func() { x.watcher, x.timed, x.judge.coverage = nil, wasTimed, wasSeen }()
	s := x.initial()
	r.begin(x.clients)
	for _, packed := range path {
		m, err := x.actual(s, x.unpackMove(packed))
		if err != nil {
			return nil, err
		}
		if !x.canMake(s, m) { // the clients are not as alike as the card says
			return nil, x.automaton.Impure(learn.ErrAsymmetric)
		}
		if err := r.step(s, m); err != nil {
			return nil, err
		}
	}
	if f.end {
		if err := r.trial(*s); err != nil {
			return nil, err
		}
	} else {
		r.trace.Ending = x.ending(s)
		r.end(x.counter(s))
	}
	r.trace.Verdict = checker.Judge(r.trace.Events, checker.Options{})
	return r.trace, nil
}

// canMake says whether a move can be made from a state. Time may pass in any.
func (x *explorer) canMake(s *state, m move) bool {
	defer x.besides()()
	return m.kind == movePass || slices.Contains(x.movesAtOnce(nil, s, 0), m) || slices.Contains(x.movesAtOnce(nil, s, 1), m)
}

// actual is the move as it is in s, which differs from the state that the move was found in by the order of the clients.
func (x *explorer) actual(s *state, m move) (move, error) {
	f := x.pack(s, nil, nil)
	_, o, err := x.normal(&f)
	if err != nil {
		return m, err
	}
	to := &x.texts.Orders[o]
	var from learn.Order
	for i, place := range to {
		from[place] = uint8(i)
	}
	switch m.kind {
	case moveJump, moveRestart, moveFail:
	case movePass:
		m.paused, m.busy = from.Set(m.paused), from.Set(m.busy)
	case moveArrive:
		// Requests on their way are kept in order of their numbers, which need not be that of their twins.
		c := &s.clients[from[m.client]]
		twin := *c
		for k, r := range c.travel {
			if r != 0 {
				twin.travel[k] = x.renameTravel(o, r)
			}
		}
		if twin.sortTravel() {
			m.slot ^= 1
		}
		m.client = from[m.client]
	default:
		m.client = from[m.client]
	}
	return m, nil
}

// disputed is the first of the anomalies that the checker does not confirm; empty: it confirms them all.
func disputed(t *trace.Trace, found anomalies) checker.Name {
	seen := t.Verdict.Names()
	for _, name := range found.names() {
		if !slices.Contains(seen, name) {
			return name
		}
	}
	return ""
}
