package reproduce_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/scenarios"
)

// liveScenarios are the scripts in which one fault strikes that the explorer has, too.
func liveScenarios() map[faults.Kind][]string {
	return map[faults.Kind][]string{
		faults.Pause:       {"pause-past-lease"},
		faults.Crash:       {"holder-crashes"},
		faults.ReplyLost:   {"acquire-reply-lost", "release-reply-lost"},
		faults.LateRequest: {"late-acquire"},
		faults.ClockAhead:  {"clock-ahead"},
		faults.ClockJump:   {"server-clock-jumps"},
		faults.Restart:     {"redis-restarts-empty"},
	}
}

// What a script shows live, exploration does not clear: where the reviewed matrix has a lock broken by a fault, the breaking points
// have something for that lock and that fault.
func TestNoLockIsClearedThatTheSuiteBreaks(t *testing.T) {
	matrix, lines := reviewed(t)
	compared := 0
	for _, line := range lines {
		if line.Why != "" {
			continue
		}
		for fault, names := range liveScenarios() {
			for _, name := range names {
				expected, found := matrix.Lookup(name, line.Lock)
				if !found || expected.Kind != checker.Broken {
					continue
				}
				compared++
				seen := len(line.None) > 0 || line.Cells[points.Column(fault)].String() != "-" || breaksWithAll(t, line.Lock, fault)
				assert.True(t, seen, "%s is broken by %s live (%s), and not in the model", line.Lock, name, expected)
			}
		}
	}
	assert.Greater(t, compared, 60)
}

// breaksWithAll says whether a lock that needs every one of its servers breaks when each of them is fault once. A script strikes them all;
// the breaking points are of fewer faults.
func breaksWithAll(t *testing.T, lock string, fault faults.Kind) bool {
	t.Helper()
	spec, ok := impls.Find(lock)
	require.True(t, ok)
	if spec.Needs != impls.EveryServer || fault != faults.ClockJump && fault != faults.Restart {
		return false
	}
	config := search.Config{Lock: spec, Clients: 2, Rounds: 1, MostFaults: spec.Servers, Only: []checker.Name{checker.DoubleHolder}}
	config.Budget = search.Budget{fault: spec.Servers}
	result, err := search.Search(t.Context(), config)
	require.NoError(t, err)
	return result.Found != nil && len(result.Found.Faults) == spec.Servers
}

// What exploration accuses a lock of, some script shows of it live.
func TestNoLockIsAccusedThatTheSuiteClears(t *testing.T) {
	matrix, lines := reviewed(t)
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	for _, line := range lines {
		var live []checker.Name
		for _, script := range scripts {
			if expected, found := matrix.Lookup(script.Name, line.Lock); found {
				live = append(live, expected.Names()...)
			}
		}
		accused := slices.Clone(line.None)
		for _, cell := range line.Cells {
			accused = append(append(accused, cell.Any.Anomalies...), cell.Double.Anomalies...)
		}
		for _, name := range accused {
			assert.Contains(t, live, name, "%s is accused of %s in the model only", line.Lock, name)
		}
	}
}

func reviewed(t *testing.T) (*scenarios.Matrix, []points.Line) {
	t.Helper()
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	lines, err := points.Reviewed()
	require.NoError(t, err)
	return matrix, lines
}
