// Package netconn is a library's end of a connection, as a net.Conn in virtual time: what the library writes becomes commands, and replies become what it
// reads.
//
// It owns the bytes on both sides, deadlines and time-outs. It must not know whose the connection is, nor what happens to commands on their way.
package netconn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/locklab/locklab/internal/faults/resp"
	"github.com/locklab/locklab/internal/sim/service"
)

// Conn is a connection. The methods of net.Conn are the library's, the others its server's.
type Conn struct {
	local, remote net.Addr
	act           func() // the library has done something

	mu       sync.Mutex
	in       []byte // written, and not sent
	out      []byte // received, and not read
	waits    int    // for so many replies
	err      error  // of everything from now on, once out has been read; nil: it is whole
	closed   bool   // by the library
	hungUp   bool
	deadline time.Time     // for reading
	changed  chan struct{} // has room for one: a reader looks again
}

// New is a connection between two addresses. It calls act whenever the library has done something, from any goroutine.
func New(local, remote net.Addr, act func()) *Conn {
	return &Conn{local: local, remote: remote, act: act, changed: make(chan struct{}, 1)}
}

// Write sends a request.
func (c *Conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.err != nil:
		return 0, c.err
	}
	c.in = append(c.in, b...)
	c.act()
	return len(b), nil
}

// Read waits for replies.
func (c *Conn) Read(b []byte) (int, error) {
	for {
		n, deadline, err := c.read(b)
		if n > 0 || err != nil {
			return n, err
		}
		c.await(deadline)
	}
}

func (c *Conn) read(b []byte) (n int, deadline time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := !c.deadline.IsZero() && !time.Now().Before(c.deadline)
	switch {
	case c.closed:
		return 0, c.deadline, net.ErrClosed
	case late:
		return 0, c.deadline, os.ErrDeadlineExceeded
	case len(c.out) > 0:
		n = copy(b, c.out)
		c.out = c.out[n:]
		return n, c.deadline, nil
	}
	return 0, c.deadline, c.err
}

// await waits until there may be something to read, or the deadline has come.
func (c *Conn) await(deadline time.Time) {
	if deadline.IsZero() {
		<-c.changed
		return
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-c.changed:
	case <-timer.C:
	}
}

func (c *Conn) change() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Close ends the connection. What has been written is sent all the same.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.change()
	c.act()
	return nil
}

func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	c.change()
	return nil
}

// SetWriteDeadline has no effect: to write never takes time.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c *Conn) LocalAddr() net.Addr  { return c.local }
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// Awaits says whether a command has been written, and its reply has not come. Any goroutine may ask it.
func (c *Conn) Awaits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waits > 0 || len(c.in) > 0
}

// Closed says whether the library has closed the connection.
func (c *Conn) Closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Next are the whole requests that have been written, and whether nothing will follow.
func (c *Conn) Next() (commands [][]string, hangUp bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.in) > 0 {
		request, err := resp.NewReader(bytes.NewReader(c.in), resp.Limits{}).ReadRequest()
		if err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			c.err = fmt.Errorf("the server closed the connection: %w", err)
			c.in = nil
			break
		}
		commands = append(commands, split(request.Args)...)
		c.in = c.in[len(request.Raw):]
	}
	c.waits += len(commands)
	if hangUp = c.closed && !c.hungUp; hangUp {
		c.hungUp = true
	}
	return commands, hangUp
}

// split makes a command of each channel that is subscribed to: the server answers for each of them.
func split(args [][]byte) (commands [][]string) {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = string(arg)
	}
	name := strings.ToUpper(words[0])
	if name != "SUBSCRIBE" && name != "UNSUBSCRIBE" || len(words) < 3 {
		return [][]string{words}
	}
	for _, channel := range words[1:] {
		commands = append(commands, []string{name, channel})
	}
	return commands
}

// Answer lets the library read replies.
func (c *Conn) Answer(replies []service.Reply) {
	var b []byte
	for _, reply := range replies {
		b = appendReply(b, reply)
	}
	c.deliver(len(replies), b)
}

// Tell lets it read what was published.
func (c *Conn) Tell(m service.Message) {
	c.deliver(0, resp.AppendCommand(nil, "message", m.Channel, m.Text))
}

func (c *Conn) deliver(replies int, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits -= replies
	if c.err == nil {
		c.out = append(c.out, b...)
		c.change()
	}
}

// Fail breaks the connection. Any goroutine may call it.
func (c *Conn) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.change()
}

// TimeOut lets the time-out of a library that waits for a reply be over.
func (c *Conn) TimeOut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits > 0 && c.err == nil {
		c.err = os.ErrDeadlineExceeded
		c.change()
	}
}

// SyscallConn lets a library find out, before it sends a request, whether the connection is broken, or has a reply that nobody waits for: go-redis
// passes over such a connection. There is no file descriptor to work with.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, net.ErrClosed
	case c.err != nil:
		return nil, c.err
	case len(c.out) > 0:
		return nil, errUnexpected
	}
	return noDescriptor{}, nil
}

var errUnexpected = errors.New("a reply that nobody waits for")

// noDescriptor is a connection without a file descriptor.
type noDescriptor struct{}

func (noDescriptor) Control(func(uintptr)) error    { return nil }
func (noDescriptor) Read(func(uintptr) bool) error  { return nil }
func (noDescriptor) Write(func(uintptr) bool) error { return nil }

// appendReply appends a reply as servers send it.
func appendReply(b []byte, r service.Reply) []byte {
	line := func(kind resp.Kind, text string) []byte {
		return append(append(append(b, byte(kind)), text...), "\r\n"...)
	}
	switch r.Kind {
	case service.Status:
		return line(resp.KindSimple, r.Text)
	case service.Error:
		return line(resp.KindError, r.Text)
	case service.Integer:
		return line(resp.KindInteger, strconv.FormatInt(r.Int, 10))
	case service.Bulk:
		b = line(resp.KindString, strconv.Itoa(len(r.Text)))
		return append(append(b, r.Text...), "\r\n"...)
	case service.Array:
		b = line(resp.KindArray, strconv.Itoa(len(r.List)))
		for _, element := range r.List {
			b = appendReply(b, element)
		}
		return b
	}
	return line(resp.KindString, "-1")
}
