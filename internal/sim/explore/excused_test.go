package explore_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/explore"
)

// TestExcusedAnomalies: the search goes on after what is excused, also beyond the state that shows it, and notes the smallest counterexample.
func TestExcusedAnomalies(t *testing.T) {
	spec, ok := impls.Find("setpx-del")
	require.True(t, ok)
	config := explore.Config{Lock: spec, Clients: 2, Rounds: 1, MostFaults: 1, Budget: explore.Budget{faults.LongHold: 1}}
	result, err := explore.Explore(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, []checker.Name{checker.DoubleHolder}, result.Found.Anomalies)
	assert.Empty(t, result.Excused)

	// After a long hold nobody can delete another's lock unless two have held it before.
	config.Excuses = func(anomaly checker.Name, struck []faults.Kind) bool {
		return anomaly != checker.WrongfulDelete && slices.Equal(struck, []faults.Kind{faults.LongHold})
	}
	result, err = explore.Explore(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, []checker.Name{checker.WrongfulDelete}, result.Found.Anomalies)

	config.Excuses = func(checker.Name, []faults.Kind) bool { return true }
	result, err = explore.Explore(t.Context(), config)
	require.NoError(t, err)
	require.Nil(t, result.Found)
	require.True(t, result.Complete(), result.Limit)
	var seen []checker.Name
	for _, found := range result.Excused {
		assert.Len(t, found.Faults, 1)
		assert.Subset(t, found.Verdict.Names(), found.Anomalies)
		seen = append(seen, found.Anomalies...)
	}
	assert.Contains(t, seen, checker.DoubleHolder)
	assert.Contains(t, seen, checker.WrongfulDelete)
}

// TestFaultsThatNeverStrike are named: a clock that the lock does not read, and none of those that struck.
func TestFaultsThatNeverStrike(t *testing.T) {
	spec, ok := impls.Find("setpx-lua")
	require.True(t, ok)
	result, err := explore.Explore(t.Context(), explore.Config{
		Lock: spec, Clients: 2, Rounds: 1, MostFaults: 1, Only: []checker.Name{checker.WrongfulDelete},
		Budget: explore.Budget{faults.ClockAhead: 1, faults.LongHold: 1, faults.Crash: 1},
	})
	require.NoError(t, err)
	require.Nil(t, result.Found)
	assert.Equal(t, []faults.Kind{faults.ClockAhead}, result.Idle)
}
