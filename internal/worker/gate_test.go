package worker_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// gate stands between a client and its server. Shut for requests or replies, it keeps the bytes that come; cut, it ends the
// connections that it has.
type gate struct {
	addr     string
	requests valve
	replies  valve

	mu    sync.Mutex
	conns []net.Conn
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gate{addr: listener.Addr().String()}
	g.requests.cond.L, g.replies.cond.L = &g.requests.mu, &g.replies.mu
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			g.mu.Lock()
			g.conns = append(g.conns, client, server)
			g.mu.Unlock()
			running.Go(func() { g.requests.pump(server, client) })
			running.Go(func() { g.replies.pump(client, server) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		g.requests.set(false)
		g.replies.set(false)
		g.cut()
		running.Wait()
	})
	return g
}

// cut ends all connections.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range g.conns {
		_ = conn.Close()
	}
	g.conns = nil
}

// valve lets one direction pass, or keeps it.
type valve struct {
	mu   sync.Mutex
	cond sync.Cond
	shut bool
	kept int // bytes that wait
}

func (v *valve) set(shut bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = shut
	v.cond.Broadcast()
}

// waiting says whether bytes have come to the shut valve.
func (v *valve) waiting() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.kept > 0
}

func (v *valve) pump(to io.WriteCloser, from io.ReadCloser) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
	}()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		v.mu.Lock()
		v.kept += n
		for v.shut {
			v.cond.Wait()
		}
		v.kept -= n
		v.mu.Unlock()
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
