package explore_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/explore"
)

// TestLocksOnOtherServersAreNotExplored: shrinking a history of theirs asks for it, and said that the lock had panicked.
func TestLocksOnOtherServersAreNotExplored(t *testing.T) {
	for _, lock := range slices.Concat(impls.OnReplicas(), impls.OnCluster()) {
		_, err := explore.Explore(t.Context(), explore.Config{Lock: lock, Clients: 2, Rounds: 1})
		require.EqualError(t, err, lock.Name+" cannot be explored: it needs "+string(lock.Needs)+", and the explorer has none")
	}
}
