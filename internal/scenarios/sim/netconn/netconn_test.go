package netconn

import (
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/sim/service"
)

// TestBytesAreCommandsAndReplies: a request counts when it is whole, one to several channels is answered for each, and what has come can be read piece by piece.
func TestBytesAreCommandsAndReplies(t *testing.T) {
	acted := 0
	c := New(&net.TCPAddr{}, &net.TCPAddr{}, func() { acted++ })
	write := func(text string) {
		_, err := io.WriteString(c, text)
		require.NoError(t, err)
	}
	write("*2\r\n$3\r\nGET\r\n$1\r\n")
	commands, _ := c.Next()
	assert.Empty(t, commands)
	write("k\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n$1\r\nb\r\n")
	commands, _ = c.Next()
	assert.Equal(t, [][]string{{"GET", "k"}, {"SUBSCRIBE", "a"}, {"SUBSCRIBE", "b"}}, commands)
	assert.True(t, c.Awaits())
	c.Answer([]service.Reply{{Kind: service.Bulk, Text: "v"}, {Kind: service.Integer, Int: 1}, {Kind: service.Nil}})
	assert.False(t, c.Awaits())
	b := make([]byte, 4)
	n, err := io.ReadFull(c, b)
	assert.Equal(t, "$1\r\n", string(b[:n]))
	require.NoError(t, err)
	_, err = c.SyscallConn()
	require.ErrorIs(t, err, errUnexpected, "nobody waits for what is left")
	b = make([]byte, 100)
	n, err = c.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "v\r\n:1\r\n$-1\r\n", string(b[:n]))
	require.NoError(t, c.Close())
	_, hangUp := c.Next()
	assert.True(t, hangUp)
	_, hangUp = c.Next()
	assert.False(t, hangUp, "once")
	assert.Equal(t, 3, acted)
}

// TestEndsOfConnections: by a deadline, by the server, and by a time-out while a reply is awaited.
func TestEndsOfConnections(t *testing.T) {
	open := func() *Conn { return New(&net.TCPAddr{}, &net.TCPAddr{}, func() {}) }
	read := func(c *Conn) error {
		_, err := c.Read(make([]byte, 1))
		return err
	}
	late := open()
	require.NoError(t, late.SetDeadline(time.Now().Add(-time.Second)))
	require.ErrorIs(t, read(late), os.ErrDeadlineExceeded)

	broken := open()
	broken.Tell(service.Message{Channel: "c", Text: "m"})
	broken.Fail(syscall.ECONNRESET)
	require.NoError(t, read(broken), "what had come before can be read")
	_, err := broken.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.ECONNRESET)

	idle, waiting := open(), open()
	_, err = io.WriteString(waiting, "*1\r\n$4\r\nPING\r\n")
	require.NoError(t, err)
	waiting.Next()
	idle.TimeOut()
	waiting.TimeOut()
	_, err = idle.SyscallConn()
	require.NoError(t, err)
	require.ErrorIs(t, read(waiting), os.ErrDeadlineExceeded)
}
