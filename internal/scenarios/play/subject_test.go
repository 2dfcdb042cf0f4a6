package play

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// TestShortestLeases: a client may need a lease of some length to keep its promises, and no longer one than a storm can have.
func TestShortestLeases(t *testing.T) {
	introduced := func(ms float64) (Subject, error) {
		return Subject{}.Introduced(protocol.Hello{Version: protocol.Version, Name: "mylock", MinLeaseMS: ms})
	}
	for ms, shortest := range map[float64]time.Duration{0: 0, 0.5: 500 * time.Microsecond, 10_000: 10 * time.Second, 60_000: MaxLease} {
		subject, err := introduced(ms)
		require.NoError(t, err)
		assert.Equal(t, shortest, subject.Spec.MinLease)
	}
	for _, ms := range []float64{-1, 60_001, 1e300} {
		_, err := introduced(ms)
		assert.ErrorContains(t, err, "min_lease_ms in hello is ")
		assert.ErrorContains(t, err, "and must be from 0 to 60000")
	}
}
