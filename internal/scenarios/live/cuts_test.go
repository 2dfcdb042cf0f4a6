package live

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/scenarios/live/clients"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// TestReconnectFindsConnectionsEnded: those to the servers that it names end before the client reads the request, and no others. A client that
// has no means to end them would otherwise find them alive, and go on with them.
func TestReconnectFindsConnectionsEnded(t *testing.T) {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	conn := protocol.NewConn(in, out, func(protocol.Message) {})
	t.Cleanup(func() { answers.Close(); require.NoError(t, conn.Close()) })
	one := &play.Handle{}
	client := &play.Client{Handles: []*play.Handle{one}}
	p := &peer{client: client, links: wiring{client: client, of: map[*play.Handle]*links{one: {}}}, worker: &clients.Worker{Conn: conn}}
	p.hello.LabCuts = true

	ends := map[string]net.Conn{}
	for _, at := range []string{"named", "other"} {
		server, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { server.Close() })
		relay, err := network.StartRelay(server.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, relay.Close()) })
		p.links.of[one].servers = append(p.links.of[one].servers, &lockLink{at: at, relay: relay})
		near, err := net.Dial("tcp", relay.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { near.Close() })
		require.NoError(t, near.SetDeadline(time.Now().Add(time.Minute)))
		far, err := server.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { far.Close() })
		go func() { _, _ = io.Copy(far, far) }()
		ends[at] = near
	}
	alive := func(at string) {
		t.Helper()
		_, err := io.WriteString(ends[at], "PING")
		require.NoError(t, err)
		_, err = io.ReadFull(ends[at], make([]byte, 4))
		require.NoError(t, err)
	}
	alive("named")
	alive("other")

	_, err := p.send(protocol.Request{ID: 1, Do: protocol.Reconnect, Servers: []string{"named"}})
	require.NoError(t, err)
	_, err = bufio.NewReader(requests).ReadString('\n')
	require.NoError(t, err)
	_, err = ends["named"].Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	alive("other")
}
