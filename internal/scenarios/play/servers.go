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

// servers are those that the step names, or all if it names none.
func (c call) servers() []Server {
	all := c.cell.Stage.Servers()
	if len(c.step.Servers) == 0 {
		return all
	}
	if stage, ok := c.cell.Stage.(Ensemble); ok && c.cell.Traits.Library.Ensemble {
		all = slices.Concat(all, stage.Members())
	}
	return slices.DeleteFunc(slices.Clone(all), func(s Server) bool { return !slices.Contains(c.step.Servers, s.Name()) })
}

// states reads the state of the lock's key on servers.
func (c call) states(ctx context.Context, servers []Server) (States, error) {
	states := make(States, len(servers))
	for i, s := range servers {
		var err error
		if states[i], err = s.State(ctx, c.cell.LockKey); err != nil {
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

// strike causes a fault of the servers. If that breaks connections, every living client connects again, unless other servers answer.
func (c call) strike(ctx context.Context, f ServerFault) error {
	for _, s := range c.servers() {
		if err := c.cell.CauseAt(ctx, s, f); err != nil {
			return err
		}
	}
	return c.afterBreak(ctx, f.Kind.Of())
}

// end ends a fault of the servers.
func (c call) end(ctx context.Context, f faults.Fault) error {
	for _, s := range c.servers() {
		if err := c.cell.RecoverAt(ctx, s, f.Kind); err != nil {
			return err
		}
	}
	return c.afterBreak(ctx, f)
}

// afterBreak has every living client replace its connections to the servers, if a fault has broken them.
func (c call) afterBreak(ctx context.Context, f faults.Fault) error {
	if !f.Breaks || c.cell.Traits.Library.Ensemble { // whose other servers answer
		return nil
	}
	var names []string
	for _, s := range c.servers() {
		names = append(names, s.Name())
	}
	for _, client := range c.cell.living() {
		if err := client.Process.Reconnect(ctx, names); err != nil {
			return err
		}
	}
	return nil
}

// whileLocked causes a fault of the servers, of which at least one has the lock: otherwise the cell's premise is missed, since what would happen then
// is no trouble of the lock.
func (c call) whileLocked(ctx context.Context, f ServerFault, what string) error {
	states, err := c.states(ctx, c.servers())
	switch {
	case err != nil:
		return err
	case states.Locked() == 0:
		return PremiseMissed("%s while there is no lock on the server", what)
	}
	return c.strike(ctx, f)
}

// ageCopies waits until the copies that servers have are so old, as a replica has it that lags by that time.
func (c call) ageCopies(ctx context.Context, age time.Duration) error {
	for _, s := range c.servers() {
		if left := c.cell.servers.saved[s.Name()] + age - c.cell.Stage.Now(); age > 0 && left > 0 {
			if err := c.cell.pass(ctx, left); err != nil {
				return err
			}
			c.cell.begin()
			c.cell.pace.busy = spent{}
		}
	}
	return nil
}

// save has the servers keep a copy of their data.
func (c call) save(ctx context.Context) error {
	for _, s := range c.servers() {
		if err := s.Save(ctx); err != nil {
			return fmt.Errorf("saving the data of %s: %w", s.Name(), err)
		}
		c.cell.servers.saved[s.Name()] = c.cell.Stage.Now()
	}
	return nil
}
