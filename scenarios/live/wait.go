package live

import (
	"context"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// clockGrain is how much later than computed a time by another clock may come: servers and time stamps count in milliseconds.
const clockGrain = 2 * time.Millisecond

// pollEvery is how often a server is asked about a key that nothing says will change.
const pollEvery = 10 * time.Millisecond

// waitExpired waits until the lease of the last grant has passed, on every server: asked of the server where the key has a time
// to live, and otherwise of the clock of a reader whose clock is right. A lock that has no lease, or renews it, is live after two
// leases; one that lies in its client's memory, after one.
func (c *cell) waitExpired(ctx context.Context) (scenarios.Result, error) {
	if c.traits.Local {
		return scenarios.ResultLive, sleep(ctx, c.script.Lease)
	}
	bound := c.world.since() + 2*c.script.Lease
	for {
		states, err := c.states(ctx, c.servers)
		if err != nil {
			return "", err
		}
		granted, ok := c.rec.lastTouch(c.lockKey)
		if !ok {
			return "", undecided("nothing that anybody did has reached the lock's key %s", c.lockKey)
		}
		if locked(states) == 0 {
			return scenarios.ResultExpired, nil
		}
		wait := c.leaseLeft(states, granted)
		if wait <= 0 {
			return c.byReadersClock(), nil
		}
		left := bound - c.world.since()
		switch {
		case left > 0:
		case free(states):
			return scenarios.ResultExpired, nil
		default:
			return scenarios.ResultLive, nil
		}
		if err := sleep(ctx, min(wait, left)); err != nil {
			return "", err
		}
	}
}

// leaseLeft is how long the lock's keys will last yet. One without a time to live lasts for a lease since it was granted.
func (c *cell) leaseLeft(states []history.State, granted time.Duration) (longest time.Duration) {
	for _, state := range states {
		switch {
		case !state.Exists():
		case state.TTL == 0:
			longest = max(longest, granted+c.script.Lease+clockGrain-c.world.since())
		default:
			longest = max(longest, state.TTL+time.Millisecond)
		}
	}
	return longest
}

// byReadersClock judges a key that the server will never expire after a lease has passed.
func (c *cell) byReadersClock() scenarios.Result {
	if c.traits.Leaseless {
		return scenarios.ResultLive
	}
	return scenarios.ResultExpired
}

// waitFreed waits until the key is gone from a majority of the servers, for two leases at most.
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

// awaitAsked waits until the pending acquire of a client has been at the server and was not granted, so that it goes on waiting.
func (cl *client) awaitAsked(ctx context.Context) (scenarios.Result, error) {
	op := cl.pending
	for !cl.cell.rec.reached(cl.lockKey, op.id) {
		if err := sleep(ctx, pollEvery); err != nil {
			return "", err
		}
		if len(op.reply) > 0 {
			break
		}
	}
	return scenarios.ResultDone, nil
}

func (c *cell) freed(ctx context.Context) (bool, error) {
	states, err := c.states(ctx, c.servers)
	return err == nil && free(states), err
}

// waitRenewed waits until a command that belongs to no operation has prolonged the lease, for two leases at most; on every server
// where the lock is, because each may be renewed in its own time.
func (c *cell) waitRenewed(ctx context.Context) (scenarios.Result, error) {
	began := c.world.since()
	for {
		renewed, err := c.renewedSince(ctx, began)
		if err != nil || renewed {
			return scenarios.ResultOK, err
		}
		if c.world.since() >= began+2*c.script.Lease {
			return scenarios.ResultNo, nil
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return "", err
		}
	}
}

func (c *cell) renewedSince(ctx context.Context, from time.Duration) (bool, error) {
	renewed := c.rec.renewedSince(from, c.lockKey)
	if len(renewed) == 0 {
		return false, nil
	}
	others := slices.DeleteFunc(slices.Clone(c.servers), func(s *lockServer) bool { return slices.Contains(renewed, s.name) })
	states, err := c.states(ctx, others)
	return err == nil && locked(states) == 0, err
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
