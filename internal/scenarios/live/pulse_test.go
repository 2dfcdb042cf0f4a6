package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/scenarios/live/stalls"
)

// A client's sleep that ends late is a host stall, unless the lab paused the client meanwhile.
func TestLateClient(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		resumed time.Time // zero: it was not paused
		late    time.Duration
	}{
		"never paused":         {late: time.Second},
		"paused before":        {resumed: now.Add(-1100 * time.Millisecond), late: time.Second},
		"paused meanwhile":     {resumed: now.Add(-100 * time.Millisecond)},
		"paused, woke at once": {resumed: now},
	} {
		t.Run(name, func(t *testing.T) {
			p := &peer{cell: &cell{memory: new(memory), stage: &stage{world: &World{pulse: &stalls.Pulse{}}, base: now.Add(-2 * time.Second)}}, resumed: test.resumed}
			p.wasLate(now, time.Second)
			assert.Equal(t, test.late, p.cell.stage.LongestStall(0))
			assert.Zero(t, p.cell.stage.LongestStall(1500*time.Millisecond), "it began earlier")
		})
	}
}

// A client that got no lock tries again if the host stalled meanwhile, not for ever, and not otherwise.
func TestAgainAfterStalls(t *testing.T) {
	for name, test := range map[string]struct {
		stalls, gets int // in how many tries the host stalls; which try gets the lock
		tries        int
		got          bool
	}{
		"at once":            {gets: 1, tries: 1, got: true},
		"no stall":           {gets: 2, tries: 1},
		"after two stalls":   {stalls: 2, gets: 3, tries: 3, got: true},
		"stalls without end": {stalls: 100, gets: 100, tries: quietTries},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			got, err := againAfterStalls(func(time.Time) bool { return tries <= test.stalls }, func() (bool, error) {
				tries++
				return tries == test.gets, nil
			})
			require.NoError(t, err)
			assert.Equal(t, test.got, got)
			assert.Equal(t, test.tries, tries)
		})
	}
}
