package sim

import (
	"context"
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// node is where a client runs: its links to the servers, and the faults of these.
type node struct {
	name    string
	cell    *cell
	client  *play.Client
	handles map[string]*handle
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
	c.nodes = append(c.nodes, n)
	return n
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
			l.inject(n.cell, fault)
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
			if !contains(servers[kind], s.name) {
				servers[kind] = append(servers[kind], s.name)
			}
			l.heal(n.cell)
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
