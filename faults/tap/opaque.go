package tap

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"

	"github.com/locklab/locklab/faults/resp"
)

// serveOpaque relays between a client and a server whose protocol the tap does not read. It passes on every byte at once. An end of either side is one of
// the other.
func (t *Tap) serveOpaque(client string, down net.Conn, account *resp.Budget) {
	in := bufio.NewReader(down)
	if first, err := in.Peek(1); err != nil || first[0] == '*' {
		defer down.Close()
		defer context.AfterFunc(t.ctx, func() { down.Close() })()
		t.answerCanary(in, down, account)
		return
	}
	addr, _ := t.wayOf(client)
	up, left, err := t.connect(client, addr)
	if err != nil {
		down.Close() // to the client the server is down
		return
	}
	defer left()
	defer context.AfterFunc(t.ctx, func() {
		down.Close()
		up.Close()
	})()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(down, up) // an error is the end of the connection
		sayNoMore(down)
		up.Close()
	})
	_, _ = io.Copy(up, in)
	up.Close()
	back.Wait()
	seeOff(down)
}
