package network_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/network"
)

// TestRelay: it passes bytes in both directions. A cut ends all connections, and new ones until it is open again.
func TestRelay(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	relay, err := network.StartRelay(server.Addr().String())
	require.NoError(t, err)
	defer relay.Close()

	dial := func() net.Conn {
		conn, err := net.Dial("tcp", relay.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	ended := func(conn net.Conn) {
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
	}
	connect := func() (near, far net.Conn) {
		near = dial()
		far, err := server.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { far.Close() })
		for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
			_, err := io.WriteString(pair[0], "PING")
			require.NoError(t, err)
			text := make([]byte, 4)
			_, err = io.ReadFull(pair[1], text)
			require.NoError(t, err)
			require.Equal(t, "PING", string(text))
		}
		return near, far
	}

	near, far := connect()
	_, err = io.WriteString(near, "QUIT")
	require.NoError(t, err)
	_, err = io.ReadFull(far, make([]byte, 1))
	require.NoError(t, err, "the relay has read the command")
	relay.Cut(false)
	ended(near)
	rest, err := io.ReadAll(far)
	require.NoError(t, err)
	require.Equal(t, "UIT", string(rest), "what the relay has read arrives")
	connect()

	relay.Cut(true)
	ended(dial())
	relay.Open()
	near, far = connect()
	ends := relay.Ends()
	require.NotEmpty(t, ends)
	require.NoError(t, far.Close(), "the server's end")
	ended(near)
	for _, one := range ends {
		<-one
	}
	require.Empty(t, relay.Ends())

	near, _ = connect()
	require.NoError(t, relay.Close())
	ended(near)
	require.NoError(t, relay.Close(), "it is closed")
}
