package search

import (
	"fmt"
	"maps"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/sim/world"
)

// mostDismissed is how often the checker is asked about one anomaly in vain.
const mostDismissed = 2000

// finding is a sequence of choices that shows anomalies.
type finding struct {
	faults, steps int
	trace         *trace.Trace
}

func (f finding) less(faults, steps int) bool {
	return f.trace != nil && (f.faults < faults || f.faults == faults && f.steps <= steps)
}

// findings are what a search has found.
type findings struct {
	wanted    []checker.Name
	excuses   func(checker.Name, []faults.Kind) bool
	on        bool
	best      finding // that breaks a promise
	excused   map[checker.Name]finding
	all       map[checker.Name]finding
	dismissed map[checker.Name]int
	blocked   bool   // the last client did not get the lock, and the checker did not call it stuck
	limit     string // what is not looked for any more
}

func newFindings(c Config) findings {
	return findings{
		wanted: c.wanted(), excuses: c.Excuses, on: c.On,
		excused: map[checker.Name]finding{}, all: map[checker.Name]finding{}, dismissed: map[checker.Name]int{},
	}
}

// enough says whether nothing after so many faults and steps can be smaller than what was found.
func (f *findings) enough(faults, steps int) bool { return !f.on && f.best.less(faults, steps) }

// open says whether an anomaly after so many faults and steps is worth a look.
func (f *findings) open(name checker.Name, faults, steps int) bool {
	return slices.Contains(f.wanted, name) && f.dismissed[name] < mostDismissed && !f.best.less(faults, steps) && !f.all[name].less(faults, steps)
}

// conclude tells the result.
func (f *findings) conclude(r *Result) {
	r.Dismissed = f.dismissed
	if r.Limit == "" {
		r.Limit = f.limit
	}
	if r.Limit == "" || r.Limit == f.limit || f.best.faults == r.Faults {
		r.Found = f.best.trace
	}
	if r.Found == nil {
		for _, name := range slices.Sorted(maps.Keys(f.excused)) {
			r.Excused = append(r.Excused, f.excused[name].trace)
		}
	}
	if f.on {
		r.All = map[checker.Name]*trace.Trace{}
		for name, found := range f.all {
			r.All[name] = found.trace
		}
	}
}

// judgeEnd judges what is left when all clients have ended: the data must be right, and a fresh client must get the lock.
func (s *search) judgeEnd(at place) error {
	if _, err := s.ask(at, s.space.Losses(&at.state), false); err != nil {
		return err
	}
	if !slices.Contains(s.found.wanted, checker.StuckLock) {
		return nil
	}
	key := at.state.Ending()
	stuck, known := s.ends[key]
	if !known {
		var err error
		if stuck, err = s.space.Stuck(&at.state); err != nil {
			return err
		}
		s.ends[key] = stuck
	}
	if !stuck {
		return nil
	}
	_, err := s.ask(at, s.space.Suspect(checker.StuckLock), true)
	return err
}

// ask has the checker judge the history that leads to a place, if it looks as if it showed something that is worth a look. It says whether that
// breaks a promise: then nothing after it is smaller.
func (s *search) ask(at place, suspects world.Suspicions, trial bool) (broken bool, err error) {
	f := &s.found
	if suspects == 0 {
		return false, nil
	}
	spent, steps := s.space.Spent(&at.state), int(at.steps)
	open := slices.DeleteFunc(suspects.Names(), func(name checker.Name) bool { return !f.open(name, spent, steps) })
	if len(open) == 0 {
		return false, nil
	}
	path := s.path(at)
	var excused []checker.Name
	if f.excuses != nil {
		struck := s.struck(at, path)
		excused = slices.DeleteFunc(slices.Clone(open), func(name checker.Name) bool { return !f.excuses(name, struck) })
		known := func(name checker.Name) bool {
			return slices.Contains(excused, name) && f.excused[name].less(spent, steps)
		}
		if open = slices.DeleteFunc(open, known); len(open) == 0 {
			return false, nil
		}
	}
	record, err := s.space.Record(path, trial)
	if err != nil {
		return false, err
	}
	t := record.Trace
	if t.Verdict.CheckerFault {
		return false, fmt.Errorf("the judges disagree: %s", t.Verdict.Reason)
	}
	seen := t.Verdict.Names()
	for _, name := range open {
		if !slices.Contains(seen, name) {
			f.dismiss(name)
			f.blocked = f.blocked || trial && keyless(t)
		}
	}
	open = slices.DeleteFunc(open, func(name checker.Name) bool { return !slices.Contains(seen, name) })
	found := finding{spent, steps, t}
	if f.on {
		for _, name := range seen {
			if (!trial || name == checker.StuckLock) && f.open(name, spent, steps) { // after a trial, there is a client more
				f.all[name] = found
			}
		}
		return false, nil
	}
	t.Anomalies = slices.DeleteFunc(slices.Clone(open), func(name checker.Name) bool { return slices.Contains(excused, name) })
	if len(t.Anomalies) > 0 {
		f.best = found
		return true, nil
	}
	t.Anomalies = open
	for _, name := range open {
		f.excused[name] = found
	}
	return false, nil
}

// keyless says whether no server has the lock's key in the end of a trace. Where one has, the history shows whose the lock is.
func keyless(t *trace.Trace) bool {
	for _, s := range slices.Backward(t.Steps) {
		if len(s.After.Keys) > 0 {
			return !slices.ContainsFunc(s.After.Keys, history.State.Exists)
		}
	}
	return true
}

// dismiss notes that something that looked like an anomaly was none.
func (f *findings) dismiss(name checker.Name) {
	if f.dismissed[name]++; f.dismissed[name] == mostDismissed {
		f.limit = fmt.Sprintf("%d histories that looked like %s, and showed none", mostDismissed, name)
	}
}
