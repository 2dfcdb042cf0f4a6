package locktest

import (
	"cmp"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/scenarios"
)

// Promises are what a lock is measured by.
type Promises string

// The profiles. A lock is not blamed for what a correct lock of its profile shows in the same scenario: no lease survives a server that
// forgets.
const (
	// Lease: one client holds the lock until its lease ends, only it can release the lock, and a crash frees it after a lease at most.
	Lease Promises = "lease"
	// Watchdog: like Lease, but the lock prolongs its lease in the background while it is held, and tells its holder of a loss.
	Watchdog Promises = "watchdog"
	// Fenced: like Lease, and each grant has a greater fencing token, which the protected resource compares.
	Fenced Promises = "fenced"
	// Majority: a Redlock on several servers, which declares how long it is valid.
	Majority Promises = "majority"
)

// model is the correct lock of the lab that makes the same promises. Its verdicts in all scenarios have been reviewed.
func (p Promises) model() (impls.Spec, bool) {
	names := map[Promises]string{Lease: "setpx-lua", Watchdog: "watchdog", Fenced: "fenced", Majority: "redlock"}
	return impls.Find(names[p])
}

// expected is the reviewed verdict of the model in a scenario.
func (s *suite) expected(script *scenarios.Script) record.Expectation {
	if expected, ok := s.matrix.Lookup(script.Name, s.model.Name); ok {
		return record.Expectation{Verdict: expected, By: record.ByMatrix}
	}
	return record.Expectation{Verdict: checker.Verdict{Kind: checker.Safe}, By: record.ByDefault}
}

// against are the anomalies of a verdict that count against the lock: those that the model does not show in that scenario or, where it does not
// play it, those that break its promises. Each names the promise that it is about.
func (s *suite) against(script *scenarios.Script, promised checker.Verdict) []checker.Anomaly {
	reviewed, ok := s.matrix.Lookup(script.Name, s.model.Name)
	comparable := ok && (reviewed.Kind == checker.Safe || reviewed.Kind == checker.Broken)
	against := slices.DeleteFunc(slices.Clone(promised.Anomalies), func(a checker.Anomaly) bool {
		if comparable {
			return slices.Contains(reviewed.Names(), a.Name)
		}
		return a.Beyond != ""
	})
	for i, a := range against {
		against[i].Breaks = cmp.Or(a.Breaks, s.contract.About(a.Name))
	}
	return against
}
