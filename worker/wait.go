package worker

import (
	"context"
	"time"

	"github.com/locklab/locklab/impls"
)

// pause is how long a client waits between two tries to acquire, by its own clock.
const pause = 20 * time.Millisecond

// acquire tries until it gets the lock, learns of an error, or has tried for the given time; zero: it tries once. The time is
// real: a client whose clock is wrong is to wait no longer and no shorter for it.
func acquire(ctx context.Context, lock impls.Lock, env impls.Env, within time.Duration) (bool, error) {
	for began := time.Now(); ; {
		held, err := lock.TryAcquire(ctx)
		if held || err != nil || time.Since(began) >= within {
			return held, err
		}
		if err := env.Sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}
