package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
			p := &peer{cell: &cell{stage: &stage{world: &World{pulse: &pulse{}}, base: now.Add(-2 * time.Second)}}, resumed: test.resumed}
			p.wasLate(now, time.Second)
			assert.Equal(t, test.late, p.cell.LongestStall(0))
			assert.Zero(t, p.cell.LongestStall(1500*time.Millisecond), "it began earlier")
		})
	}
}
