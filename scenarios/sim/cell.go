package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/locklab/locklab/faults/commands"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/sim/redis"
)

// cell is one lock in one scenario, being played in virtual time.
type cell struct {
	timeline
	*play.Cell
	world *World
	spec  impls.Spec

	table    commands.Table
	blank    *redis.Server
	servers  []*server
	resource *server
	waiting  []*breakpoint // that wait for their request
	conns    int
	peers    []*peer
	tokens   int
	broken   error // a client is of no more use
}

func newCell(w *World, subject play.Subject, script *scenarios.Script) *cell {
	c := &cell{
		timeline: timeline{now: stride}, world: w, spec: *subject.Spec, table: commands.NewTable(),
		Cell: play.NewCell(script, subject.Traits, script.Clients, "", "counter"),
	}
	c.Cell.Stage, c.Cell.Store, c.Cell.Wait = c, c, w.cfg.Wait
	return c
}

// play sets the cell up and carries out the script.
func (c *cell) play(ctx context.Context) error {
	if c.Traits.ZooKeeper {
		c.Lacks = play.NeedsZooKeeper
	} else {
		c.Lacks = c.Traits.Lack(c.Script, nil)
	}
	if c.Lacks != "" {
		return play.NotApplicable("%s", c.Lacks)
	}
	c.blank = c.world.take()
	for _, name := range play.ServerNames(c.Script, c.Traits) {
		c.servers = append(c.servers, c.newServer(name, c.IsLock))
	}
	c.resource = c.newServer("resource", c.IsData)
	if err := c.Lay(ctx); err != nil {
		return err
	}
	for _, client := range c.Clients {
		p := c.newPeer(client)
		client.Process = p
		c.peers = append(c.peers, p)
	}
	for _, client := range c.Clients {
		c.Opened(client)
	}
	if err := c.Play(ctx); err != nil {
		return err
	}
	return c.broken
}

// end takes down what the cell has set up.
func (c *cell) end() {
	c.End()
	for _, p := range c.peers {
		p.proc.Close()
	}
	if c.blank != nil {
		c.world.giveBack(c.blank)
	}
}

// token is a value that nobody else gets in the cell.
func (c *cell) token() string {
	c.tokens++
	return fmt.Sprintf("token-%d", c.tokens)
}

// Now is the time of the model.
func (c *cell) Now() time.Duration { return c.now }

// Stride is the time between two steps.
func (c *cell) Stride() time.Duration { return stride }

// eventsPerLook is how many things happen between two looks at the context.
const eventsPerLook = 1024

// Until lets what is going to happen happen, one thing after the other, until done says so, for at most d. When ctx ends, the error is its cause.
func (c *cell) Until(ctx context.Context, d time.Duration, done func() bool) (bool, error) {
	end := c.now + d
	if d == play.Ever {
		end = c.limit()
	}
	if end > c.limit() {
		return false, c.tooLong()
	}
	for n := 1; !done(); n++ {
		if c.broken != nil {
			return false, c.broken
		}
		if n%eventsPerLook == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		at, ok := c.next()
		switch {
		case ok && at <= end:
			e := c.pop()
			c.reach(e.at)
			e.do()
		case d == play.Ever:
			return false, c.tooLong()
		default:
			c.reach(end)
			return done(), c.broken
		}
	}
	return true, nil
}

// reach moves time on, and with it the clocks of the servers.
func (c *cell) reach(at time.Duration) {
	c.now = at
	for _, s := range c.servers {
		s.keepTime(at)
		if s.old != nil {
			s.old.keepTime(at)
		}
	}
}

func (c *cell) limit() time.Duration { return c.world.cfg.CellTimeout + c.Script.Waits() }

func (c *cell) tooLong() error {
	return play.Undecided("the cell took longer than %v", c.limit())
}

// Servers are the lock's servers.
func (c *cell) Servers() []play.Server {
	servers := make([]play.Server, len(c.servers))
	for i, s := range c.servers {
		servers[i] = s
	}
	return servers
}

// named are the servers of those names; all, where there are none.
func (c *cell) named(names []string) []*server {
	var found []*server
	for _, s := range c.servers {
		if len(names) == 0 || contains(names, s.name) {
			found = append(found, s)
		}
	}
	return found
}

// Do carries commands out at the resource.
func (c *cell) Do(_ context.Context, all [][]any) error {
	for _, command := range all {
		c.resource.model.Do(labConn, words(command)...)
	}
	return nil
}

// Values reads what the resource has under a key.
func (c *cell) Values(_ context.Context, key string) ([]string, error) {
	return c.resource.values(key), nil
}
