package find

import (
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// Command is what lab is asked, to see the locks in the scenario; without a lock, to see one of the user's own.
func Command(script *scenarios.Script, locks ...string) string {
	command := "run " + script.Name
	if len(locks) == 0 {
		return command + " --client 'python3 mylock.py' -v"
	}
	command += " --lock " + strings.Join(locks, ",")
	if server := Server(script, locks...); server != "" {
		command += " --server " + server
	}
	return command + " -v"
}

// Server is the server that the scenario needs with these locks; "" for the default.
func Server(script *scenarios.Script, locks ...string) string {
	for _, lock := range locks {
		spec, ok := impls.Find(lock)
		if !ok {
			continue
		}
		switch lacks := play.SubjectOf(spec).Traits.Lack(script, play.Limits{faults.Replicas: play.NeedsReplicas}); {
		case lacks == play.NeedsEnsemble:
			return play.OnEnsemble
		case spec.Needs == impls.OneZooKeeper:
			return play.OnZooKeeper
		case lacks == play.NeedsCluster, lacks == play.NeedsSlots:
			return play.OnCluster
		case lacks == play.NeedsReplicas, spec.Needs == impls.Replicas:
			return play.OnReplicas
		}
	}
	return ""
}

// best is the lock that shows the most in the scenario by the reviewed table, the first of several; if none breaks there, the first that is safe; none if
// the scenario is n/a for all of the lab's own.
func best(matrix *scenarios.Matrix, scenario string) (lock []string) {
	var names []string
	for _, spec := range impls.Every() {
		names = append(names, spec.Name)
	}
	shows := 0
	for _, name := range append(names, matrix.Variants(scenario)...) {
		verdict := Expected(matrix, scenario, name)
		anomalies := len(verdict.Names())
		if verdict.Kind == checker.Safe && lock == nil || anomalies > shows {
			lock, shows = []string{name}, anomalies
		}
	}
	return lock
}

// Expected is the verdict on the lock in the scenario by the reviewed table.
func Expected(matrix *scenarios.Matrix, scenario, lock string) checker.Verdict {
	expected, _ := matrix.Lookup(scenario, lock)
	return expected
}
