package compare

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

func find(t *testing.T, lock string, kind faults.Kind, b Bounds) Cell {
	t.Helper()
	spec, ok := impls.Find(lock)
	require.True(t, ok, lock)
	c, err := Find(context.Background(), spec, kind, b)
	require.NoError(t, err)
	require.Empty(t, c.Disputed)
	return c
}

// A few cells of the table, of both outcomes. internal/cmd/reference does them all.
func TestTheSearchesAgree(t *testing.T) {
	t.Parallel()
	for lock, kinds := range map[string][]faults.Kind{
		"setnx-del":   {"", faults.Crash},
		"setpx-del":   {faults.Pause, faults.FailOver},
		"setpx-lua":   {faults.Restart, faults.LateRequest},
		"getset":      {faults.ClockAhead},
		"setnx-watch": {faults.Duplicate},
	} {
		for _, kind := range kinds {
			t.Run(lock+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				c := find(t, lock, kind, Usual())
				assert.Empty(t, c.SlowLimit+c.FastLimit)
				assert.Empty(t, c.Differences())
			})
		}
	}
}

// A release of unknown outcome that is tried again, both ways: whatever one search finds the other does, with as few faults.
func TestTheSearchesAgreeOnReleasesTriedAgain(t *testing.T) {
	t.Parallel()
	b := Usual()
	b.ReleaseAgain = true
	for _, lock := range []string{"setnx-del", "setpx-lua"} {
		for _, kind := range []faults.Kind{faults.ReplyLost, faults.LateRequest} {
			t.Run(lock+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				c := find(t, lock, kind, b)
				assert.Empty(t, c.SlowLimit+c.FastLimit)
				assert.Empty(t, c.Differences())
				assert.Equal(t, lock == "setnx-del", c.Slow[checker.WrongfulDelete] == 1)
			})
		}
	}
}

// A client that tries once does not meet its own lost grant. The comparison says so, and not where the search was not complete.
func TestDifferencesAreNoticed(t *testing.T) {
	t.Parallel()
	c := find(t, "getset", faults.ReplyLost, Usual())
	assert.Contains(t, c.Differences(), Difference{checker.Overwrite, -1, 1})
	c.SlowLimit = "1 states"
	assert.Empty(t, c.Differences())
	c.Slow[checker.StuckLock] = 1
	assert.Equal(t, []Difference{{checker.StuckLock, 1, -1}}, c.Differences())
}
