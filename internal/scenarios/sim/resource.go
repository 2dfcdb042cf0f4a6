package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// resource is the protected resource as a client in a bubble sees it. The lab's own code uses it, under the library's lock.
type resource struct {
	guest  *guest
	handle *handle
}

// call is a command, and a goroutine that waits for its reply.
type call struct {
	resource
	words   []string
	replies chan service.Reply // has room for one; closed: nothing will come back
}

var errNoReply = errors.New("the connection to the resource has ended")

// send sends a command and waits for its reply. A call that is given up leaves its command under way.
func (r resource) send(ctx context.Context, script bool, words []string) (any, error) {
	c := &call{resource: r, words: words, replies: make(chan service.Reply, 1)}
	r.guest.mu.Lock()
	r.guest.asked = append(r.guest.asked, c)
	r.guest.mu.Unlock()
	r.guest.act()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case reply, ok := <-c.replies:
		if !ok {
			return nil, errNoReply
		}
		return process.Value(reply, script)
	}
}

// send is the part of the script's goroutine.
func (c *call) send() {
	l := c.handle.resourceLink
	l.send(c.guest.cell, &packet{
		from: c.handle, server: l.server, link: l, to: c, conn: l.conn(c.guest.cell, pooled), commands: [][]string{c.words}, start: l.server.starts,
	})
}

func (c *call) answered(replies []service.Reply) { c.guest.hand(func() { c.replies <- replies[0] }) }

func (c *call) lost() { c.guest.hand(func() { close(c.replies) }) }

func (r resource) Do(ctx context.Context, args ...any) (any, error) {
	return r.send(ctx, false, words(args))
}

func (r resource) Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error) {
	command := append([]string{"EVAL", script.Source, fmt.Sprint(len(keys))}, keys...)
	return r.send(ctx, true, append(command, words(args)...))
}
