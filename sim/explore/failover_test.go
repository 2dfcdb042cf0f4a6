package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
)

// What a server would go back to is numbered from one, so that none is told from the first; the newest state there is must be found.
func TestFailOverKeepsTheTokensOfTheFormerState(t *testing.T) {
	spec, ok := impls.Find("setnx-del")
	require.True(t, ok)
	result, err := Explore(t.Context(), Config{Lock: spec, Clients: 2, Rounds: 1, Budget: Budget{FailOver: 1}, MostFaults: 1})
	require.NoError(t, err)
	require.NotNil(t, result.Found, "the key that was written last is lost")
	require.Equal(t, []string{"fail-over"}, result.Found.Faults)
}
