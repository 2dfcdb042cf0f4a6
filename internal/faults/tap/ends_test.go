package tap

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/jute"
)

// ending is a connection through a tap to a server that the test ends. The test is also the proxy before the tap.
type ending struct {
	*Tap
	*conn
	addr string   // of the server
	far  net.Conn // the server's end
	late string   // what the client may send until it knows of the end
}

// connectTo connects C1 to a server that the test plays, not to the one that the tap asks for states.
func connectTo(t *testing.T, tapped *Tap) *ending {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	addr := server.Addr().String()
	tapped.Divert(func(string) bool { return true }, addr, "ending")
	listen, err := tapped.ListenTo("C1", addr)
	require.NoError(t, err)
	e := &ending{Tap: tapped, conn: dialRaw(t, listen), addr: addr}
	e.late = "*1\r\n$4\r\nPING\r\n"
	if tapped.nodes != nil {
		e.late = string(pingFrame)
	}
	if tapped.cfg.Opaque || tapped.nodes != nil {
		e.sendRaw(string(jute.ConnectFrame(time.Second))) // these taps connect when something comes
	}
	e.far, err = server.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { e.far.Close() })
	require.NoError(t, e.far.SetDeadline(time.Now().Add(bound)))
	return e
}

// answers has the server get a request and answer it.
func (e *ending) answers(t *testing.T, request, reply string) {
	got := make([]byte, len(request))
	_, err := io.ReadFull(e.far, got)
	require.NoError(t, err)
	require.Equal(t, request, string(got))
	_, err = io.WriteString(e.far, reply)
	require.NoError(t, err)
}

// endsLast has the server end the connection, and asserts that it counts until the proxy's end. What comes from there is dropped.
func (e *ending) endsLast(t *testing.T) {
	ends := e.Ends("C1", e.addr)
	require.Len(t, ends, 1)
	assert.Empty(t, e.Ends("C2", e.addr))
	assert.Empty(t, e.Ends("C1", e.cfg.Upstream))
	require.NoError(t, e.far.Close())
	e.Break()
	_, err := io.ReadAll(e.conn)
	require.NoError(t, err, "the proxy learns of the end")
	for range 2 {
		e.sendRaw(e.late)
	}
	pending(t, "the client does not know of it", ends[0])
	require.NoError(t, e.conn.Close())
	await(t, "the end of the connection", ends[0])
	assert.Empty(t, e.Ends("C1", e.addr))
	require.NoError(t, e.Err())
}

// TestEnds: a connection whose server has ended counts until the proxy before the tap has ended it, too.
func TestEnds(t *testing.T) {
	t.Run("Redis", func(t *testing.T) {
		e := connectTo(t, setUp(t, startMini(t)).Tap)
		e.send("PING")
		e.answers(t, "*1\r\n$4\r\nPING\r\n", "+PONG\r\n")
		require.Equal(t, "PONG", e.next())
		e.endsLast(t)
	})
	t.Run("ZooKeeper", func(t *testing.T) {
		e := connectTo(t, newKeeperLab(t).tap)
		_, err := jute.ReadFrame(e.far)
		require.NoError(t, err)
		e.endsLast(t)
	})
	t.Run("opaque", func(t *testing.T) {
		e := connectTo(t, setUp(t, startMini(t), func(c *Config) { c.Opaque = true }).Tap)
		_, err := jute.ReadFrame(e.far)
		require.NoError(t, err)
		e.endsLast(t)
	})
}

// TestEndsWithAHold: a request or a reply that is held is lost with its server, and does not keep its connection from ending.
func TestEndsWithAHold(t *testing.T) {
	hold := func(e *ending, action faults.Action) *Armed {
		return e.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchAny}, Action: action}})
	}
	t.Run("Redis request", func(t *testing.T) {
		e := connectTo(t, setUp(t, startMini(t)).Tap)
		armed := hold(e, faults.ActHoldRequest)
		e.send("GET", "lock")
		await(t, "the hold", armed.Reached())
		e.endsLast(t)
	})
	t.Run("Redis reply", func(t *testing.T) {
		e := connectTo(t, setUp(t, startMini(t)).Tap)
		armed := hold(e, faults.ActHoldReply)
		e.send("GET", "lock")
		e.answers(t, "*2\r\n$3\r\nGET\r\n$4\r\nlock\r\n", "$-1\r\n")
		await(t, "the hold", armed.Reached())
		e.endsLast(t)
	})
	for name, action := range map[string]faults.Action{"ZooKeeper request": faults.ActHoldRequest, "ZooKeeper reply": faults.ActHoldReply} {
		t.Run(name, func(t *testing.T) {
			l := newKeeperLab(t)
			e := connectTo(t, l.tap)
			go l.stub.serve(e.far)
			armed := hold(e, action)
			c := &keeperClient{t: t, conn: e.conn}
			c.send(jute.OpGetChildren, "/lock")
			await(t, "the hold", armed.Reached())
			e.endsLast(t)
		})
	}
}
