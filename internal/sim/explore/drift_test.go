package explore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/needs"
)

// A clock at less than a third of the right speed renews too late; a fast one sees a lease end that still runs.
func TestClocksThatDrift(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lock  string
		rate  float64
		fault [2]faults.Kind
		name  checker.Name
		holds bool
	}{
		"too slow to renew":    {"redisson-watchdog", .3, [2]faults.Kind{faults.ClockBehind, faults.LongHold}, checker.DoubleHolder, false},
		"slow":                 {"redisson-watchdog", .5, [2]faults.Kind{faults.ClockBehind, faults.LongHold}, checker.DoubleHolder, true},
		"renews early":         {"redisson-watchdog", .3, [2]faults.Kind{faults.ClockAhead, faults.LongHold}, checker.DoubleHolder, true},
		"stamps late":          {"getset", .5, [2]faults.Kind{faults.ClockBehind, faults.Crash}, checker.EarlyGrant, false},
		"sees a stamp expired": {"getset", .5, [2]faults.Kind{faults.ClockAhead, faults.Pause}, checker.EarlyGrant, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.holds {
				needs.Long(t, "a long search")
			}
			config := Config{
				Lock: lock(t, test.lock), Clients: 2, ClockRate: test.rate, Only: []checker.Name{test.name}, Budget: spend(test.fault[:]...), States: 200_000,
			}
			result, err := Explore(context.Background(), config.Usual())
			require.NoError(t, err)
			require.Empty(t, result.Disputed)
			assert.Equal(t, test.holds, result.Found == nil)
			assert.True(t, result.Found != nil || result.Complete(), result.Limit)
		})
	}
}

// What a clock shows, and how long it takes to, at both rates.
func TestRatesOfClocks(t *testing.T) {
	x := &explorer{bounds: bounds{slow: 500}}
	right, slow, fast := &client{}, &client{wrongClocks: wrongClocks{skew: -1}}, &client{wrongClocks: wrongClocks{skew: 1}}
	for c, shown := range map[*client]ms{right: 301, slow: 150, fast: 602} {
		assert.Equal(t, shown, x.clockAt(c, 301))
		assert.Equal(t, shown, x.clockAt(c, x.shows(c, shown)))
		assert.Less(t, x.clockAt(c, x.shows(c, shown)-1), shown)
		assert.Equal(t, never, x.slow.takes(c, never))
	}
	assert.EqualValues(t, 602, x.slow.takes(slow, 301))
	assert.EqualValues(t, 151, x.slow.takes(fast, 301))
}
