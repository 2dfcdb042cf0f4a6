package world

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/sim/trace"
)

// What a clock shows, and how long it takes to, at both rates. A history says the rate in the words that its readers know.
func TestRatesOfClocks(t *testing.T) {
	t.Parallel()
	for kind, want := range map[faults.Kind]struct {
		shows, takes int
		lasts        time.Duration
		rate         float64
	}{
		faults.ClockBehind: {150, 602, 602 * time.Millisecond, .5},
		faults.ClockAhead:  {602, 151, 150500 * time.Microsecond, 2},
		faults.Pause:       {301, 301, 301 * time.Millisecond, 1},
	} {
		var c wrongClocks
		if kind != faults.Pause {
			c.drift(.5, kind)
		}
		assert.Equal(t, want.shows, c.shows(301))
		assert.Equal(t, want.takes, c.takes(301*time.Millisecond))
		assert.Equal(t, want.lasts, c.lasts(301*time.Millisecond))
		assert.InDelta(t, want.rate, faults.ClockRate((&trace.Trace{ClockRate: .5}).Meaning(trace.Step{Fault: kind})), 0)
	}
}
