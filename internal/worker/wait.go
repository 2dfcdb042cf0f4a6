package worker

import (
	"context"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/waiting"
)

// acquire tries until the lock is granted, an error occurs, or within is over; zero: it tries once. within is real time, unless the lock
// measures it: a skewed clock must not change the wait.
func acquire(ctx context.Context, lock impls.Lock, env impls.Env, within time.Duration, way waiting.Way) (bool, error) {
	if timed, ok := lock.(impls.SelfTimed); ok && within > 0 {
		return waiting.Acquire(ctx, ctx, env, lock, waiting.ByLock(way, timed, within))
	}
	patience, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return waiting.Acquire(ctx, patience, env, lock, way)
}
