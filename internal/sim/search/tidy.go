package search

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/sim/suspicion"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/sim/world"
)

// sequence is what a counterexample was found by.
type sequence struct {
	trace *trace.Trace
	path  []world.Choice
	trial bool
}

// tidy makes a counterexample easier to read: it leaves out steps that it does not need, has replies reach their clients at once, faults strike as
// late as they can, and time pass until something ends. What comes of it shows the same.
func (s *search) tidy(found sequence) (*trace.Trace, error) {
	path, names := found.path, found.trace.Anomalies
	for n := len(world.Operations(path)) - 1; n >= 0; n-- {
		if shorter := without(path, world.Operations(path)[n]); s.shows(shorter, names, found.trial) {
			path = shorter
		}
	}
	for i := len(path) - 1; i >= 0; i-- {
		if shorter := without(path, world.Operation{i}); s.shows(shorter, names, found.trial) {
			path = shorter
		}
	}
	for moved := true; moved; {
		moved = false
		for i := range len(path) - 1 {
			if !path[i+1].BelongsBefore(path[i]) {
				continue
			}
			other := slices.Clone(path)
			other[i], other[i+1] = other[i+1], other[i]
			if s.shows(other, names, found.trial) {
				path, moved = other, true
			}
		}
	}
	for i := range path {
		for _, other := range s.instead(path, i) {
			changed := slices.Clone(path)
			if changed[i] = other; s.shows(changed, names, found.trial) {
				path = changed
				break
			}
		}
	}
	record, err := s.space.Record(path, found.trial)
	if err != nil {
		return nil, err
	}
	seen := record.Trace.Verdict.Names()
	if slices.ContainsFunc(names, func(name checker.Name) bool { return !slices.Contains(seen, name) }) {
		return found.trace, nil
	}
	record.Trace.Anomalies = names
	return record.Trace, nil
}

// instead are the choices that are better read than one of a sequence.
func (s *search) instead(path []world.Choice, i int) []world.Choice {
	if !path[i].ByClock() {
		return nil
	}
	at, err := s.space.Begin()
	for _, o := range path[:i] {
		if err != nil {
			return nil
		}
		at, _, err = s.space.Make(&at, o)
	}
	return slices.DeleteFunc(s.space.Choices(nil, &at), func(o world.Choice) bool { return !o.EndsInsteadOf(path[i]) })
}

// without is a sequence without the choices at some places, which are in order.
func without(path []world.Choice, places world.Operation) []world.Choice {
	shorter := slices.Clone(path)
	for _, at := range slices.Backward(places) {
		shorter = slices.Delete(shorter, at, at+1)
	}
	return shorter
}

// shows says whether a sequence of choices is one, and looks as if it showed these anomalies in the end.
func (s *search) shows(path []world.Choice, names []checker.Name, trial bool) bool {
	at, err := s.space.Begin()
	var suspects suspicion.Set
	for _, o := range path {
		if err != nil || !slices.Contains(s.space.Choices(nil, &at), o) {
			return false
		}
		at, suspects, err = s.space.Make(&at, o)
	}
	if err != nil {
		return false
	}
	if trial {
		if !s.space.Rests(&at) {
			return false
		}
		stuck, err := s.space.Stuck(&at)
		return err == nil && stuck
	}
	if s.space.Ended(&at) {
		suspects |= s.space.Losses(&at)
	}
	seen := suspects.Names()
	return !slices.ContainsFunc(names, func(name checker.Name) bool { return !slices.Contains(seen, name) })
}
