package live

import (
	"cmp"
	"context"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// introduce sends init. A client that fails at it, or at open, makes the verdict unknown. A foreign one that refuses the newest version of
// the protocol is asked again with the oldest.
func (p *peer) introduce(ctx context.Context) error {
	version := cmp.Or(p.cell.subject.Protocol, protocol.Version)
	answer, err := p.sendInit(ctx, version)
	if err == nil && answer.Hello == nil && p.foreign() && p.cell.subject.Protocol == 0 {
		answer, err = p.sendInit(ctx, protocol.Oldest)
	}
	if err != nil {
		return err
	}
	if answer.Hello == nil {
		return play.Undecided("%s answered init without hello%s", p.client.Name, clause(answer.Error))
	}
	p.hello = *answer.Hello
	if at := p.links.of[p.client.Handles[0]].servers[0].at; p.hello.ServerKind != "" && p.hello.ServerKind != kindOf(at) {
		return play.Undecided("this lock needs servers of the kind %s, not at %s", p.hello.ServerKind, at)
	}
	if err := p.startRelays(); err != nil {
		return err
	}
	if err := p.reachClock(); err != nil {
		return err
	}
	if p.foreign() {
		p.cell.world.pool.Count(p.worker)
	}
	return nil
}

func (p *peer) sendInit(ctx context.Context, version int) (protocol.Message, error) {
	return p.ask(ctx, p.initRequest(version))
}

func (p *peer) initRequest(version int) protocol.Request {
	main := p.links.of[p.client.Handles[0]]
	return protocol.Request{
		Do: protocol.Init, Version: version, Client: p.client.Name, Servers: main.addrs(), Resource: main.resource.Addr(),
		TimeoutMS: protocol.MS(2 * p.cell.limit()),
	}
}

// openAll has the process open its locks.
func (p *peer) openAll(ctx context.Context) error {
	if len(p.client.Handles) > 1 && !p.hello.Separate {
		return nil // the cell is n/a by its traits
	}
	for _, h := range p.client.Handles {
		if err := p.open(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// openRequest is the request that opens a lock of the process. Each further lock has links of its own, by which the tap attributes its commands.
func (p *peer) openRequest(h *play.Handle) protocol.Request {
	req := protocol.Request{
		Do: protocol.Open, Handle: requestName(h), Lock: p.cell.subject.Asked(), Key: h.Key, LeaseMS: protocol.MS(p.cell.run.Script.Lease),
		User: protocol.User{Object: history.ObjectOf(h.Name), Thread: history.ThreadOf(h.Name)},
	}
	if h != p.client.Handles[0] || p.hello.LabCuts {
		req.Servers, req.Resource = p.links.of[h].addrs(), p.links.of[h].resource.Addr()
	}
	return req
}

// open opens one lock of the process.
func (p *peer) open(ctx context.Context, h *play.Handle) error {
	opened, err := p.ask(ctx, p.openRequest(h))
	if err != nil {
		return err
	}
	if opened.Outcome != protocol.OK {
		return play.Undecided("%s could not open its lock%s", h.Name, clause(opened.Error))
	}
	if err := p.cell.opened(h, opened); err != nil {
		return play.Undecided("%s %v", h.Name, err)
	}
	return nil
}

// unsupported ends a script whose verb a client does not know: n/a if the verb is optional.
func unsupported(client, verb string) error {
	if verb == protocol.Skew || verb == protocol.Reconnect || verb == protocol.Idle {
		return play.NotApplicable("the client does not know %q", verb)
	}
	return play.Undecided("%s does not know %q, which every client must", client, verb)
}

// kindOf is the kind of the lock server at an address.
func kindOf(address string) string {
	if kind, _, named := strings.Cut(address, "://"); named {
		return kind
	}
	return "redis"
}
