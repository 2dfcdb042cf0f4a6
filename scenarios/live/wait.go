package live

import (
	"context"
	"time"

	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/scenarios"
)

// clockGrain is how much later than computed a time by another clock may come: servers and time stamps count in milliseconds.
const clockGrain = 2 * time.Millisecond

// pollEvery is how often a server is asked about a key that nothing says will change.
const pollEvery = 10 * time.Millisecond

// waitExpired waits until the lease of the last grant has passed: asked of the server where the key has a time to live, and
// otherwise of the clock of a reader whose clock is right. A lock that has no lease, or renews it, is live after two leases; one
// that lies in its client's memory, after one.
func (c *cell) waitExpired(ctx context.Context) (scenarios.Result, error) {
	if c.traits.Local {
		return scenarios.ResultLive, sleep(ctx, c.script.Lease)
	}
	bound := c.world.since() + 2*c.script.Lease
	for {
		state, err := server.State(ctx, c.server.Addr(), c.lockKey)
		if err != nil {
			return "", err
		}
		granted, ok := c.rec.lastTouch(c.lockKey)
		if !ok {
			return "", undecided("nothing that anybody did has reached the lock's key %s", c.lockKey)
		}
		if !state.Exists() {
			return scenarios.ResultExpired, nil
		}
		wait := state.TTL + time.Millisecond
		if state.TTL == 0 {
			wait = granted + c.script.Lease + clockGrain - c.world.since()
			if wait <= 0 {
				return c.byReadersClock(), nil
			}
		}
		left := bound - c.world.since()
		if left <= 0 {
			return scenarios.ResultLive, nil
		}
		if err := sleep(ctx, min(wait, left)); err != nil {
			return "", err
		}
	}
}

// byReadersClock judges a key that the server will never expire after a lease has passed.
func (c *cell) byReadersClock() scenarios.Result {
	if c.traits.Leaseless {
		return scenarios.ResultLive
	}
	return scenarios.ResultExpired
}

// waitFreed waits until the key is gone from the server, for two leases at most.
func (c *cell) waitFreed(ctx context.Context) (scenarios.Result, error) {
	bound := c.world.since() + 2*c.script.Lease
	for {
		freed, err := c.freed(ctx)
		if err != nil || freed {
			return scenarios.ResultOK, err
		}
		if c.world.since() >= bound {
			return scenarios.ResultNo, nil
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return "", err
		}
	}
}

func (c *cell) freed(ctx context.Context) (bool, error) {
	state, err := server.State(ctx, c.server.Addr(), c.lockKey)
	return err == nil && !state.Exists(), err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
