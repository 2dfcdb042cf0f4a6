package search

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// Queues says whether the clients of a search wait in a queue: it looks for unfairness only, and the lock promises order.
func (c Config) Queues() bool {
	return slices.Equal(c.Only, []checker.Name{checker.Unfair}) && slices.Contains(c.Lock.Promises, impls.Fairness)
}

// onZooKeeper says whether clients have sessions with a ZooKeeper.
func (c Config) onZooKeeper() bool { return c.Lock.Needs == impls.OneZooKeeper }

// checkService finds a lock whose service no search has.
func (c Config) checkService() error {
	if c.Lock.Needs == impls.Replicas || c.Lock.Needs == impls.Masters {
		return fmt.Errorf("%s cannot be explored: it needs %s, and the explorer has none", c.Lock.Name, c.Lock.Needs)
	}
	return cmp.Or(c.checkBudget(), c.checkSessions())
}

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
		{"clients", c.Clients, 1, MostClients}, {"rounds", c.Rounds, 1, MostRounds}, {"tries", c.Tries, 0, MostTries}, {"servers", c.Servers, 0, MostServers},
		{"max-faults", c.MostFaults, 0, MostFaults}, {"lag", c.Lag, 1, MostLag}, {"reenter", c.Reenter, 0, MostReenter},
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
		if c.onZooKeeper() {
			return &BoundError{kind.Of().Flag, fmt.Sprintf("is for locks on Redis, and %s is on a ZooKeeper", c.Lock.Name)}
		}
		return &BoundError{kind.Of().Flag, fmt.Sprintf("is for locks on a ZooKeeper, and %s is not: use --%s and --%s, of which a partition is made there",
			c.Lock.Name, faults.ReplyLost.Of().Flag, faults.LateRequest.Of().Flag)}
	}
	return nil
}

// checkSessions finds the first bound that no search of a lock on a ZooKeeper can have.
func (c Config) checkSessions() error {
	if !c.onZooKeeper() {
		return nil
	}
	if c.ServerCount() > 1 {
		return &BoundError{"servers", fmt.Sprintf("must be 1: %s is on a ZooKeeper, of which a search has one", c.Lock.Name)}
	}
	if c.Queues() {
		return &BoundError{"anomaly", fmt.Sprintf("%s is not looked for alone on a ZooKeeper: its waiters sleep until they are told", c.Only[0])}
	}
	return nil
}
