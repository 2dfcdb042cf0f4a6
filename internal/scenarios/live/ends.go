package live

import (
	"context"
	"fmt"
	"time"

	"github.com/locklab/locklab/internal/faults/tap"
)

// endTime bounds how long the proxies may take to tell clients that a server has ended their connections.
const endTime = 10 * time.Second

// connEnd is the end of a connection of a handle.
type connEnd struct {
	handle string
	ended  <-chan struct{} // closed when the client's system knows
}

// breaking has something break the connections to the server at an address behind a tap, while no command is in flight. It returns when the clients' systems
// know: whether a client that is paused finds its connection ended must not depend on how fast the proxies are.
func (s *lockServer) breaking(ctx context.Context, t *tap.Tap, addr string, do func() error) error {
	var open []connEnd
	err := t.Exclusively(ctx, func() error {
		open = s.open(t, addr)
		return do()
	})
	if err != nil {
		return err
	}
	t.Break()
	ctx, cancel := context.WithTimeoutCause(ctx, endTime, fmt.Errorf("waited for %s", endTime))
	defer cancel()
	for _, one := range open {
		select {
		case <-one.ended:
		case <-ctx.Done():
			return fmt.Errorf("%s has not been told that its connection to %s has ended: %w", one.handle, s.name, context.Cause(ctx))
		}
	}
	return nil
}

// open are the ends of the connections to the server at an address behind a tap. In a storm there are none: nothing depends on them, and links change meanwhile.
func (s *lockServer) open(t *tap.Tap, addr string) (all []connEnd) {
	if s.cell.storm != nil {
		return nil
	}
	for _, client := range s.cell.run.Clients {
		if client.Crashed() {
			continue
		}
		p := s.cell.peers[client.Name]
		for h, links := range p.links.of {
			for _, l := range links.servers {
				if l.tap == t && l.passesEnds(addr) {
					for _, ended := range p.ends(h.Name, l, addr) {
						all = append(all, connEnd{h.Name, ended})
					}
				}
			}
		}
	}
	return all
}

// passesEnds says whether the link leads to the server at an address, and has no fault, which may keep an end from the client.
func (l *lockLink) passesEnds(addr string) bool {
	return l.injected == nil && (l.member == nil || l.member.Addr == addr)
}

// ends are those of the connections of a handle by a link to the server at an address. Those to a relay count only if the process is paused; otherwise it is
// told to reconnect, and finds them cut.
func (p *peer) ends(handle string, l *lockLink, addr string) []<-chan struct{} {
	ends := l.tap.Ends(handle, addr)
	if l.relay != nil && p.paused {
		ends = append(ends, l.relay.Ends()...)
	}
	return ends
}
