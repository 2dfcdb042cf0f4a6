package tap

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
)

// serveOpaque relays between a client and a server whose protocol the tap does not read. It passes on every byte at once, and ends both
// directions together.
func (t *Tap) serveOpaque(client string, down net.Conn) {
	in := bufio.NewReader(down)
	if first, err := in.Peek(1); err != nil || first[0] == '*' {
		defer down.Close()
		defer context.AfterFunc(t.ctx, func() { down.Close() })()
		t.answerCanary(in, down)
		return
	}
	addr, _ := t.wayOf(client)
	up, err := dial(t.ctx, addr)
	if err != nil {
		down.Close() // to the client the server is down
		return
	}
	hangUp := func() {
		down.Close()
		up.Close()
	}
	defer context.AfterFunc(t.ctx, hangUp)()
	var both sync.WaitGroup
	pass := func(to io.Writer, from io.Reader) func() {
		return func() {
			_, _ = io.Copy(to, from) // an error is the end of the connection
			hangUp()
		}
	}
	both.Go(pass(up, in))
	both.Go(pass(down, up))
	both.Wait()
}
