package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/suspicion"
	"github.com/locklab/locklab/internal/sim/trace"
)

// mostDismissed is how often the checker is asked about one anomaly in vain.
const mostDismissed = 2000

// findings are what a search has found.
type findings struct {
	wanted    []checker.Name
	best      sequence // that breaks a promise; the zero sequence: none does so far
	excused   map[checker.Name]sequence
	all       map[checker.Name]*trace.Trace
	dismissed map[checker.Name]int
	blocked   bool   // the last client did not get the lock, and the checker did not call it stuck
	limit     string // what is not looked for any more
}

// open says whether an anomaly is worth a look. What is found first is smallest.
func (f *findings) open(name checker.Name) bool {
	return slices.Contains(f.wanted, name) && f.dismissed[name] < mostDismissed && f.all[name] == nil
}

// conclude tells the result.
func (s *search) conclude() (err error) {
	f, r := &s.found, &s.result
	r.Dismissed, r.All = f.dismissed, f.all
	if f.best.trace != nil {
		r.Found, err = s.tidy(f.best)
		return err
	}
	r.Limit = cmp.Or(r.Limit, f.limit)
	for _, name := range slices.Sorted(maps.Keys(f.excused)) {
		t, err := s.tidy(f.excused[name])
		if err != nil {
			return err
		}
		r.Excused = append(r.Excused, t)
	}
	return nil
}

// judgeEnd judges what is left when all clients have ended: the data must be right, and a fresh client must get the lock.
func (s *search) judgeEnd(at place) error {
	if err := s.judge(at, s.space.Losses(&at.state), false); err != nil || s.found.best.trace != nil {
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
	return s.judge(at, s.space.Suspect(checker.StuckLock), true)
}

// judge has the checker judge the history that leads to a place, if it looks as if it showed something that is worth a look.
func (s *search) judge(at place, suspects suspicion.Set, trial bool) error {
	f := &s.found
	if suspects == 0 {
		return nil
	}
	open := slices.DeleteFunc(suspects.Names(), func(name checker.Name) bool { return !f.open(name) })
	if len(open) == 0 {
		return nil
	}
	path := s.path(at)
	var excused []checker.Name
	if excuses := s.config.Excuses; excuses != nil {
		struck := s.struck(at, path)
		excused = slices.DeleteFunc(slices.Clone(open), func(name checker.Name) bool { return !excuses(name, struck) })
		known := func(name checker.Name) bool { return slices.Contains(excused, name) && f.excused[name].trace != nil }
		if open = slices.DeleteFunc(open, known); len(open) == 0 {
			return nil
		}
	}
	record, err := s.space.Record(path, trial)
	if err != nil {
		return err
	}
	t := record.Trace
	if t.Verdict.CheckerFault {
		return fmt.Errorf("the judges disagree: %s", t.Verdict.Reason)
	}
	seen := t.Verdict.Names()
	for _, name := range open {
		if !slices.Contains(seen, name) {
			f.dismiss(name)
			f.blocked = f.blocked || trial && keyless(t)
		}
	}
	f.take(s.config.On, sequence{t, path, trial}, seen, excused, slices.DeleteFunc(open, func(name checker.Name) bool { return !slices.Contains(seen, name) }))
	return nil
}

// take takes in a sequence that shows some anomalies, some of which are excused; on: the search goes on after whatever it finds.
func (f *findings) take(on bool, found sequence, seen, excused, shown []checker.Name) {
	t := found.trace
	t.Anomalies = slices.DeleteFunc(slices.Clone(shown), func(name checker.Name) bool { return slices.Contains(excused, name) })
	switch {
	case on:
		t.Anomalies = shown
		for _, name := range seen {
			if (!found.trial || name == checker.StuckLock) && f.open(name) { // after a trial, there is a client more
				f.all[name] = t
			}
		}
	case len(t.Anomalies) > 0:
		f.best = found
	default:
		t.Anomalies = shown
		for _, name := range shown {
			f.excused[name] = found
		}
	}
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
