package worker

import (
	"sync"
	"time"
)

// longest is as long as a wait gets: a century, which still fits into a time.Duration.
const longest = 100 * 365 * 24 * time.Hour

// clock is a client's clock, which the lab can set wrong: it reads the time since it was set, times its rate, plus its offset.
type clock struct {
	mu     sync.Mutex
	set    time.Time // when the clock was set, with the monotonic reading that all is measured by
	offset time.Duration
	rate   float64
}

func newClock() *clock { return &clock{set: time.Now(), rate: 1} }

// skew sets the clock: from now on it starts at the right time plus offset and runs at rate.
func (c *clock) skew(offset time.Duration, rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The right time goes on from the start of the process, so that a step of the machine's own clock does not show here.
	c.set, c.offset, c.rate = c.set.Add(time.Since(c.set)), offset, rate
}

// now reads the clock.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return skewed(c.set, time.Since(c.set), c.offset, c.rate)
}

// real is how long d by this clock is in real time, at the present rate.
func (c *clock) real(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(min(float64(d)/c.rate, float64(longest)))
}

// skewed is what a clock reads that was set some time ago. It has no monotonic reading that would let the true time through.
func skewed(set time.Time, ago, offset time.Duration, rate float64) time.Time {
	if rate != 1 { // whole nanoseconds stay exact on a clock that runs right
		ago = time.Duration(float64(ago) * rate)
	}
	return set.Add(offset + ago).Round(0)
}
