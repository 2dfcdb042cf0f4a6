package play

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// named are the servers that a step names, or all if it names none.
func (c *Cell) named(names []string) []Server {
	all := c.Stage.Servers()
	if len(names) == 0 {
		return all
	}
	if stage, ok := c.Stage.(Ensemble); ok && c.Traits.Library.Ensemble {
		all = slices.Concat(all, stage.Members())
	}
	return slices.DeleteFunc(slices.Clone(all), func(s Server) bool { return !slices.Contains(names, s.Name()) })
}

// states reads the state of the lock's key on servers.
func (c *Cell) states(ctx context.Context, servers []Server) (States, error) {
	states := make(States, len(servers))
	for i, s := range servers {
		var err error
		if states[i], err = s.State(ctx, c.LockKey); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// String is what the fault does, as a history has it.
func (f ServerFault) String() string {
	switch {
	case f.Kind == faults.TakeOver && f.Held:
		return "the replica that was held back takes over"
	case f.Kind == faults.TakeOver:
		return "the replica that has all that was acknowledged takes over"
	case f.Kind == faults.SlotMigration && f.LockOnly:
		return "the lock is on another primary, and what else is in its slot is on the old one"
	case f.Kind == faults.SlotMigration:
		return "the keys are on another primary, and the old one answers ASK"
	case f.Kind == faults.SplitBrain:
		return "a replica takes over, but the old primary answers " + strings.Join(f.Without, ", ")
	}
	return strings.ReplaceAll(f.Kind.Of().Told, "%v", f.By.String())
}

// CauseAt causes a fault of one server.
func (c *Cell) CauseAt(ctx context.Context, s Server, f ServerFault) error {
	recorded := f.Kind.Of().Recorded
	c.Fault(recorded, s.Name(), history.PhaseInject, f.String())
	evidence, err := s.Cause(ctx, f)
	if err != nil {
		return err
	}
	c.Fault(recorded, s.Name(), history.PhaseEffective, cmp.Or(evidence, f.Kind.Of().Seen))
	return nil
}

// RecoverAt ends a fault of one server.
func (c *Cell) RecoverAt(ctx context.Context, s Server, kind faults.Kind) error {
	if err := s.Recover(ctx, kind); err != nil {
		return err
	}
	c.Fault(kind.Of().Recorded, s.Name(), history.PhaseRecover, kind.Of().Over)
	return nil
}

// strikeServers causes a fault of servers. If that breaks connections, every living client connects again, unless other servers answer.
func (c *Cell) strikeServers(ctx context.Context, servers []Server, f ServerFault) error {
	for _, s := range servers {
		if err := c.CauseAt(ctx, s, f); err != nil {
			return err
		}
	}
	return c.afterBreak(ctx, servers, f.Kind.Of())
}

// recoverServers ends a fault of servers.
func (c *Cell) recoverServers(ctx context.Context, servers []Server, f faults.Fault) error {
	for _, s := range servers {
		if err := c.RecoverAt(ctx, s, f.Kind); err != nil {
			return err
		}
	}
	return c.afterBreak(ctx, servers, f)
}

// afterBreak has every living client replace its connections to servers that have broken them.
func (c *Cell) afterBreak(ctx context.Context, servers []Server, f faults.Fault) error {
	if !f.Breaks || c.Traits.Library.Ensemble { // whose other servers answer
		return nil
	}
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = s.Name()
	}
	for _, client := range c.living() {
		if err := client.Process.Reconnect(ctx, names); err != nil {
			return err
		}
	}
	return nil
}

// whileLocked causes a fault of servers of which at least one has the lock.
func (c *Cell) whileLocked(ctx context.Context, servers []Server, f ServerFault, what string) error {
	if err := c.requireLock(ctx, servers, what); err != nil {
		return err
	}
	return c.strikeServers(ctx, servers, f)
}

// requireLock ends the cell, its premise missed, if none of the servers has the lock: what would happen then is no trouble of it.
func (c *Cell) requireLock(ctx context.Context, servers []Server, what string) error {
	states, err := c.states(ctx, servers)
	if err == nil && states.Locked() == 0 {
		err = PremiseMissed("%s while there is no lock on the server", what)
	}
	return err
}

// migrateLock has the lock's key migrate, and leaves what else is in its slot.
func (c *Cell) migrateLock(ctx context.Context) error {
	return c.whileLocked(ctx, c.Stage.Servers(), ServerFault{Kind: faults.SlotMigration, LockOnly: true}, "the lock would migrate")
}

// ageCopies waits until the copies that servers have are so old, as a replica has it that lags by that time.
func (c *Cell) ageCopies(ctx context.Context, names []string, age time.Duration) error {
	for _, s := range c.named(names) {
		if left := c.servers.saved[s.Name()] + age - c.Stage.Now(); age > 0 && left > 0 {
			if err := c.pass(ctx, left); err != nil {
				return err
			}
			c.begin()
			c.pace.busy = spent{}
		}
	}
	return nil
}

// save has the named servers, or all, keep a copy of their data.
func (c *Cell) save(ctx context.Context, names []string) error {
	for _, s := range c.named(names) {
		if err := s.Save(ctx); err != nil {
			return fmt.Errorf("saving the data of %s: %w", s.Name(), err)
		}
		c.servers.saved[s.Name()] = c.Stage.Now()
	}
	return nil
}
