package worker

import (
	"context"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/impls/waiting"
)

// acquire tries until it gets the lock, learns of an error, or has tried for the given time; zero: it tries once. The time is
// real, unless the lock measures it: a client whose clock is wrong is to wait no longer and no shorter for it.
func acquire(ctx context.Context, lock impls.Lock, env impls.Env, within time.Duration, way waiting.Way) (bool, error) {
	if timed, ok := lock.(impls.SelfTimed); ok && within > 0 {
		return waiting.Acquire(ctx, ctx, env, lock, waiting.ByLock(way, timed, within))
	}
	patience, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return waiting.Acquire(ctx, patience, env, lock, way)
}
