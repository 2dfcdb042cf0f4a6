package tap

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// connections are those of clients to the server. The zero value has none.
type connections struct {
	last atomic.Int64 // the number of the last one, copies included

	mu   sync.Mutex
	open map[chan struct{}]ends
}

// ends are where a connection leads from and to.
type ends struct{ client, addr string }

// connect connects a client to the server at an address. The connection counts as open until left is called.
func (t *Tap) connect(client, addr string) (up net.Conn, left func(), err error) {
	up, err = t.dial(client, addr)
	if err != nil {
		return nil, nil, err
	}
	c, ended := &t.conns, make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[chan struct{}]ends{}
	}
	c.open[ended] = ends{client, addr}
	return up, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, ended)
		close(ended)
	}, nil
}

// dial opens a connection to the server at an address for a client.
func (t *Tap) dial(client, addr string) (net.Conn, error) {
	up, err := t.cfg.Entry.Dial(t.ctx, addr)
	var denied *DeniedError
	if errors.As(err, &denied) {
		t.fail(fmt.Errorf("tap of %s for client %s: %w", t.cfg.Server, client, err))
	}
	return up, err
}

// Ends returns a channel for each connection of a client that now leads to the server at an address. It is closed when the connection has ended in both
// directions, on the client's side, too: after an end of the server, that is when the proxy before the tap has told the client.
func (t *Tap) Ends(client, addr string) (all []<-chan struct{}) {
	c := &t.conns
	c.mu.Lock()
	defer c.mu.Unlock()
	for ended, at := range c.open {
		if at == (ends{client, addr}) {
			all = append(all, ended)
		}
	}
	return all
}

// sayNoMore tells a client that nothing more comes.
func sayNoMore(down net.Conn) {
	if tcp, is := down.(*net.TCPConn); is {
		_ = tcp.CloseWrite() // an error: the client is gone
	}
}

// seeOff waits until the client's side has ended, too, and drops what still comes. A proxy before the tap ends it once it has ended the client's connection.
func seeOff(down net.Conn) {
	_, _ = io.Copy(io.Discard, down) // an error is an end
	down.Close()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
