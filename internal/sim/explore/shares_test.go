package explore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// Whose a lock on most of its servers is decides all of these. A trace that the checker does not confirm would be disputed.
func TestRedlockIsFollowedOnItsServers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lock   string
		faults []faults.Kind
		only   checker.Name
		broken bool
	}{
		"a majority is taken twice":          {"redlock", []faults.Kind{faults.Restart}, checker.EarlyGrant, true},
		"one crash takes nothing":            {"redlock", []faults.Kind{faults.Crash}, checker.EarlyGrant, false},
		"late requests make a majority":      {"redlock", []faults.Kind{faults.LateRequest, faults.LateRequest}, checker.GhostLock, true},
		"one late request makes none":        {"redlock", []faults.Kind{faults.LateRequest}, checker.GhostLock, false},
		"copies bring back what was removed": {"redlock", []faults.Kind{faults.Duplicate, faults.Duplicate}, checker.Unreleasable, true},
		"one copy does not":                  {"redlock", []faults.Kind{faults.Duplicate}, checker.Unreleasable, false},
		"a lock of all servers is left out":  {"redisson-multilock", []faults.Kind{faults.Restart, faults.Restart}, checker.EarlyGrant, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if name != "a majority is taken twice" {
				needs.Long(t, "one more search")
			}
			spec, known := impls.Find(test.lock)
			require.True(t, known)
			config := Config{Lock: spec, Clients: 2, Rounds: 1, Only: []checker.Name{test.only}, Budget: spend(test.faults...), MostFaults: len(test.faults)}
			result, err := Explore(context.Background(), config.Usual())
			require.NoError(t, err)
			require.Empty(t, len(result.Disputed), "disputed")
			require.True(t, result.Complete() || result.Found != nil, result.Limit)
			assert.Equal(t, test.broken, result.Found != nil)
			assert.Equal(t, test.lock == "redisson-multilock", len(result.Unjudged) > 0)
		})
	}
}
