package worker

import (
	"sync"
	"time"
)

// longest bounds a wait: a century, which fits into a time.Duration.
const longest = 100 * 365 * 24 * time.Hour

// clock is a client's pair of clocks with skew and drift. The wall clock reads the time since it was set, times its rate, plus its offset.
// The monotonic clock is as wrong as the wall clock until it is first read; later it only runs at the same rate.
type clock struct {
	mu      sync.Mutex
	set     time.Time // when the clock was set, with a monotonic reading
	offset  time.Duration
	rate    float64
	read    bool          // the monotonic clock has been read
	stepped time.Duration // by how much the wall clock has been set ahead since
}

func newClock() *clock { return &clock{set: time.Now(), rate: 1} }

// skew sets the clock: from now on it starts at the right time plus offset and runs at rate.
func (c *clock) skew(offset time.Duration, rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The true time continues from the start of the process, so that a step of the host's clock has no effect.
	ago := time.Since(c.set)
	shown := skewed(c.set, ago, c.offset, c.rate)
	c.set, c.offset, c.rate = c.set.Add(ago), offset, rate
	if c.read {
		c.stepped += skewed(c.set, 0, c.offset, c.rate).Sub(shown)
	}
}

// now reads the wall clock.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall()
}

// monotonic reads the monotonic clock: the time since 1970, unless the wall clock was wrong at the first reading.
func (c *clock) monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = true
	return time.Duration(c.wall().UnixNano()) - c.stepped
}

func (c *clock) wall() time.Time { return skewed(c.set, time.Since(c.set), c.offset, c.rate) }

// real is the real time that d by this clock takes, at the present rate.
func (c *clock) real(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(min(float64(d)/c.rate, float64(longest)))
}

// skewed is the reading of a clock that was set ago. It has no monotonic reading, which would reveal the true time.
func skewed(set time.Time, ago, offset time.Duration, rate float64) time.Time {
	if rate != 1 { // at rate 1 nanoseconds stay exact
		ago = time.Duration(float64(ago) * rate)
	}
	return set.Add(offset + ago).Round(0)
}
