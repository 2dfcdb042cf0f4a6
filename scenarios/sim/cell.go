package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/faults/commands"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/sim/redis"
)

// cell is one lock in one scenario, being run.
type cell struct {
	timeline
	world  *World
	script *scenarios.Script
	spec   impls.Spec
	traits cells.Traits
	rec    *cells.Recorder
	lacks  string // what the script needs and the lock does not have

	table    commands.Table
	blank    *redis.Server
	servers  []*server
	resource *server
	traps    []*trap // that wait for their request
	conns    int

	lockKey   string
	otherKey  string // of the lock that some are on instead; empty: none is
	data      cells.Data
	otherData cells.Data
	laid      *history.Work

	peers   []*peer
	clients map[string]*client // by name, the further handles too
	ids     int64
	tokens  int
	over    bool  // the script has ended
	broken  error // a client is of no more use
}

func newCell(w *World, cs cells.Case, spec impls.Spec) *cell {
	return &cell{
		timeline: timeline{now: stride}, world: w, script: cs.Script, spec: spec, traits: cs.Subject.Traits,
		table: commands.NewTable(), clients: map[string]*client{},
	}
}

// play sets the scene and carries out the script.
func (c *cell) play(ctx context.Context) error {
	if c.lacks = c.traits.Lack(c.script); c.lacks == "" && holdsCopies(c.script) {
		c.lacks = "the model does not hold back copies, nor what is late beside what is held"
	}
	if c.lacks != "" {
		return cells.NotApplicable("%s", c.lacks)
	}
	c.setUp()
	for i := range c.script.Steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.step(&c.script.Steps[i]); err != nil {
			return err
		}
	}
	return c.broken
}

// setUp makes the servers and the clients, and lets every client open its lock.
func (c *cell) setUp() {
	c.lockKey = "lock"
	c.data = cells.Data{Work: c.script.Work(), Stock: c.script.Stock, Clients: c.script.Clients, Key: "counter", Item: cells.ItemName(0)}
	c.otherData = c.data
	if len(c.script.OtherKey) > 0 {
		c.otherKey = "other"
		c.otherData = c.data.Other()
	}
	c.blank = c.world.take()
	for _, name := range cells.ServerNames(c.script, c.traits) {
		c.servers = append(c.servers, c.newServer(name, c.isLock))
	}
	c.resource = c.newServer("resource", c.isData)
	c.layData()
	for _, name := range c.script.Clients {
		c.peers = append(c.peers, c.newPeer(name))
	}
	for _, name := range c.script.Actors() {
		cl := c.clients[name]
		c.rec.Add(cells.Opened(name, cl.lockKey, c.script.Lease, c.traits, len(c.servers), c.laid))
	}
}

func (c *cell) isLock(key string) bool { return key == c.lockKey || key == c.otherKey && key != "" }

func (c *cell) isData(key string) bool {
	return c.data.Has(key) || c.otherKey != "" && c.otherData.Has(key)
}

// stores are the data that the work is done to: one, if the work under locks on the other key is done to the same.
func (c *cell) stores() []cells.Data {
	if c.otherData.Key == c.data.Key {
		return []cells.Data{c.data}
	}
	return []cells.Data{c.otherData, c.data}
}

// layData lays the data out, which is alike for every key.
func (c *cell) layData() {
	for _, data := range c.stores() {
		var all [][]any
		all, c.laid = data.Beginning()
		for _, command := range all {
			c.resource.model.Do(labConn, words(command)...)
		}
	}
}

// readData reads what the work under the locks has come to.
func (c *cell) readData() error {
	for _, of := range []struct {
		lock string
		data cells.Data
	}{{c.lockKey, c.data}, {c.otherKey, c.otherData}} {
		if of.lock == "" || of.lock == c.otherKey && of.data.Key == c.data.Key {
			continue
		}
		found, err := c.found(of.data)
		if err != nil {
			return fmt.Errorf("reading the %s: %w", of.data.Work, err)
		}
		c.rec.Add(history.Event{Kind: history.KindFinal, Lock: of.lock, Detail: found})
	}
	return nil
}

func (c *cell) found(data cells.Data) (*history.Detail, error) {
	if data.Work == history.Counter {
		value, err := c.resource.number(data.Key)
		return &history.Detail{Value: value}, err
	}
	return data.Found(func(key string) ([]string, error) { return c.resource.values(key), nil })
}

// end takes down what the cell has set up.
func (c *cell) end() {
	c.over = true
	for _, p := range c.peers {
		p.proc.Close()
	}
	if c.blank != nil {
		c.world.giveBack(c.blank)
	}
}

// witness records what servers and clients do, as long as the script goes on.
func (c *cell) witness(e history.Event) {
	if !c.over {
		c.rec.Add(e)
	}
}

// token is a value that nobody else gets in the cell.
func (c *cell) token() string {
	c.tokens++
	return fmt.Sprintf("token-%d", c.tokens)
}

// until lets time go on until something is so.
func (c *cell) until(so func() bool) error {
	for !so() {
		if c.broken != nil {
			return c.broken
		}
		at, ok := c.next()
		if !ok || at > c.limit() {
			return c.tooLong()
		}
		c.happen()
	}
	return nil
}

// pass lets so much time go by.
func (c *cell) pass(d time.Duration) error {
	end := c.now + d
	if end > c.limit() {
		return c.tooLong()
	}
	for at, ok := c.next(); ok && at <= end; at, ok = c.next() {
		c.happen()
		if c.broken != nil {
			return c.broken
		}
	}
	c.reach(end)
	return nil
}

// happen lets the next thing happen.
func (c *cell) happen() {
	e := c.pop()
	c.reach(e.at)
	e.do()
}

// reach moves time on, and with it the clocks of the servers.
func (c *cell) reach(at time.Duration) {
	c.now = at
	for _, s := range c.servers {
		s.keepTime(at)
	}
}

func (c *cell) limit() time.Duration { return c.world.cfg.CellTimeout }

func (c *cell) tooLong() error {
	return cells.Undecided("the cell took longer than %v", c.world.cfg.CellTimeout)
}

// fault records a phase of a fault.
func (c *cell) fault(name, target string, phase history.Phase, what string) {
	c.rec.Add(history.Event{Kind: history.KindFault, Client: target, Lock: c.lockKey, Detail: &history.Detail{
		Fault: &history.Fault{Name: name, Target: target, Phase: phase, What: what},
	}})
}

// holdsCopies says whether a script does what only the live world knows.
func holdsCopies(script *scenarios.Script) bool {
	return slices.ContainsFunc(script.Steps, func(step scenarios.Step) bool {
		return step.Verb == scenarios.VerbArrives || step.Verb == scenarios.VerbTimesOut ||
			slices.ContainsFunc(step.Traps, func(t scenarios.Trap) bool { return t.Do == scenarios.HoldCopy })
	})
}
