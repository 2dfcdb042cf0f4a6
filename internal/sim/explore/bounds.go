package explore

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/states"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// What can be explored at most.
const (
	MostClients = learn.MostClients - 1
	MostRounds  = 4
	MostReenter = 3
	MostServers = learn.MostServers
	MostFaults  = 9
	LeastSkew   = time.Millisecond // the model counts in these
	MostSkew    = 20 * time.Minute
	LeastRate   = 0.1
	MostRate    = 0.999
)

// Usual fills in the bounds that are not given: three clients, or two clients of three servers; one round; up to two faults of any kind, or
// as many as the budget has. A broken lock is found to be broken at once then: each client more, and each server, means many times as many
// states.
func (c Config) Usual() Config {
	several := c.Lock.Servers > 1
	if c.Clients == 0 {
		c.Clients = 3
		if several {
			c.Clients = 2
		}
	}
	if several {
		if c.Servers == 0 && c.Lock.Servers > 3 {
			c.Reduced = true
		}
		c.Servers = cmp.Or(c.Servers, min(c.Lock.Servers, 3))
	}
	c.Rounds, c.Lag = cmp.Or(c.Rounds, 1), cmp.Or(c.Lag, 1)
	if c.Budget == nil {
		c.MostFaults = cmp.Or(c.MostFaults, 2)
		c.Budget = Any(c.Lock, c.MostFaults)
	}
	if c.MostFaults == 0 {
		for _, n := range c.Budget {
			c.MostFaults = min(c.MostFaults+max(n, 0), MostFaults)
		}
	}
	return c
}

// ServerCount is how many servers there are in the search.
func (c Config) ServerCount() int { return cmp.Or(c.Servers, max(c.Lock.Servers, 1)) }

// BoundError is a bound that no search can have.
type BoundError struct {
	Bound string // as the flag of lab explore is called
	Why   string
}

func (e *BoundError) Error() string { return e.Bound + " " + e.Why }

// Check finds the first bound that no search can have, as a *BoundError.
func (c Config) Check() error {
	for _, b := range []struct {
		name               string
		value, least, most int
	}{
		{"clients", c.Clients, 1, MostClients}, {"rounds", c.Rounds, 1, MostRounds}, {"servers", c.Servers, 0, MostServers},
		{"max-faults", c.MostFaults, 0, MostFaults}, {"lag", c.Lag, 1, states.MostLag}, {"reenter", c.Reenter, 0, MostReenter},
	} {
		if b.value < b.least || b.value > b.most {
			return &BoundError{b.name, fmt.Sprintf("must be from %d to %d, not %d", b.least, b.most, b.value)}
		}
	}
	for _, kind := range Faults() {
		if n := c.Budget[kind]; n < 0 {
			return &BoundError{kind.Of().Flag, fmt.Sprintf("must be 0 or more, not %d", n)}
		}
	}
	if err := cmp.Or(c.checkBudget(), c.checkSessions()); err != nil {
		return err
	}
	if c.Skew != 0 && (c.Skew < LeastSkew || c.Skew > MostSkew || c.Skew%LeastSkew != 0) {
		return &BoundError{"skew", fmt.Sprintf("must be whole milliseconds, up to %v, not %v", MostSkew, c.Skew)}
	}
	if c.ClockRate != 0 && (c.ClockRate < LeastRate || c.ClockRate > MostRate) {
		return &BoundError{"clock-rate", fmt.Sprintf("must be from %v to %v, that of a slow clock, not %v", LeastRate, MostRate, c.ClockRate)}
	}
	if c.ClockRate != 0 && c.Skew != 0 {
		return &BoundError{"clock-rate", "is for clocks that are not off from the start; remove --skew"}
	}
	if c.Reenter > 0 && !slices.Contains(c.Lock.Promises, impls.Reentrance) {
		return &BoundError{"reenter", fmt.Sprintf("is for locks that promise re-entrance, which %s does not", c.Lock.Name)}
	}
	return nil
}

// checkBudget finds the first fault that a search of the lock cannot have.
func (c Config) checkBudget() error {
	for _, kind := range Faults() {
		if c.Budget[kind] <= 0 || slices.Contains(FaultsOf(c.Lock), kind) {
			continue
		}
		if c.sessions() {
			return &BoundError{kind.Of().Flag, fmt.Sprintf("is for locks on Redis, and %s is on a ZooKeeper", c.Lock.Name)}
		}
		return &BoundError{kind.Of().Flag, fmt.Sprintf("is for locks on a ZooKeeper, and %s is not: use --%s and --%s, of which a partition is made there",
			c.Lock.Name, faults.ReplyLost.Of().Flag, faults.LateRequest.Of().Flag)}
	}
	return nil
}

// checkSessions finds the first bound that no search of a lock on a ZooKeeper can have.
func (c Config) checkSessions() error {
	if !c.sessions() {
		return nil
	}
	if c.ServerCount() > 1 {
		return &BoundError{"servers", fmt.Sprintf("must be 1: %s is on a ZooKeeper, of which the explorer has one", c.Lock.Name)}
	}
	if c.Queues() {
		return &BoundError{"anomaly", fmt.Sprintf("%s is not looked for alone on a ZooKeeper: its waiters sleep until they are told", c.Only[0])}
	}
	return nil
}
