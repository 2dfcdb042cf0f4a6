package play

import (
	"cmp"
	"context"
	"fmt"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// goDown ends the servers. Before that the links of all clients to them refuse, as the host of a server does that does not run.
func (c call) goDown(ctx context.Context) error {
	refuse := faults.LinkFault{Kind: faults.Refuse}
	for _, s := range c.servers() {
		c.cell.Fault(faults.Down, s.Name(), history.PhaseInject, refuse.String())
		for _, client := range c.cell.living() {
			if _, err := client.Links.Disturb(ctx, refuse, []string{s.Name()}); err != nil {
				return fmt.Errorf("%s's link: %w", client.Name, err)
			}
		}
		evidence, err := s.Cause(ctx, ServerFault{Kind: faults.Down})
		if err != nil {
			return err
		}
		c.cell.Fault(faults.Down, s.Name(), history.PhaseEffective, cmp.Or(evidence, faults.Down.Of().Seen))
	}
	return nil
}

// comeBack starts the servers with the data that they had.
func (c call) comeBack(ctx context.Context) error {
	for _, s := range c.servers() {
		if err := s.Recover(ctx, faults.Down); err != nil {
			return err
		}
		var healed [][]Healed
		clients := c.cell.living()
		for _, client := range clients {
			whole, err := client.Links.Heal(ctx, []string{s.Name()})
			if err != nil {
				return fmt.Errorf("%s's link: %w", client.Name, err)
			}
			healed = append(healed, whole)
		}
		c.cell.Fault(faults.Down, s.Name(), history.PhaseRecover, faults.Down.Of().Over)
		for i, client := range clients {
			if err := client.replace(ctx, healed[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// living are the clients that have not been killed.
func (c *Cell) living() []*Client {
	var living []*Client
	for _, client := range c.Clients {
		if !client.Crashed() {
			living = append(living, client)
		}
	}
	return living
}
