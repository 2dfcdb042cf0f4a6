package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/internal/worker/protocol"
)

var someDay = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func TestSkewed(t *testing.T) {
	tests := []struct {
		ago, offset time.Duration
		rate        float64
		want        time.Duration // after the day
	}{
		{0, 0, 1, 0},
		{time.Second, 0, 1, time.Second},
		{time.Second, time.Hour, 1, time.Hour + time.Second},
		{time.Second, -time.Hour, 1, -time.Hour + time.Second},
		{time.Second, 0, 2, 2 * time.Second},
		{time.Second, time.Minute, 0.5, time.Minute + time.Second/2},
	}
	for _, test := range tests {
		assert.Equal(t, someDay.Add(test.want), skewed(someDay, test.ago, test.offset, test.rate), "%+v", test)
	}
}

func TestClockNeverRunsBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offset := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "offset"))
		rate := rapid.Float64Range(protocol.MinRate, protocol.MaxRate).Draw(t, "rate")
		ago := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "ago"))
		later := ago + time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "later"))
		assert.False(t, skewed(someDay, later, offset, rate).Before(skewed(someDay, ago, offset, rate)))
	})
}

// A sleep of d by the client's clock is a real time in which the clock moves on by d, whatever its rate.
func TestRealTimeOfASleep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(protocol.MinRate, protocol.MaxRate).Draw(t, "rate")
		d := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "d"))
		c := newClock()
		c.skew(0, rate)
		moved := skewed(someDay, c.real(d), 0, rate).Sub(someDay)
		assert.InDelta(t, float64(d), float64(moved), rate+1, "to the nanosecond of real time")
	})
}

func TestClockSet(t *testing.T) {
	c := newClock()
	c.skew(time.Hour, 1)
	assert.WithinDuration(t, time.Now().Add(time.Hour), c.now(), time.Minute)
	c.skew(0, protocol.MaxRate)
	c.skew(0, 1) // right again, however fast it ran meanwhile
	assert.WithinDuration(t, time.Now(), c.now(), time.Minute)
	c.skew(0, protocol.MinRate)
	assert.Equal(t, longest, c.real(longest), "a wait that would overflow ends in a century")
}

// A monotonic clock is as wrong as the wall clock until it is first read. Later only a rate reaches it.
func TestMonotonicClockDoesNotStep(t *testing.T) {
	apart := func(c *clock) time.Duration {
		wall := c.now()
		return time.Duration(wall.UnixNano()) - c.monotonic()
	}
	near := func(want time.Duration, c *clock) {
		t.Helper()
		assert.InDelta(t, float64(want), float64(apart(c)), float64(time.Minute))
	}
	c := newClock()
	c.skew(5*time.Hour, 1)
	near(0, c)
	c.skew(-7*time.Hour, 1)
	near(-12*time.Hour, c)
	before := c.monotonic()
	c.skew(0, 1)
	near(-5*time.Hour, c)
	assert.Less(t, c.monotonic()-before, time.Hour)
	c.skew(0, protocol.MaxRate)
	before = c.monotonic()
	require.Eventually(t, func() bool { return c.monotonic()-before > time.Second }, time.Minute, time.Millisecond)
}
