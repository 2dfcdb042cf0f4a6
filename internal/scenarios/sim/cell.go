package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/scenarios"
)

// cell is one lock in one scenario, being played in virtual time.
type cell struct {
	timeline timeline
	run      *play.Cell
	world    *World
	spec     impls.Spec
	schedule *schedule // decides what arrives when; nil: time does
	executed int       // commands
	// outside is what happens beside the events; nil: nothing does.
	outside outside

	base     time.Time // when it begins by a clock that is right
	table    commands.Table
	blank    *redis.Server
	servers  []*server
	resource *server
	waiting  []*breakpoint // that wait for their request
	conns    int
	nodes    []*node
	start    func(context.Context, *play.Client) (play.Process, error)
	stop     []func() // at the end
	tokens   int
	broken   error // a client is of no more use
}

// outside is what goes on beside the events of a cell: goroutines that need time, but no event of the cell, to go on.
type outside interface {
	// settle waits until all goroutines are at rest, and takes in what they send.
	settle()
	// sleep lets time pass until then, and says whether a goroutine has sent something before that.
	sleep(until time.Duration) (early bool)
}

func newCell(w *World, subject play.Subject, script *scenarios.Script) *cell {
	c := &cell{
		timeline: timeline{now: stride}, base: base(), world: w, table: w.table,
		run: play.NewCell(script, subject.Traits, script.Clients, prefix(subject.Traits), "counter"),
	}
	c.run.Stage, c.run.Store, c.run.Wait = c, c, w.cfg.Wait
	return c
}

// prefix is what the keys of locks begin with.
func prefix(traits play.Traits) string {
	if traits.ZooKeeper {
		return "/"
	}
	return ""
}

// newModelCell is a cell whose clients are processes of the model.
func newModelCell(w *World, subject play.Subject, script *scenarios.Script) *cell {
	c := newCell(w, subject, script)
	c.spec = *subject.Spec
	c.start = func(_ context.Context, client *play.Client) (play.Process, error) {
		p := c.newPeer(client)
		c.stop = append(c.stop, p.proc.Close)
		return p, nil
	}
	return c
}

// play sets the cell up and carries out the script.
func (c *cell) play(ctx context.Context) error {
	if err := c.applicable(); err != nil {
		return err
	}
	c.blank = c.world.take()
	for _, name := range play.ServerNames(c.run.Script, c.run.Traits) {
		if c.run.Traits.ZooKeeper {
			c.servers = append(c.servers, c.newKeeperServer(name))
			continue
		}
		c.servers = append(c.servers, c.newServer(name, c.run.IsLock))
	}
	c.resource = c.newServer("resource", c.run.IsData)
	if err := c.run.Lay(ctx); err != nil {
		return err
	}
	for _, client := range c.run.Clients {
		process, err := c.start(ctx, client)
		if err != nil {
			return err
		}
		client.Process = process
	}
	if err := c.applicable(); err != nil { // again: what a library can do is known when it has opened its locks
		return err
	}
	for _, client := range c.run.Clients {
		c.run.Opened(client)
	}
	carryOut := c.run.Play
	if c.schedule != nil {
		carryOut = c.schedule.run
	}
	if err := carryOut(ctx); err != nil {
		return err
	}
	return c.broken
}

// applicable ends a script whose needs the lock does not meet.
func (c *cell) applicable() error {
	lacks := ""
	switch {
	case c.run.Traits.ZooKeeper && c.outside != nil:
		lacks = play.NeedsZooKeeper
	case c.outside != nil && c.run.OtherKey != "":
		lacks = "the script has two locks, and a test one"
	default:
		lacks = c.run.Traits.LackInModel(c.run.Script)
	}
	if lacks != "" {
		return play.Lacking("%s", lacks)
	}
	return nil
}

// end takes down what the cell has set up.
func (c *cell) end() {
	c.run.End()
	for _, stop := range c.stop {
		stop()
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
func (c *cell) Now() time.Duration { return c.timeline.now }

// Stride is the time between two steps.
func (c *cell) Stride() time.Duration { return stride }

// eventsPerLook is how many things happen between two looks at the context.
const eventsPerLook = 1024

// Until lets what is going to happen happen, one thing after the other, until done says so, for at most d. When ctx ends, the error is its cause.
func (c *cell) Until(ctx context.Context, d time.Duration, done func() bool) (bool, error) {
	end := c.timeline.now + d
	if end > c.limit() { // then it is the cell that takes too long
		d = play.Ever
	}
	if d == play.Ever {
		end = c.limit()
	}
	for n := 1; ; n++ {
		c.settle()
		switch {
		case done():
			return true, nil
		case c.broken != nil:
			return false, c.broken
		case n%eventsPerLook == 0 && ctx.Err() != nil:
			return false, context.Cause(ctx)
		}
		at, ok := c.timeline.next()
		ok = ok && at <= end
		if !ok && d == play.Ever && c.outside == nil {
			return false, c.tooLong()
		}
		if !ok {
			at = end
		}
		if c.sleep(at) {
			continue
		}
		c.reach(at)
		switch {
		case ok:
			c.timeline.pop().do()
		case d == play.Ever:
			return false, c.tooLong()
		default:
			return done(), c.broken
		}
	}
}

func (c *cell) settle() {
	if c.outside != nil {
		c.outside.settle()
	}
}

func (c *cell) sleep(until time.Duration) (early bool) {
	return c.outside != nil && c.outside.sleep(until)
}

// reach moves time on, and with it the clocks of the servers.
func (c *cell) reach(at time.Duration) {
	c.timeline.now = at
	for _, s := range c.servers {
		s.keepTime(at)
		if s.old != nil {
			s.old.keepTime(at)
		}
	}
}

func (c *cell) limit() time.Duration { return c.world.cfg.CellTimeout + c.run.Script.Waits() }

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
		if len(names) == 0 || slices.Contains(names, s.name) {
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
