package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
)

// TestReleaseAgain: a client that does not know what its release came to releases again. A plain DEL then removes another client's lock; a
// release that compares its token does not. Who releases once does no such harm.
func TestReleaseAgain(t *testing.T) {
	for name, test := range map[string]struct {
		kind  faults.Kind
		finds bool
	}{
		"setnx-del":   {faults.ReplyLost, true},
		"setpx-del":   {faults.LateRequest, true},
		"setpx-lua":   {faults.ReplyLost, false},
		"setnx-watch": {faults.ReplyLost, false},
		"fenced":      {faults.LateRequest, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := Config{
				Lock: lock(t, name), Clients: 2, Rounds: 1, ReleaseAgain: true, Budget: spend(test.kind), MostFaults: 1,
				Only: []checker.Name{checker.WrongfulDelete},
			}
			result := explored(t, config)
			require.Empty(t, result.Limit)
			assert.Equal(t, test.finds, result.Found != nil)
		})
	}
}

// Who releases once cannot strike another's lock: the lost reply alone does no such harm.
func TestReleaseOnce(t *testing.T) {
	t.Parallel()
	result := explored(t, Config{
		Lock: lock(t, "setnx-del"), Clients: 2, Rounds: 1, Budget: spend(faults.ReplyLost), MostFaults: 1, Only: []checker.Name{checker.WrongfulDelete},
	})
	require.Empty(t, result.Limit)
	assert.Nil(t, result.Found)
}

// A late EXEC is on the connection that its client has given up, so what it watched is not what the client's next release watches.
func TestReleaseAgainOnAnotherConnection(t *testing.T) {
	t.Parallel()
	result := explored(t, Config{
		Lock: lock(t, "setnx-watch"), Clients: 2, Rounds: 1, ReleaseAgain: true, Budget: spend(faults.LateRequest), MostFaults: 1,
		Only: []checker.Name{checker.WrongfulDelete},
	})
	assert.Nil(t, result.Found)
	assert.True(t, result.Complete(), result.Limit)
}
