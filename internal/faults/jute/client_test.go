package jute

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEndWithoutAnAnswer: a server that hangs up has ended the session, and one that hangs up on anything else has not answered.
func TestEndWithoutAnAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() { // each client is given a session, and no answer
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = ReadFrame(conn)
			answer := make([]byte, 4+37) // its length, then: version, time-out, session, password, read-only
			binary.BigEndian.PutUint32(answer, 37)
			binary.BigEndian.PutUint32(answer[8:], 4000)
			binary.BigEndian.PutUint64(answer[12:], 7)
			binary.BigEndian.PutUint32(answer[20:], 16)
			_, _ = conn.Write(answer)
			_, _ = ReadFrame(conn)
			conn.Close()
		}
	}()
	dial := func() *Client {
		c, err := Dial(t.Context(), listener.Addr().String(), time.Second)
		require.NoError(t, err)
		return c
	}
	assert.NoError(t, dial().End())
	_, err = dial().Ask(OpCreate, "/a")
	assert.Error(t, err)
}
