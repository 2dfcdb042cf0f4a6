package tap

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An opaque tap passes on every byte in both directions, answers the lab's canaries itself, and records nothing.
func TestOpaque(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { echo.Close() })
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	b := setUp(t, echo.Addr().String(), func(c *Config) { c.Opaque = true })
	addr, err := b.Listen("C1")
	require.NoError(t, err)

	sent := make([]byte, 1<<20)
	_, _ = rand.Read(sent)
	sent[0] = 'P'
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	go func() { _, _ = conn.Write(sent) }()
	got := make([]byte, len(sent))
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	assert.Equal(t, sent, got)

	canary, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer canary.Close()
	token := CanaryPrefix + "one"
	arrived := b.Canary(token)
	fmt.Fprintf(canary, "*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", len(token), token)
	<-arrived
	line, err := bufio.NewReader(canary).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("$%d\r\n", len(token)), line)

	require.NoError(t, b.Tap.Close())
	_, err = conn.Read(got)
	require.Error(t, err, "the tap has ended the connection")
	assert.Empty(t, b.events)
	require.NoError(t, b.Err())
}

// To the client of a server that is down, the connection ends.
func TestOpaqueServerDown(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	b := setUp(t, gone.Addr().String(), func(c *Config) { c.Opaque = true })
	addr, err := b.Listen("C1")
	require.NoError(t, err)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("PRI"))
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}
