package live

import (
	"context"
	"slices"
	"time"

	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
)

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
		granted, ok := c.rec.LastTouch(c.lockKey)
		if !ok {
			return "", c.untouched()
		}
		if states.Locked() == 0 {
			return scenarios.ResultExpired, nil
		}
		wait := states.LeaseLeft(granted + c.script.Lease - c.world.since())
		if wait <= 0 {
			return c.traits.AfterLease(), nil
		}
		left := bound - c.world.since()
		switch {
		case left > 0:
		case states.Free():
			return scenarios.ResultExpired, nil
		default:
			return scenarios.ResultLive, nil
		}
		if err := sleep(ctx, min(wait, left)); err != nil {
			return "", err
		}
	}
}

// waitHalfOver waits until half the lease of the last grant has passed: whoever prolongs it then adds to it.
func (c *cell) waitHalfOver(ctx context.Context) (scenarios.Result, error) {
	granted, ok := c.rec.LastTouch(c.lockKey)
	if !ok {
		return "", c.untouched()
	}
	return scenarios.ResultDone, sleep(ctx, granted+c.script.Lease/2-c.world.since())
}

func (c *cell) untouched() error {
	return cells.Undecided("nothing that anybody did has reached the lock's key %s", c.lockKey)
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
	for !cl.cell.rec.Reached(cl.lockKey, op.id) {
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
	return err == nil && states.Free(), err
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
	renewed := c.rec.RenewedSince(from, c.lockKey)
	if len(renewed) == 0 {
		return false, nil
	}
	others := slices.DeleteFunc(slices.Clone(c.servers), func(s *lockServer) bool { return slices.Contains(renewed, s.name) })
	states, err := c.states(ctx, others)
	return err == nil && states.Locked() == 0, err
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
