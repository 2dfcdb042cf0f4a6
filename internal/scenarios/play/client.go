package play

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// Client is a client's process with its lock objects. Faults of a process, its clock and its links hit all of them.
type Client struct {
	Name    string
	Handles []*Handle // the client's own first
	Process Process
	Links   Links
	cell    *Cell
	crashed atomic.Bool // by order
	broken  []string    // servers to reconnect to after the operation in flight
}

// Crashed says whether the process was killed by order.
func (c *Client) Crashed() bool { return c.crashed.Load() }

// Doom marks the process as killed by order, so that its missing answers count as the order's effect.
func (c *Client) Doom() { c.crashed.Store(true) }

// Pause stops the process.
func (c *Client) Pause(ctx context.Context) error {
	c.cell.Fault(faults.Pause, c.Name, history.PhaseInject, "SIGSTOP")
	if err := c.Process.Pause(ctx); err != nil {
		return fmt.Errorf("pausing %s: %w", c.Name, err)
	}
	c.cell.Fault(faults.Pause, c.Name, history.PhaseEffective, "the process is stopped")
	return nil
}

// Resume continues the process.
func (c *Client) Resume(ctx context.Context) error {
	if err := c.Process.Resume(ctx); err != nil {
		return fmt.Errorf("resuming %s: %w", c.Name, err)
	}
	c.cell.Fault(faults.Pause, c.Name, history.PhaseRecover, "SIGCONT")
	return nil
}

// Kill ends the process.
func (c *Client) Kill(ctx context.Context) error {
	c.cell.Fault(faults.Crash, c.Name, history.PhaseInject, "SIGKILL")
	c.Doom()
	if err := c.Process.Kill(ctx); err != nil {
		return fmt.Errorf("killing %s: %w", c.Name, err)
	}
	for _, h := range c.Handles {
		c.cell.Record.Add(history.Event{Kind: history.KindExit, Client: h.Name, Detail: &history.Detail{Why: "killed by the script"}})
	}
	c.cell.Fault(faults.Crash, c.Name, history.PhaseEffective, "the process is gone")
	return nil
}

// Exited records that the process has ended without an order.
func (c *Client) Exited(why string) {
	for _, h := range c.Handles {
		c.cell.Witness(history.Event{Kind: history.KindExit, Client: h.Name, Detail: &history.Detail{Why: why}})
	}
}

// threadDies ends the thread that uses this handle. Background tasks of the process go on.
func (h *Handle) threadDies() {
	h.cell.Fault(faults.ThreadDeath, h.Name, history.PhaseInject, "an exception")
	h.cell.Fault(faults.ThreadDeath, h.Name, history.PhaseEffective, "nobody in the process uses the lock any more")
	h.vanish()
	h.cell.Record.Add(history.Event{
		Kind: history.KindExit, Client: h.Name, Detail: &history.Detail{Why: "the thread that used the lock has died; its process lives on"},
	})
}

// SetClock sets the process's clock: ahead or behind by offset, or running at another rate.
func (c *Client) SetClock(ctx context.Context, offset time.Duration, rate float64) error {
	rate = cmp.Or(rate, 1)
	what := faults.ClockSetting(offset, rate)
	c.cell.Fault(faults.Skew, c.Name, history.PhaseInject, what)
	if err := c.Process.SetClock(ctx, offset, rate); err != nil {
		return err
	}
	c.cell.Fault(faults.Skew, c.Name, history.PhaseEffective, what)
	return nil
}

// Disturb injects a fault into the process's links to the lock servers that are named, or to all.
func (c *Client) Disturb(ctx context.Context, fault faults.LinkFault, servers []string) error {
	c.cell.Fault(fault.Kind, c.Name, history.PhaseInject, c.cell.About(servers, fault.String()))
	evidence, err := c.Links.Disturb(ctx, fault, servers)
	if err != nil {
		return fmt.Errorf("%s's link: %w", c.Name, err)
	}
	c.cell.Fault(fault.Kind, c.Name, history.PhaseEffective, evidence)
	if fault.BreaksConnections() && c.cell.Traits.Library.Ensemble && !slices.ContainsFunc(c.Handles, func(h *Handle) bool { return h.pending != nil }) {
		return c.Process.Reconnect(ctx, nil) // to a server that is left; otherwise it would depend on chance whether its next request fails
	}
	return nil
}

// Heal ends the faults of the process's links and has the process replace broken connections. If an operation is held up, that waits until
// the operation ends: it continues on new connections, which a reconnect would break.
func (c *Client) Heal(ctx context.Context, servers []string) error {
	healed, err := c.Links.Heal(ctx, servers)
	switch {
	case err != nil:
		return fmt.Errorf("%s's link: %w", c.Name, err)
	case len(healed) == 0:
		return Undecided("the link of %s is whole", c.Name)
	}
	for _, h := range healed {
		c.cell.Fault(h.Kind, c.Name, history.PhaseRecover, h.Evidence)
	}
	return c.replace(ctx, healed)
}

// replace has the process replace the connections that were broken by faults which have ended.
func (c *Client) replace(ctx context.Context, healed []Healed) error {
	for _, h := range healed {
		c.broken = append(c.broken, h.Broken...)
	}
	if slices.ContainsFunc(c.Handles, func(h *Handle) bool { return h.pending != nil && h.heldUp != nil }) {
		return nil
	}
	return c.reconnectBroken(ctx)
}

// reconnectBroken has the process replace the connections that faults have broken.
func (c *Client) reconnectBroken(ctx context.Context) error {
	servers := c.broken
	c.broken = nil
	if len(servers) == 0 || c.Crashed() {
		return nil
	}
	return c.Process.Reconnect(ctx, servers)
}

// About prefixes a text with the servers that it concerns, if there are several.
func (c *Cell) About(servers []string, what string) string {
	all := c.Stage.Servers()
	if len(all) == 1 && (!c.Traits.Library.Ensemble || len(servers) == 0 || servers[0] == all[0].Name()) {
		return what
	}
	if len(servers) == 0 {
		for _, s := range all {
			servers = append(servers, s.Name())
		}
	}
	return "to " + strings.Join(servers, ", ") + ": " + what
}
