package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/server"
	"github.com/locklab/locklab/faults/tap"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/worker/protocol"
)

// lockServer is one of the servers on which the lock of a cell lives, behind its tap.
type lockServer struct {
	name string // "redis", or S1 and so on where there are several
	server.Server
	part func() error // gives the server back, or ends it
	tap  *tap.Tap
}

// startServers starts the lock servers all at once, each with a tap. The taps share their breakpoints.
func (c *cell) startServers(ctx context.Context) error {
	names := cells.ServerNames(c.script, c.traits)
	c.servers = make([]*lockServer, len(names))
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			s := &lockServer{name: name}
			if s.Server, s.part, errs[i] = c.world.startServer(ctx, filepath.Join(c.dir, serverLog(name)), c.prefix); errs[i] == nil {
				c.servers[i] = s
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, s := range c.servers {
		var err error
		if s.tap, err = c.newTap(ctx, s.name, s.Addr(), c.isLock, false); err != nil {
			return err
		}
	}
	return nil
}

// isLock says whether a key is a lock's.
func (c *cell) isLock(key string) bool { return key == c.lockKey || key == c.otherKey && key != "" }

// serverLog is the name of the link to the file in which a redis-server logs.
func serverLog(name string) string {
	if name == "redis" {
		return "redis-server.log"
	}
	return name + ".log"
}

// stopServers closes taps and servers. Where starting them failed there may be none.
func (c *cell) stopServers() error {
	var errs []error
	for _, s := range c.servers {
		if s == nil {
			continue
		}
		if s.tap != nil {
			errs = append(errs, s.tap.Close())
		}
		errs = append(errs, s.part())
	}
	return errors.Join(errs...)
}

// named are the servers that a step names; all, where it names none.
func (c *cell) named(names []string) []*lockServer {
	if len(names) == 0 {
		return c.servers
	}
	return slices.DeleteFunc(slices.Clone(c.servers), func(s *lockServer) bool { return !slices.Contains(names, s.name) })
}

// states asks the servers for the lock's key, past taps and links.
func (c *cell) states(ctx context.Context, servers []*lockServer) (cells.States, error) {
	states := make(cells.States, len(servers))
	for i, s := range servers {
		var err error
		if states[i], err = server.State(ctx, s.Addr(), c.lockKey); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// lockLink is the way of one client to one lock server.
type lockLink struct {
	*link
	server   *lockServer
	injected *network.Injected // nil if it is whole
	fault    network.Fault     // which one
}

// connect makes the client's links to the lock servers.
func (cl *client) connect(ctx context.Context) error {
	c := cl.cell
	for _, s := range c.servers {
		what := "lock"
		if len(c.servers) > 1 {
			what += "-" + s.name
		}
		link, err := c.link(ctx, s.tap, cl.name, what)
		if err != nil {
			return err
		}
		cl.lockLinks = append(cl.lockLinks, &lockLink{link: link, server: s})
	}
	return nil
}

// lockAddrs are the addresses of the lock servers as the client is told them.
func (cl *client) lockAddrs() []string {
	addrs := make([]string, len(cl.lockLinks))
	for i, l := range cl.lockLinks {
		addrs[i] = l.Addr()
	}
	return addrs
}

// linksTo are the links of the client's process to the servers that a step names, or to all: its own, and those of the further handles
// in it.
func (cl *client) linksTo(names []string) []*lockLink {
	var links []*lockLink
	for _, m := range cl.members {
		for _, l := range m.lockLinks {
			if len(names) == 0 || slices.Contains(names, l.server.name) {
				links = append(links, l)
			}
		}
	}
	return links
}

// disturb injects a fault into the client's links to the lock servers that are named, into all at once, and asserts that it has taken
// effect.
func (cl *client) disturb(ctx context.Context, fault network.Fault, names []string) error {
	links := cl.linksTo(names)
	cl.cell.fault(fault.Name(), cl.name, history.PhaseInject, cl.about(links, fault.String()))
	said, err := atOnce(links, func(l *lockLink) (string, error) {
		injected, err := l.Inject(ctx, fault)
		if err != nil {
			return "", err
		}
		l.injected, l.fault = injected, fault
		return injected.Evidence(), nil
	})
	if err != nil {
		return fmt.Errorf("%s's link: %w", cl.name, err)
	}
	cl.tell(history.PhaseEffective, links, said)
	return nil
}

// atOnce does the same to several links, and returns what is to be said of each.
func atOnce(links []*lockLink, do func(*lockLink) (string, error)) (said []string, _ error) {
	said = make([]string, len(links))
	errs := make([]error, len(links))
	var wg sync.WaitGroup
	for i, l := range links {
		wg.Go(func() { said[i], errs[i] = do(l) })
	}
	wg.Wait()
	return said, errors.Join(errs...)
}

// tell records what is to be said of the faults of several links: one event for each fault, whatever number of links it has.
func (cl *client) tell(phase history.Phase, links []*lockLink, said []string) {
	var faults []string
	about := make(map[string][]string)
	for i, l := range links {
		name := l.fault.Name()
		if about[name] == nil {
			faults = append(faults, name)
		}
		about[name] = append(about[name], cl.about([]*lockLink{l}, said[i]))
	}
	for _, name := range faults {
		cl.cell.fault(name, cl.name, phase, strings.Join(about[name], "; "))
	}
}

// about says to which of several servers links are that something is said of.
func (cl *client) about(links []*lockLink, what string) string {
	if len(cl.cell.servers) == 1 {
		return what
	}
	var names []string
	for _, l := range links {
		if !slices.Contains(names, l.server.name) {
			names = append(names, l.server.name)
		}
	}
	return "to " + strings.Join(names, ", ") + ": " + what
}

// heal makes the client's links whole again. A fault that broke connections leaves the client to make new ones first.
func (cl *client) heal(ctx context.Context, names []string) error {
	broken, err := cl.mend(ctx, names)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(cl.members, func(m *client) bool { return m.pending != nil && m.heldUp != nil }) {
		// The operation goes on at once, on new connections that an order to connect anew would break.
		cl.broken = append(cl.broken, broken...)
		return nil
	}
	return cl.reconnect(ctx, broken)
}

// mend makes the client's links whole again, and returns those whose connections were broken.
func (cl *client) mend(ctx context.Context, names []string) (broken []*lockLink, _ error) {
	disturbed := slices.DeleteFunc(cl.linksTo(names), func(l *lockLink) bool { return l.injected == nil })
	if len(disturbed) == 0 {
		return nil, cells.Undecided("the link of %s is whole", cl.name)
	}
	said, err := atOnce(disturbed, func(l *lockLink) (string, error) { return l.injected.Recover(ctx) })
	if err != nil {
		return nil, fmt.Errorf("%s's link: %w", cl.name, err)
	}
	cl.tell(history.PhaseRecover, disturbed, said)
	for _, l := range disturbed {
		l.injected = nil
		if l.fault.BreaksConnections() {
			broken = append(broken, l)
		}
	}
	return broken, nil
}

// reconnect lets a client notice, before the script goes on, that its connections were broken. Otherwise its next command
// would fail or not by the toss of a coin. A link with a fault is left alone: nothing would come of it.
func (cl *client) reconnect(ctx context.Context, links []*lockLink) error {
	links = slices.DeleteFunc(slices.Clone(links), func(l *lockLink) bool { return l.injected != nil })
	if cl.crashed.Load() || cl.paused || len(links) == 0 {
		return nil
	}
	req := protocol.Request{Do: protocol.Reconnect}
	if len(links) < len(cl.linksTo(nil)) {
		for _, l := range links {
			req.Servers = append(req.Servers, l.Addr())
		}
	}
	_, err := cl.ask(ctx, req)
	return err
}
