package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// TestFailOver: a replica that lacks only the last write has lost the lock of whoever took it, whatever that one wrote; or a released lock is
// there again, and two clients that come when it has expired take it over. That it may lack more makes no smaller counterexample.
func TestFailOver(t *testing.T) {
	for _, test := range []struct {
		lock      string
		looksFor  checker.Name
		lag, lost int // lost: by the smallest counterexample; 0: there is none
	}{
		{"setnx-del", checker.DoubleHolder, 0, 1},
		{"setnx-del", checker.DoubleHolder, 3, 1},
		{"getset", checker.Overwrite, 1, 1},
		{"getset", checker.Overwrite, 2, 1},
		{"getset", checker.Overwrite, 3, 1},
		// Who finds an older lock of its own in the place of its own has lost that, and is told so rightly.
		{"setpx-lua", checker.Unreleasable, 3, 0},
		{"setpx-lua", checker.FalseAlarm, 3, 0},
		{"setpx-getdel", checker.FalseAlarm, 3, 0},
	} {
		spec, ok := impls.Find(test.lock)
		require.True(t, ok)
		result, err := Explore(t.Context(), Config{
			Lock: spec, Clients: 2, Rounds: 2, Budget: Budget{faults.FailOver: 1}, MostFaults: 1, Lag: test.lag, Only: []checker.Name{test.looksFor},
		})
		require.NoError(t, err)
		require.Empty(t, result.Limit)
		require.Empty(t, result.Disputed, "%+v: the checker sees another thing", test)
		lost := 0
		if result.Found != nil {
			require.Equal(t, []faults.Kind{faults.FailOver}, result.Found.Faults)
			for _, s := range result.Found.Steps {
				lost = max(lost, s.Lost)
			}
		}
		require.Equal(t, test.lost, lost, "%+v", test)
	}
}
