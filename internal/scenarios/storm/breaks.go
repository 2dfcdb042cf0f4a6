package storm

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

// nameBroken names of each anomaly that nothing excuses the promise that it breaks. Only as many as a verdict keeps are looked at.
func (c Contract) nameBroken(all []checker.Anomaly, r *evidence) {
	counts := map[checker.Name]int{}
	for i := range all {
		a := &all[i]
		if a.Beyond != "" || counts[a.Name] == maxPerName {
			continue
		}
		counts[a.Name]++
		if words := impls.PromiseWordsOf(c.broken(all[:i], *a, r)); len(words) > 0 {
			a.Breaks = words[0]
		}
	}
}

// broken is the promise that an anomaly breaks: the one without which it would be excused or, if there is none, the one that it is about. It is
// empty where the lock does not make that one, or no promise is about it: no lock may show such an anomaly.
func (c Contract) broken(before []checker.Anomaly, a checker.Anomaly, r *evidence) []impls.Promise {
	about := promised()[a.Name]
	switch a.Name {
	case checker.DoubleHolder, checker.EarlyGrant, checker.Overwrite, checker.StaleWrite, checker.LostUpdate:
		about = impls.MutualExclusion
	case checker.Unfair:
		about = impls.Fairness
	}
	for _, p := range []impls.Promise{impls.IgnoresClientTime, impls.ToldInTime, impls.ExclusionOnPause, impls.Fencing} {
		without := c
		without.Promises = slices.DeleteFunc(slices.Clone(c.Promises), func(other impls.Promise) bool { return other == p })
		if c.has(p) && about == impls.MutualExclusion && without.excuse(before, a, r) != "" {
			return []impls.Promise{p}
		}
	}
	if c.has(about) {
		return []impls.Promise{about}
	}
	return nil
}
