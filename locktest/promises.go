package locktest

import (
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/storm"
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

// judge compares a verdict with that of a correct lock in the same scenario. It returns the anomalies that count against the lock.
func judge(model impls.Spec, matrix *scenarios.Matrix, scenario string, cell record.Cell, promised checker.Verdict) []checker.Anomaly {
	if cell.Verdict.Kind != checker.Broken {
		return nil
	}
	reviewed, ok := matrix.Lookup(scenario, model.Name)
	comparable := ok && (reviewed.Kind == checker.Safe || reviewed.Kind == checker.Broken)
	return slices.DeleteFunc(slices.Clone(promised.Anomalies), func(a checker.Anomaly) bool {
		if comparable {
			return slices.Contains(reviewed.Names(), a.Name)
		}
		return a.Beyond != "" // the model does not play the scenario: measured by its promises
	})
}

func contractOf(model impls.Spec) storm.Contract { return storm.ContractOf(model) }
