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
	about := promiseAbout(a.Name)
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

// promiseAbout is the promise that an anomaly is about; empty: none is.
func promiseAbout(name checker.Name) impls.Promise {
	switch name {
	case checker.DoubleHolder, checker.EarlyGrant, checker.Overwrite, checker.StaleWrite, checker.LostUpdate:
		return impls.MutualExclusion
	case checker.Unfair:
		return impls.Fairness
	}
	return promised()[name]
}

// About is the word for the promise of the contract that an anomaly is about, whatever excuses it; empty: none is.
func (c Contract) About(name checker.Name) string {
	promise := promiseAbout(name)
	if words := impls.PromiseWordsOf([]impls.Promise{promise}); c.has(promise) && len(words) > 0 {
		return words[0]
	}
	return ""
}
