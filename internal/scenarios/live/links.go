package live

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// links connect one handle to the lock servers and to the resource.
type links struct {
	servers  []*lockLink
	resource *link
}

// lockLink connects one handle to one lock server.
type lockLink struct {
	*link
	server   *lockServer
	member   *member           // of a group, to which it leads; nil: the server is one process
	at       string            // the address by which the client knows the server
	relay    *network.Relay    // before the link, of a client that leaves it to the lab to end connections; nil: there is none
	injected *network.Injected // the fault in effect; nil: none
	fault    faults.LinkFault
}

// connect makes the links of a handle. With an error it returns those made before.
func (c *cell) connect(ctx context.Context, handle string) (*links, error) {
	l := &links{}
	for _, s := range c.stage.servers {
		for _, e := range s.ends(len(c.stage.servers) > 1) {
			addr, err := e.listen(handle)
			link, err := c.linkTo(ctx, e.tap, addr, err, handle, e.what)
			if err != nil {
				return l, err
			}
			l.servers = append(l.servers, &lockLink{link: link, server: s, member: e.member})
		}
	}
	l.address(c.world.kind.Scheme)
	var err error
	l.resource, err = c.link(ctx, c.resourceTap, handle, "resource")
	return l, err
}

// address notes the addresses by which the client knows its servers.
func (l *links) address(scheme string) {
	for _, one := range l.servers {
		if one.server.ensemble != nil {
			one.at = scheme + one.Addr()
			continue
		}
		one.at = one.server.address(slices.DeleteFunc(slices.Clone(l.servers), func(other *lockLink) bool { return other.server != one.server }))
	}
}

// addrs are the addresses that the client uses for the lock servers.
func (l *links) addrs() []string { return addrsOf(l.servers) }

// addrsOf are the addresses of the servers to which links lead, each once.
func addrsOf(links []*lockLink) []string {
	var addrs []string
	for _, one := range links {
		if !slices.Contains(addrs, one.at) {
			addrs = append(addrs, one.at)
		}
	}
	return addrs
}

// wiring is the links of all handles of a client's process.
type wiring struct {
	client *play.Client
	run    *play.Cell
	of     map[*play.Handle]*links
}

// close closes the links. The taps still deliver what they hold of the process.
func (w *wiring) close() error {
	var errs []error
	for _, l := range w.of {
		for _, one := range l.servers {
			errs = append(errs, one.close())
		}
		if l.resource != nil {
			errs = append(errs, l.resource.close())
		}
	}
	return errors.Join(errs...)
}

// to are the links of all handles to the named servers, or to all.
func (w *wiring) to(names []string) []*lockLink {
	var found []*lockLink
	for _, h := range w.client.Handles {
		if w.of[h] == nil {
			continue
		}
		for _, l := range w.of[h].servers {
			if len(names) == 0 || slices.Contains(names, l.server.name) || slices.Contains(names, l.name()) {
				found = append(found, l)
			}
		}
	}
	return found
}

// Disturb injects a fault into the links at once, and observes that it takes effect.
func (w *wiring) Disturb(ctx context.Context, fault faults.LinkFault, names []string) (string, error) {
	links := w.to(names)
	said, err := atLinks(links, func(l *lockLink) (string, error) {
		injected, err := l.Inject(ctx, fault)
		if err != nil {
			return "", err
		}
		l.injected, l.fault = injected, fault
		return injected.Evidence(), nil
	})
	return w.evidence(links, said), err
}

// atLinks calls do for several links at once, and returns the evidence of each.
func atLinks(links []*lockLink, do func(*lockLink) (string, error)) ([]string, error) {
	said := make([]string, len(links))
	errs := atOnce(len(links), func(i int) (err error) {
		said[i], err = do(links[i])
		return err
	})
	return said, errors.Join(errs...)
}

// evidence joins the evidence of several links, which may be the same.
func (w *wiring) evidence(links []*lockLink, said []string) string {
	var parts []string
	for i, l := range links {
		if part := w.run.About([]string{l.name()}, said[i]); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// Heal ends the faults of the links.
func (w *wiring) Heal(ctx context.Context, names []string) ([]play.Healed, error) {
	disturbed := slices.DeleteFunc(w.to(names), func(l *lockLink) bool { return l.injected == nil })
	var kinds []faults.Kind
	for _, l := range disturbed {
		if !slices.Contains(kinds, l.fault.Kind) {
			kinds = append(kinds, l.fault.Kind)
		}
	}
	for _, kind := range kinds {
		ending := slices.DeleteFunc(slices.Clone(disturbed), func(l *lockLink) bool { return l.fault.Kind != kind })
		w.endsWithholding(kind, w.evidence(ending, slices.Repeat([]string{"the link is mended"}, len(ending))))
	}
	said, err := atLinks(disturbed, func(l *lockLink) (string, error) { return l.injected.Recover(ctx) })
	if err != nil {
		return nil, err
	}
	for _, l := range disturbed {
		l.injected = nil
	}
	var healed []play.Healed
	for _, kind := range kinds {
		h := play.Healed{Kind: kind}
		var links []*lockLink
		var words []string
		for i, l := range disturbed {
			if l.fault.Kind != kind {
				continue
			}
			links, words = append(links, l), append(words, said[i])
			if l.fault.BreaksConnections() && w.loses(l, disturbed) && !slices.Contains(h.Broken, l.server.name) {
				h.Broken = append(h.Broken, l.server.name)
			}
		}
		h.Evidence = w.evidence(links, words)
		healed = append(healed, h)
	}
	return healed, nil
}

// endsWithholding records that a fault is about to end that keeps replies from the process: they arrive before that has been observed.
func (w *wiring) endsWithholding(kind faults.Kind, how string) {
	if kind.WithholdsReplies() {
		w.run.Fault(kind, w.client.Name, history.PhaseEnding, how)
	}
}

// name is that of the server, or of the server of an ensemble.
func (l *lockLink) name() string {
	if l.server.ensemble != nil {
		return l.member.what
	}
	return l.server.name
}

// loses says whether a client has lost its connection for want of the links that were disturbed: to an ensemble it takes all of them.
func (w *wiring) loses(l *lockLink, disturbed []*lockLink) bool {
	return l.server.ensemble == nil || len(disturbed) >= len(w.to([]string{l.server.name}))
}

// Reconnect has the process replace its broken connections before the script goes on; otherwise it would depend on chance whether its next
// command fails. Links with a fault keep theirs.
func (p *peer) Reconnect(ctx context.Context, names []string) error {
	if p.links.deserted() {
		return nil
	}
	faulty := slices.DeleteFunc(p.links.to(nil), func(l *lockLink) bool { return l.injected == nil })
	stays := addrsOf(faulty)
	addrs := slices.DeleteFunc(addrsOf(p.links.to(names)), func(at string) bool { return slices.Contains(stays, at) })
	if p.doomed() || p.paused || len(addrs) == 0 || p.cell.storm != nil && !p.cell.run.Traits.Can(protocol.Reconnect) { // in a storm nothing depends on it
		return nil
	}
	req := protocol.Request{Do: protocol.Reconnect}
	if len(addrs) < len(addrsOf(p.links.to(nil))) {
		req.Servers = addrs
	}
	_, err := p.ask(ctx, req)
	return err
}

// deserted says whether no server of an ensemble that serves is in the client's reach.
func (w *wiring) deserted() bool {
	for _, l := range w.to(nil) {
		if l.server.ensemble == nil || l.injected == nil && slices.Contains(l.server.ensemble.Serving(), l.member.Addr) {
			return false
		}
	}
	return true
}
