package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/needs"
)

// Holders that acquire again, clients in a queue whose clocks are far off, replicas that lack two writes, and what is done to locks on several servers.
func TestTheSearchesAgreeOnWhateverIsAsked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		lock   string
		kind   faults.Kind
		change func(*Bounds)
		shows  checker.Name // empty: nothing
	}{
		{lock: "redisson-lease", kind: faults.Duplicate, change: func(b *Bounds) { b.Reenter = 1 }, shows: checker.Unreleasable},
		{lock: "redlock", kind: faults.Crash, change: func(*Bounds) {}},
		{lock: "redisson", kind: faults.Crash, change: func(b *Bounds) { b.Reenter = 2 }},
		{lock: "redisson-fair", kind: faults.ClockAhead, change: func(b *Bounds) { b.Clients, b.Tries, b.Queue, b.Skew = 3, 2, true, 20*time.Second }, shows: checker.Unfair},
		{lock: "setpx-lua", kind: faults.FailOver, change: func(b *Bounds) { b.Lag, b.Rounds = 2, 2 }, shows: checker.DoubleHolder},
		{lock: "redisson-multilock", kind: faults.FailOver, change: func(*Bounds) {}},
		{lock: "redlock", kind: faults.ClockJump, change: func(*Bounds) {}, shows: checker.EarlyGrant},
	}
	for _, test := range tests[:needs.Count(t, "questions", 1, len(tests))] {
		b := Usual()
		test.change(&b)
		c := find(t, test.lock, test.kind, b)
		assert.Empty(t, c.Differences(), test.lock)
		if test.shows != "" {
			assert.Equal(t, 1, fewest(c.Slow, test.shows), test.lock)
			continue
		}
		assert.Empty(t, c.SlowLimit+c.FastLimit, test.lock)
		assert.Empty(t, c.Slow, test.lock)
	}
}
