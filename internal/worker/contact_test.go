package worker

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stream is a connection that reads from one place and writes nowhere.
type stream struct {
	net.Conn
	from io.Reader
}

func (s stream) Read(b []byte) (int, error)  { return s.from.Read(b) }
func (s stream) Write(b []byte) (int, error) { return len(b), nil }

// answerFrame is a server's frame with a number and so many bytes behind it.
func answerFrame(number uint32, bytes int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+bytes))
	return append(binary.BigEndian.AppendUint32(b, number), make([]byte, bytes)...)
}

// TestContact: each answer confirms the oldest request without one, however the bytes come; an event confirms none.
func TestContact(t *testing.T) {
	frames := bytes.Join([][]byte{handshakeAnswer(1), answerFrame(eventNumber, 30), answerFrame(1, 0), answerFrame(0xfffffffe, 12), answerFrame(9, 1)}, nil)
	for name, from := range map[string]io.Reader{"at once": bytes.NewReader(frames), "byte by byte": iotest.OneByteReader(bytes.NewReader(frames))} {
		var confirmed []time.Time
		c := &contact{Conn: stream{from: from}, answered: func(sent time.Time) { confirmed = append(confirmed, sent) }}
		began := time.Now()
		for range 3 {
			_, err := c.Write([]byte("request"))
			require.NoError(t, err)
		}
		sent := append([]time.Time(nil), c.sent...)
		_, err := io.ReadAll(c)
		require.NoError(t, err)
		assert.Equal(t, sent, confirmed, "%s: the fourth answer has no request", name)
		assert.False(t, sent[0].Before(began))
	}
}

// handshakeAnswer is a server's answer to the handshake of a session; zero: one that has expired.
func handshakeAnswer(session uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, 4+4+8+4+16)
	b = append(b, 0, 0, 0, 0, 0, 0, 0x3a, 0x98)
	return append(binary.BigEndian.AppendUint64(b, session), make([]byte, 4+16)...)
}

// TestContactOfAnExpiredSession: that the session has expired is an answer, and prolongs nothing.
func TestContactOfAnExpiredSession(t *testing.T) {
	for session, want := range map[uint64]int{0: 0, 7: 1} {
		for name, bounded := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
			confirmed := 0
			c := &contact{Conn: stream{from: bounded(bytes.NewReader(handshakeAnswer(session)))}, answered: func(time.Time) { confirmed++ }}
			_, err := c.Write([]byte("handshake"))
			require.NoError(t, err)
			_, err = io.ReadAll(c)
			require.NoError(t, err)
			assert.Equal(t, want, confirmed, "session %d, %s", session, name)
			assert.Empty(t, c.sent)
		}
	}
}

// TestHosts: servers are tried in the order of their addresses, which the library would shuffle. It waits before it tries the first one again, unless one
// has answered since.
func TestHosts(t *testing.T) {
	h := &hosts{addrs: []string{"a", "b"}}
	require.NoError(t, h.Init([]string{"b", "a"}))
	assert.Equal(t, 2, h.Len())
	type try struct {
		addr  string
		again bool
	}
	next := func() try {
		addr, again := h.Next()
		return try{addr, again}
	}
	assert.Equal(t, []try{{"a", false}, {"b", false}, {"a", true}}, []try{next(), next(), next()})
	h.Connected()
	assert.Equal(t, []try{{"b", false}, {"a", false}, {"b", true}}, []try{next(), next(), next()})
}
