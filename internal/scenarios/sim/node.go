package sim

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/internal/worker/work"
)

// node is where a client runs: its links to the servers, and the faults of these.
type node struct {
	name    string
	cell    *cell
	client  *play.Client
	handles map[string]*handle

	paused, dead atomic.Bool // dead: by order
	missed       []func()    // what was to happen to it while it was paused
	happened     func()      // sees to what has come of something that happened to it; nil: that comes by itself
}

// handle is one lock object of a client, with its links.
type handle struct {
	*play.Handle
	links        []*link // to the lock servers
	keeper       *keeper // its session; nil: the lock server is no ZooKeeper
	resourceLink *link
}

// newNode makes the links of a client.
func (c *cell) newNode(client *play.Client) *node {
	n := &node{name: client.Name, cell: c, client: client, handles: map[string]*handle{}}
	for _, of := range client.Handles {
		h := &handle{Handle: of}
		h.resourceLink = &link{owner: h, server: c.resource, conns: map[int]*conn{}}
		for i, s := range c.servers {
			h.links = append(h.links, &link{owner: h, server: s, number: i, conns: map[int]*conn{}})
		}
		n.handles[of.Name] = h
	}
	c.nodes, client.Links = append(c.nodes, n), n
	return n
}

// hand lets something happen to the client: later, if it is paused now, and never if it is no more.
func (n *node) hand(what func()) {
	switch {
	case n.dead.Load() || n.cell.run.Over():
	case n.paused.Load():
		n.missed = append(n.missed, what)
	default:
		what()
		if n.happened != nil {
			n.happened()
		}
	}
}

// after lets something happen to the client in a while.
func (n *node) after(d time.Duration, what func()) {
	n.cell.timeline.after(d, func() { n.hand(what) })
}

// Pause holds what the client sends and receives.
func (n *node) Pause(context.Context) error {
	n.paused.Store(true)
	return nil
}

// Resume lets the client go on, with what has come in meanwhile.
func (n *node) Resume(context.Context) error {
	n.paused.Store(false)
	missed := n.missed
	n.missed = nil
	for _, what := range missed {
		n.after(0, what)
	}
	return nil
}

// Kill ends the client, and its connections.
func (n *node) Kill(context.Context) error {
	n.dead.Store(true)
	n.hangUpAll()
	return nil
}

// perform is what a client does for an operation: how it acquires its lock is its own affair.
func (n *node) perform(ctx context.Context, lock impls.Lock, op *play.Operation, task work.Task, acquire func(waiting.Way) (bool, error)) history.Answer {
	switch op.Op {
	case history.OpAcquire:
		way, why := waiting.For(n.cell.run.Wait, lock)
		if why != "" {
			return answers.Unsupported(why)
		}
		held, err := acquire(way)
		return answers.Granted(lock, held, err)
	case history.OpWork:
		data := op.Handle.Data
		task.Key, task.Stock = data.Key, data.Stock
		return task.Under(lock).Do(ctx, data.Work)
	}
	return answers.Perform(ctx, lock, op.Op)
}

// linksTo are the links to a server, of every handle.
func (n *node) linksTo(s *server) []*link {
	var links []*link
	for _, h := range n.client.Handles {
		links = append(links, n.handles[h.Name].links[slices.Index(n.cell.servers, s)])
	}
	return links
}

// hangUpAll ends all connections.
func (n *node) hangUpAll() {
	for _, h := range n.client.Handles {
		for _, l := range append(n.handles[h.Name].links, n.handles[h.Name].resourceLink) {
			l.hangUpAll()
		}
	}
}

// Disturb injects a fault into the links.
func (n *node) Disturb(_ context.Context, fault faults.LinkFault, names []string) (string, error) {
	for _, s := range n.cell.named(names) {
		for _, l := range n.linksTo(s) {
			l.inject(fault)
		}
	}
	return n.cell.run.About(names, fault.String()), nil
}

// Heal ends the faults of the links.
func (n *node) Heal(_ context.Context, names []string) (healed []play.Healed, _ error) {
	var kinds []faults.Kind
	servers := make(map[faults.Kind][]string)
	for _, s := range n.cell.named(names) {
		for _, l := range n.linksTo(s) {
			if l.fault == nil {
				continue
			}
			kind := l.fault.Kind
			if servers[kind] == nil {
				kinds = append(kinds, kind)
			}
			if !slices.Contains(servers[kind], s.name) {
				servers[kind] = append(servers[kind], s.name)
			}
			l.heal()
		}
	}
	for _, kind := range kinds {
		h := play.Healed{Kind: kind, Evidence: n.cell.run.About(servers[kind], "the link is whole")}
		if (faults.LinkFault{Kind: kind}).BreaksConnections() {
			h.Broken = servers[kind]
		}
		healed = append(healed, h)
	}
	return healed, nil
}

// Reconnect does nothing: in virtual time a client notices at once that a connection is broken.
func (n *node) Reconnect(context.Context, []string) error { return nil }
