package sim

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/locklab/locklab/faults"
)

// end is a library's end of a connection to a lock server. It belongs to the script's goroutine.
type end struct {
	guest  *guest
	handle *handle
	link   *link
	number int   // of the connections of a handle to a server, from 1
	conn   *conn // at the server; nil: the server has not heard of it
	last   *packet
}

// transport is what a library sends its commands on: a stream, or a line without bytes.
type transport interface {
	receiver
	user
	// Next are the whole commands that have been asked, and whether nothing will follow.
	Next() (commands [][]string, hangUp bool)
	// Closed says whether the library has closed it.
	Closed() bool
	// TimeOut lets the time-out of a library that waits for a reply be over.
	TimeOut()
	// Fail breaks the connection. Any goroutine may call it.
	Fail(err error)
	// of is the end that it is.
	of() *end
}

func (e *end) of() *end { return e }

// lost does nothing: the library learns of it when the connection breaks, or when its time-out is over.
func (e *end) lost() {}

// takeIn sends what a library has asked on a connection next, if the server has answered what came before, or hangs up.
func takeIn(by transport) {
	e := by.of()
	c := e.guest.cell
	if e.conn != nil && (e.conn.busy > 0 || e.conn.broken) {
		if c.schedule != nil && e.conn.busy > 0 && by.Closed() {
			c.schedule.hungUp(e.conn)
		}
		return
	}
	commands, hangUp := by.Next()
	if len(commands) > 0 {
		if e.conn == nil {
			e.conn = e.link.conn(c, e.number)
			e.conn.user = by
		}
		p := &packet{
			from: e.handle, server: e.link.server, link: e.link, to: by, conn: e.conn, commands: commands, start: e.link.server.starts,
			lost: e.last != nil && e.last.lost, // what follows a reply that was lost is lost, too
		}
		e.last = p
		e.conn.op, _ = e.handle.Current(false)
		e.link.send(c, p)
	}
	if hangUp && e.conn != nil {
		e.link.hangUp(e.number)
	}
}

// dialing is a connection that a goroutine waits for.
type dialing struct {
	handle *handle
	to     string
	open   func(end) transport
	done   chan struct{} // closed when it is open, or err is there
	err    error
}

// dial connects a lock to a server. Any goroutine may call it.
func (g *guest) dial(ctx context.Context, l *guestLock, network, to string) (net.Conn, error) {
	var s *stream
	if err := g.reach(ctx, l.handle, network, to, func(e end) transport { s = newStream(e); return s }); err != nil {
		return nil, err
	}
	l.open(s)
	return s, nil
}

// reach has a connection of a lock to a server opened. Any goroutine may call it.
func (g *guest) reach(ctx context.Context, h *handle, network, to string, open func(end) transport) error {
	d := &dialing{handle: h, to: to, open: open, done: make(chan struct{})}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return &net.OpError{Op: "dial", Net: network, Err: net.ErrClosed}
	}
	g.dials = append(g.dials, d)
	g.mu.Unlock()
	g.act()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-d.done:
	}
	if d.err != nil {
		return &net.OpError{Op: "dial", Net: network, Err: d.err}
	}
	return nil
}

// connect opens connections for those who wait for them.
func (g *guest) connect(all []*dialing) {
	// Goroutines that dial at one instant came in the order in which they ran.
	slices.SortStableFunc(all, func(a, b *dialing) int {
		return cmp.Or(strings.Compare(a.handle.Name, b.handle.Name), strings.Compare(a.to, b.to))
	})
	for _, d := range all {
		d.err = g.connected(d)
		close(d.done)
	}
}

func (g *guest) connected(d *dialing) error {
	n := slices.IndexFunc(d.handle.links, func(l *link) bool { return addr(l.number) == d.to })
	switch {
	case n < 0:
		return fmt.Errorf("no lock server is at %s", d.to)
	case g.dead.Load(), d.handle.links[n].has(faults.Refuse):
		return syscall.ECONNREFUSED
	}
	l := d.handle.links[n]
	g.numbers[l]++
	g.connections = append(g.connections, d.open(end{guest: g, handle: d.handle, link: l, number: g.numbers[l]}))
	return nil
}
