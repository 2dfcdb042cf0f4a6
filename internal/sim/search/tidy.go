package search

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/sim/world"
)

// sequence is what a counterexample was found by.
type sequence struct {
	trace *trace.Trace
	path  []world.Choice
	trial bool
}

// tidy makes a counterexample easier to read: it leaves out steps that it does not need, has replies reach their clients at once, and faults
// strike as late as they can. What comes of it shows the same.
func (s *search) tidy(found sequence) (*trace.Trace, error) {
	path, names := found.path, found.trace.Anomalies
	for i := len(path) - 1; i >= 0; i-- {
		if shorter := slices.Delete(slices.Clone(path), i, i+1); s.shows(shorter, names, found.trial) {
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

// shows says whether a sequence of choices is one, and looks as if it showed these anomalies in the end.
func (s *search) shows(path []world.Choice, names []checker.Name, trial bool) bool {
	at, err := s.space.Begin()
	var suspects world.Suspicions
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
		if !s.space.Ended(&at) {
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
