package lab_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
	"github.com/locklab/locklab/scenarios"
)

// judgedByPromises runs the whole suite in the model, with every lock judged by its promises alone, as a foreign client is. It returns the
// anomalies that nothing excuses, by lock.
func judgedByPromises(t *testing.T, locks []impls.Spec, promises func(impls.Spec) []impls.Promise) map[string][]string {
	t.Helper()
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	expect := func(_ *scenarios.Script, s play.Subject) record.Expectation {
		return storm.Contract{Promises: promises(*s.Spec), Contract: s.Spec.Contract}.Expected()
	}
	run, err := lab.Run(t.Context(), lab.Plan{
		Cases:   lab.Cases(scripts, lab.Subjects(locks...), 1, expect),
		Options: lab.Options{Setting: lab.Setting{World: lab.Sim}},
	})
	require.NoError(t, err)
	found := map[string][]string{}
	for _, cell := range run.Cells {
		require.NotEqual(t, checker.Undecided, cell.Verdict.Kind, "%s/%s: %s", cell.Lock, cell.Scenario, cell.Verdict)
		i := slices.IndexFunc(cell.Verdict.Anomalies, func(a checker.Anomaly) bool { return a.Beyond == "" })
		assert.Equal(t, i >= 0, cell.Surprise(), "%s/%s", cell.Lock, cell.Scenario)
		if i >= 0 {
			found[cell.Lock] = append(found[cell.Lock], cell.Scenario+": "+string(cell.Verdict.Anomalies[i].Name))
		}
	}
	return found
}

// TestPromisesTellSoundLocksFromBrokenOnes: what a lock promises is enough to judge it in every scenario. No sound lock breaks its promises
// anywhere, and every lock with a known bug breaks one somewhere, though nothing says beforehand which are which.
func TestPromisesTellSoundLocksFromBrokenOnes(t *testing.T) {
	locks := impls.All()
	locks = locks[:needs.Count(t, "locks", 8, len(locks))]
	found := judgedByPromises(t, locks, func(spec impls.Spec) []impls.Promise { return spec.Promises })
	for _, spec := range locks {
		if spec.Bug == "" {
			assert.Empty(t, found[spec.Name], spec.Name)
			continue
		}
		assert.NotEmpty(t, found[spec.Name], "%s: %s", spec.Name, spec.Bug)
	}
}

// TestToldInTime: a partition that outlasts the lease is no excuse for a lock that promises to tell its holder in time, but a pause is.
func TestToldInTime(t *testing.T) {
	var locks []impls.Spec
	for _, name := range []string{"watchdog", "redisson-watchdog", "setpx-lua"} {
		spec, ok := impls.Find(name)
		require.True(t, ok)
		locks = append(locks, spec)
	}
	found := judgedByPromises(t, locks, func(spec impls.Spec) []impls.Promise {
		others := slices.DeleteFunc(slices.Clone(spec.Promises), func(p impls.Promise) bool { return p == impls.ExclusionOnPause })
		return append(others, impls.ToldInTime)
	})
	assert.Empty(t, found["watchdog"], "it tells")
	for _, silent := range []string{"redisson-watchdog", "setpx-lua"} {
		assert.Contains(t, found[silent], "cut-off-past-lease: double-holder", silent)
		assert.NotContains(t, found[silent], "pause-past-lease: double-holder", silent)
	}
}
