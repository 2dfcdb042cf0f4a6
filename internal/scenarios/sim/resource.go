package sim

import (
	"context"
	"errors"

	"github.com/locklab/locklab/internal/sim/service"
)

// resource is the protected resource as a client in a bubble sees it. The lab's own code uses it, under the library's lock.
type resource struct {
	asking
	guest  *guest
	handle *handle
}

func newResource(g *guest, h *handle) resource {
	r := resource{guest: g, handle: h}
	r.asking = r.send
	return r
}

// call is one or several commands in a row, and a goroutine that waits for their replies.
type call struct {
	resource
	words   [][]string
	replies chan []service.Reply // has room for one; closed: nothing will come back
}

var errNoReply = errors.New("the connection to the resource has ended")

// send sends commands and waits for their replies. A call that is given up leaves its commands under way.
func (r resource) send(ctx context.Context, words ...[]string) ([]service.Reply, error) {
	c := &call{resource: r, words: words, replies: make(chan []service.Reply, 1)}
	r.guest.mu.Lock()
	r.guest.asked = append(r.guest.asked, c)
	r.guest.mu.Unlock()
	r.guest.act()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case replies, ok := <-c.replies:
		if !ok {
			return nil, errNoReply
		}
		return replies, nil
	}
}

// send is the part of the script's goroutine.
func (c *call) send() {
	l := c.handle.resourceLink
	l.send(c.guest.cell, &packet{
		from: c.handle, server: l.server, link: l, to: c, conn: l.conn(c.guest.cell, pooled), commands: c.words, start: l.server.starts,
	})
}

func (c *call) answered(replies []service.Reply) { c.guest.hand(func() { c.replies <- replies }) }

func (c *call) lost() { c.guest.hand(func() { close(c.replies) }) }
