package play

import (
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
	switch f.Kind {
	case faults.ClockJump:
		return f.By.String()
	case faults.Operator:
		return "limits the lock to " + f.By.String()
	case faults.Restart:
		return "without its data"
	case faults.FailOver:
		return "with what it has saved"
	case faults.TakeOver:
		if f.Held {
			return "the replica that was held back takes over"
		}
		return "the replica that has all that was acknowledged takes over"
	case faults.Isolated:
		return "no byte passes between it and the others"
	case faults.SlotMigration:
		if f.LockOnly {
			return "the lock is on another primary, and what else is in its slot is on the old one"
		}
		return "the keys are on another primary, and the old one answers ASK"
	case faults.SplitBrain:
		return "a replica takes over, but the old primary answers " + strings.Join(f.Without, ", ")
	}
	return ""
}

// CauseAt causes a fault of one server.
func (c *Cell) CauseAt(ctx context.Context, s Server, f ServerFault) error {
	recorded := f.Kind.Of().Recorded
	c.Fault(recorded, s.Name(), history.PhaseInject, f.String())
	evidence, err := s.Cause(ctx, f)
	if err != nil {
		return err
	}
	c.Fault(recorded, s.Name(), history.PhaseEffective, evidence)
	return nil
}

// jumpClocks makes the clocks of the named servers, or all, jump. At least one must have the lock.
func (c *Cell) jumpClocks(ctx context.Context, names []string, d time.Duration) error {
	if err := c.requireLock(ctx, c.named(names), "the server's clock would jump"); err != nil {
		return err
	}
	return c.causeAtAll(ctx, names, ServerFault{Kind: faults.ClockJump, By: d})
}

// requireLock leaves the cell undecided if none of the servers has the lock: what would happen then is no trouble of it.
func (c *Cell) requireLock(ctx context.Context, servers []Server, what string) error {
	states, err := c.states(ctx, servers)
	if err == nil && states.Locked() == 0 {
		err = PremiseMissed("%s while there is no lock on the server", what)
	}
	return err
}

// isolate cuts servers of an ensemble off from the others.
func (c *Cell) isolate(ctx context.Context, names []string) error {
	return c.causeAtAll(ctx, names, ServerFault{Kind: faults.Isolated})
}

// rejoin ends that.
func (c *Cell) rejoin(ctx context.Context, names []string) error {
	for _, s := range c.named(names) {
		member, ok := s.(Member)
		if !ok {
			return NotApplicable(NeedsEnsemble)
		}
		evidence, err := member.Rejoin(ctx)
		if err != nil {
			return err
		}
		c.Fault(faults.Isolated, s.Name(), history.PhaseRecover, evidence)
	}
	return nil
}

// migrateLock has the lock's key migrate, and leaves what else is in its slot.
func (c *Cell) migrateLock(ctx context.Context) error {
	if err := c.requireLock(ctx, c.Stage.Servers(), "the lock would migrate"); err != nil {
		return err
	}
	return c.causeAtAll(ctx, nil, ServerFault{Kind: faults.SlotMigration, LockOnly: true})
}

// migrated ends the migration of a slot.
func (c *Cell) migrated(ctx context.Context) error {
	for _, s := range c.Stage.Servers() {
		migrator, ok := s.(Migrator)
		if !ok {
			return NotApplicable(NeedsSlots)
		}
		evidence, err := migrator.Migrated(ctx)
		if err != nil {
			return err
		}
		c.Fault(faults.SlotMigration, s.Name(), history.PhaseRecover, evidence)
	}
	return nil
}

func (c *Cell) causeAtAll(ctx context.Context, names []string, f ServerFault) error {
	for _, s := range c.named(names) {
		if err := c.CauseAt(ctx, s, f); err != nil {
			return err
		}
	}
	return nil
}

// restart restarts the named servers, or all, and has every living client reconnect.
func (c *Cell) restart(ctx context.Context, names []string, fault ServerFault) error {
	if err := c.causeAtAll(ctx, names, fault); err != nil || c.Traits.Library.Ensemble { // whose other servers answer
		return err
	}
	return c.reconnectAll(ctx, names)
}

// reconnectAll has every living client replace its connections to the named servers, or all.
func (c *Cell) reconnectAll(ctx context.Context, names []string) error {
	for _, client := range c.living() {
		if err := client.Process.Reconnect(ctx, names); err != nil {
			return err
		}
	}
	return nil
}

// failOver has servers restart with a copy that is at least so old, as a replica has it that lags by that time.
func (c *Cell) failOver(ctx context.Context, names []string, age time.Duration) error {
	for _, s := range c.named(names) {
		if left := c.servers.saved[s.Name()] + age - c.Stage.Now(); age > 0 && left > 0 {
			if err := c.pass(ctx, left); err != nil {
				return err
			}
			c.begin()
			c.pace.busy = spent{}
		}
	}
	return c.restart(ctx, names, ServerFault{Kind: faults.FailOver})
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
