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
	become := func(other []world.Choice) bool {
		shows := s.shows(other, names, found.trial)
		if shows {
			path = other
		}
		return shows
	}
	for n := len(world.Operations(path)) - 1; n >= 0; n-- {
		become(without(path, world.Operations(path)[n]))
	}
	for i := len(path) - 1; i >= 0; i-- {
		become(without(path, world.Operation{i}))
	}
	for moved := true; moved; {
		moved = false
		for i := range len(path) - 1 {
			if path[i+1].BelongsBefore(path[i]) {
				other := slices.Clone(path)
				other[i], other[i+1] = other[i+1], other[i]
				moved = become(other) || moved
			}
		}
	}
	for i := range path {
		for _, instead := range s.instead(path, i) {
			other := slices.Clone(path)
			if other[i] = instead; become(other) {
				break
			}
		}
	}
	record, err := s.space.Record(path, found.trial)
	if err != nil {
		return nil, err
	}
	if !hasAll(record.Trace.Verdict.Names(), names) {
		return found.trace, nil
	}
	record.Trace.Anomalies = names
	return record.Trace, nil
}

// hasAll says whether a list has all these names.
func hasAll(list, names []checker.Name) bool {
	return !slices.ContainsFunc(names, func(name checker.Name) bool { return !slices.Contains(list, name) })
}

// follow makes choices one after the other, and says whether each can be made where it comes.
func (s *search) follow(path []world.Choice) (at world.State, suspects suspicion.Set, may bool) {
	at, err := s.space.Begin()
	for _, o := range path {
		if err != nil || !slices.Contains(s.space.Choices(nil, &at), o) {
			return at, 0, false
		}
		at, suspects, err = s.space.Make(&at, o)
	}
	return at, suspects, err == nil
}

// instead are the choices that are better read than one of a sequence.
func (s *search) instead(path []world.Choice, i int) []world.Choice {
	if !path[i].ByClock() {
		return nil
	}
	at, _, _ := s.follow(path[:i])
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
	at, suspects, may := s.follow(path)
	switch {
	case !may, trial && !s.space.Rests(&at) && len(s.space.Spending(nil, &at, 0)) > 0:
		return false
	case trial:
		stuck, err := s.space.Stuck(&at)
		return err == nil && stuck
	case s.space.Ended(&at):
		suspects |= s.space.Losses(&at)
	}
	return hasAll(suspects.Names(), names)
}
