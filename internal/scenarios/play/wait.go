package play

import (
	"context"
	"slices"
	"time"

	"github.com/locklab/locklab/scenarios"
)

// pollEvery is the polling interval of servers and of the record.
const pollEvery = 10 * time.Millisecond

// pass lets so much time go by.
func (c *Cell) pass(ctx context.Context, d time.Duration) error {
	_, err := c.Stage.Until(ctx, max(0, d), never)
	return err
}

// waitExpired waits until the lease of the last grant has passed on every server: by the key's TTL or, without one, by the lab's clock. A
// lock that has no lease, or renews it, counts as live after two leases and a sixth; a lock in its client's memory after one. The sixth
// keeps the next step off the renewals: those every third, half or two thirds of a lease all come after two leases, too.
func (c call) waitExpired(ctx context.Context) (scenarios.Result, error) {
	lease := c.cell.Script.Lease
	if c.cell.Traits.Local {
		return scenarios.ResultLive, c.cell.pass(ctx, lease)
	}
	bound := c.cell.Stage.Now() + 2*lease + lease/6
	for {
		states, err := c.states(ctx, c.cell.Stage.Servers())
		if err != nil {
			return "", err
		}
		granted, ok := c.touched()
		if !ok {
			return "", c.untouched()
		}
		if states.Locked() == 0 {
			return scenarios.ResultExpired, nil
		}
		wait := states.LeaseLeft(granted + lease - c.cell.Stage.Now())
		switch {
		case wait > 0:
		case c.cell.Traits.Opaque != "" && !c.cell.Traits.Leaseless:
			wait = pollEvery // the server says when it has ended it, and nothing else does
		default:
			return c.cell.Traits.AfterLease(), nil
		}
		left := bound - c.cell.Stage.Now()
		switch {
		case left > 0:
		case c.cell.Traits.Free(states):
			return scenarios.ResultExpired, nil
		default:
			return scenarios.ResultLive, nil
		}
		if err := c.cell.pass(ctx, min(wait, left)); err != nil {
			return "", err
		}
	}
}

// touched is when a command last created, replaced or prolonged the lock. Where commands are not read, that was before the step.
func (c call) touched() (at time.Duration, ok bool) {
	if c.cell.Traits.Opaque != "" {
		return c.cell.pace.begun, true
	}
	return c.cell.Record.LastTouch(c.cell.LockKey)
}

// waitHalfOver waits until half the lease of the last grant has passed, so that a renewal changes the TTL.
func (c call) waitHalfOver(ctx context.Context) (scenarios.Result, error) {
	granted, ok := c.cell.Record.LastTouch(c.cell.LockKey)
	if !ok {
		return "", c.untouched()
	}
	return scenarios.ResultDone, c.cell.pass(ctx, granted+c.cell.Script.Lease/2-c.cell.Stage.Now())
}

func (c call) untouched() error {
	return PremiseMissed("nothing that anybody did has reached the lock's key %s", c.cell.LockKey)
}

// waitFreed waits until the key is gone from a majority of the servers, for two leases at most.
func (c call) waitFreed(ctx context.Context) (scenarios.Result, error) {
	return c.poll(ctx, 2*c.cell.Script.Lease, func() (bool, error) {
		states, err := c.states(ctx, c.cell.Stage.Servers())
		return err == nil && c.cell.Traits.Free(states), err
	})
}

// waitRenewed waits, for two leases at most, until a background command has prolonged the lease on every server that has the lock.
func (c call) waitRenewed(ctx context.Context) (scenarios.Result, error) {
	began := c.cell.Stage.Now()
	return c.poll(ctx, 2*c.cell.Script.Lease, func() (bool, error) {
		renewed := c.cell.Record.RenewedSince(began, c.cell.LockKey)
		if len(renewed) == 0 {
			return false, nil
		}
		others := slices.DeleteFunc(slices.Clone(c.cell.Stage.Servers()), func(s Server) bool { return slices.Contains(renewed, s.Name()) })
		states, err := c.states(ctx, others)
		return err == nil && states.Locked() == 0, err
	})
}

// poll waits, for so long at most, until so returns true.
func (c call) poll(ctx context.Context, most time.Duration, so func() (bool, error)) (scenarios.Result, error) {
	for bound := c.cell.Stage.Now() + most; ; {
		if ok, err := so(); err != nil || ok {
			return scenarios.ResultOK, err
		}
		if c.cell.Stage.Now() >= bound {
			return scenarios.ResultNo, nil
		}
		if err := c.cell.pass(ctx, pollEvery); err != nil {
			return "", err
		}
	}
}

// awaitAsked waits until the server has answered a try of the pending acquire, which then waits, or until the acquire has returned. On a
// ZooKeeper it waits when its client has set a watch.
func (h *Handle) awaitAsked(ctx context.Context) (scenarios.Result, error) {
	op := h.pending
	for !op.Answered() && !h.cell.Record.Reached(h.Key, op.ID) {
		if err := h.cell.pass(ctx, pollEvery); err != nil {
			return "", err
		}
	}
	if h.cell.Traits.ZooKeeper {
		return scenarios.ResultDone, h.Client.Process.TakeIn(ctx, h)
	}
	return scenarios.ResultDone, nil
}

// awaitLost waits, for two leases at most, until the lock has announced that it is lost. Many locks never do.
func (h *Handle) awaitLost(ctx context.Context) (scenarios.Result, error) {
	lost, err := h.cell.Stage.Until(ctx, 2*h.cell.Script.Lease, h.Lost.Load)
	switch {
	case err != nil:
		return "", silent(h.Name, "with a loss notice", err)
	case lost:
		return scenarios.ResultOK, nil
	}
	return scenarios.ResultNo, nil
}
