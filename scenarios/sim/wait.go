package sim

import (
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
func (c *cell) waitExpired() (scenarios.Result, error) {
	lease := c.script.Lease
	if c.traits.Local {
		return scenarios.ResultLive, c.pass(lease)
	}
	bound := c.now + 2*lease
	for {
		states := c.states(c.servers)
		granted, ok := c.rec.LastTouch(c.lockKey)
		if !ok {
			return "", c.untouched()
		}
		if states.Locked() == 0 {
			return scenarios.ResultExpired, nil
		}
		wait := states.LeaseLeft(granted + lease - c.now)
		if wait <= 0 {
			return c.traits.AfterLease(), nil
		}
		left := bound - c.now
		switch {
		case left > 0:
		case states.Free():
			return scenarios.ResultExpired, nil
		default:
			return scenarios.ResultLive, nil
		}
		if err := c.pass(min(wait, left)); err != nil {
			return "", err
		}
	}
}

// waitHalfOver waits until half the lease of the last grant has passed: whoever prolongs it then adds to it.
func (c *cell) waitHalfOver() (scenarios.Result, error) {
	granted, ok := c.rec.LastTouch(c.lockKey)
	if !ok {
		return "", c.untouched()
	}
	return scenarios.ResultDone, c.pass(max(0, granted+c.script.Lease/2-c.now))
}

func (c *cell) untouched() error {
	return cells.Undecided("nothing that anybody did has reached the lock's key %s", c.lockKey)
}

// waitFreed waits until the key is gone from a majority of the servers, for two leases at most.
func (c *cell) waitFreed() (scenarios.Result, error) {
	return c.poll(func() bool { return c.states(c.servers).Free() })
}

// waitRenewed waits until a command that belongs to no operation has prolonged the lease, for two leases at most; on every server
// where the lock is, because each may be renewed in its own time.
func (c *cell) waitRenewed() (scenarios.Result, error) {
	began := c.now
	return c.poll(func() bool { return c.renewedEverywhere(began) })
}

func (c *cell) renewedEverywhere(from time.Duration) bool {
	renewed := c.rec.RenewedSince(from, c.lockKey)
	if len(renewed) == 0 {
		return false
	}
	others := slices.DeleteFunc(slices.Clone(c.servers), func(s *server) bool { return slices.Contains(renewed, s.name) })
	return c.states(others).Locked() == 0
}

// poll waits until something is so, for two leases at most.
func (c *cell) poll(so func() bool) (scenarios.Result, error) {
	for bound := c.now + 2*c.script.Lease; ; {
		if so() {
			return scenarios.ResultOK, nil
		}
		if c.now >= bound {
			return scenarios.ResultNo, nil
		}
		if err := c.pass(pollEvery); err != nil {
			return "", err
		}
	}
}

// awaitAsked waits until the pending acquire of a client has been at the server and was not granted, so that it goes on waiting.
func (cl *client) awaitAsked() (scenarios.Result, error) {
	op := cl.pending
	for !op.answered && !cl.cell.rec.Reached(cl.lockKey, op.id) {
		if err := cl.cell.pass(pollEvery); err != nil {
			return "", err
		}
	}
	return scenarios.ResultDone, nil
}
