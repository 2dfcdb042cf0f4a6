package worker

import (
	"encoding/binary"
	"net"
	"sync"
	"time"
)

// contact is a connection to a ZooKeeper that notes which request the server has answered, and when that was sent: a session lasts at least
// its time-out from then. Requests of a session are answered in their order. The library writes one at a time.
type contact struct {
	net.Conn
	answered func(sent time.Time)

	mu    sync.Mutex
	sent  []time.Time // of the requests that have not been answered
	begun bool        // the handshake has been answered
	left  int         // bytes of the frame being read
	head  []byte      // its beginning: the length and the number of the request; of the answer to the handshake, as far as the session
}

// How much of a frame says what it answers: its length and the number of the request. The answer to the handshake has a version there, then the
// session's time-out and its number, which is zero if the session has expired.
const (
	headBytes      = 8
	handshakeBytes = headBytes + 4 + 8
)

// eventNumber is the number in a frame that answers no request.
const eventNumber = 0xffffffff

// Write notes when a request is sent.
func (c *contact) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.sent = append(c.sent, time.Now())
	c.mu.Unlock()
	return c.Conn.Write(b)
}

// Read notes which requests are answered.
func (c *contact) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.take(b[:n])
	return n, err
}

// take follows the frames of the server.
func (c *contact) take(b []byte) {
	for len(b) > 0 {
		if needed := c.needed(); len(c.head) < needed {
			n := min(needed-len(c.head), len(b))
			c.head = append(c.head, b[:n]...)
			b = b[n:]
			if len(c.head) < needed {
				return
			}
			c.left = int(binary.BigEndian.Uint32(c.head)) - (needed - 4)
			if binary.BigEndian.Uint32(c.head[4:]) != eventNumber {
				c.answer()
			}
		}
		n := min(max(0, c.left), len(b))
		c.left, b = c.left-n, b[n:]
		if c.left <= 0 {
			c.head, c.begun = c.head[:0], true
		}
	}
}

// needed is how many bytes of a frame say what it answers.
func (c *contact) needed() int {
	if c.begun {
		return headBytes
	}
	return handshakeBytes
}

// answer takes in the answer to the oldest request without one. That a session has expired prolongs none.
func (c *contact) answer() {
	c.mu.Lock()
	if len(c.sent) == 0 {
		c.mu.Unlock()
		return
	}
	sent := c.sent[0]
	c.sent = c.sent[1:]
	c.mu.Unlock()
	if !c.begun && binary.BigEndian.Uint64(c.head[handshakeBytes-8:]) == 0 {
		return
	}
	c.answered(sent)
}
