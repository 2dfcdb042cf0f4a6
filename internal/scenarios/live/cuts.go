package live

import (
	"errors"
	"slices"
	"sync"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// cuts has what the lab must know to end the connections of a client that leaves that to it: hello says "lab_cuts".
type cuts struct {
	mu      sync.Mutex
	under   map[int64]*underway // operations that are not answered
	cancels map[int64]int64     // the operation of each cancel that is not answered
}

// underway is an operation.
type underway struct {
	handle string
	cut    bool // its connections were ended, and new ones are not let through
}

// startRelays puts a relay before each link to a lock server, if the client wants that.
func (p *peer) startRelays() error {
	if !p.hello.LabCuts {
		return nil
	}
	p.cuts.under, p.cuts.cancels = make(map[int64]*underway), make(map[int64]int64)
	for _, l := range p.links.of {
		for _, one := range l.servers {
			var err error
			if one.relay, err = network.StartRelay(one.link.Addr()); err != nil {
				return err
			}
		}
		l.address(p.cell.world.kind.Scheme)
	}
	return nil
}

// Addr is where the client connects.
func (l *lockLink) Addr() string {
	if l.relay != nil {
		return l.relay.Addr()
	}
	return l.link.Addr()
}

func (l *lockLink) close() error {
	if l.relay == nil {
		return l.link.close()
	}
	return errors.Join(l.relay.Close(), l.link.close())
}

// send sends a request to the client. A reconnect finds the connections ended.
func (p *peer) send(req protocol.Request) (<-chan protocol.Message, error) {
	if p.hello.LabCuts {
		p.cuts.mu.Lock()
		switch req.Do {
		case protocol.Acquire, protocol.Release, protocol.Renew, protocol.Check, protocol.Work, protocol.Close:
			p.cuts.under[req.ID] = &underway{handle: req.Handle}
		case protocol.Cancel:
			p.cuts.cancels[req.ID] = req.Op
		case protocol.Reconnect:
			for _, l := range p.links.to(nil) {
				if len(req.Servers) == 0 || slices.Contains(req.Servers, l.at) {
					l.relay.Cut(false)
				}
			}
		}
		p.cuts.mu.Unlock()
	}
	return p.worker.Conn.Send(req)
}

// answered takes in an answer. A cancel that was taken ends the connections of its operation's handle, and new ones until the operation is answered.
func (c *cuts) answered(answer protocol.Message, links *wiring) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if op := c.under[answer.ID]; op != nil {
		delete(c.under, answer.ID)
		if !c.others(op) {
			for _, l := range op.cutLinks(links) {
				l.relay.Open()
			}
		}
	}
	id, found := c.cancels[answer.ID]
	delete(c.cancels, answer.ID)
	if op := c.under[id]; found && op != nil && answer.Outcome == protocol.OK {
		op.cut = true
		for _, l := range op.cutLinks(links) {
			l.relay.Cut(true)
		}
	}
}

// others says whether connections of an operation's handle are cut for another one, too.
func (c *cuts) others(op *underway) bool {
	for _, other := range c.under {
		if other.cut && other.handle == op.handle {
			return true
		}
	}
	return false
}

// cutLinks are the links of an operation whose connections are cut.
func (op *underway) cutLinks(links *wiring) []*lockLink {
	if h := named(links.client, op.handle); op.cut && h != nil {
		return links.of[h].servers
	}
	return nil
}
