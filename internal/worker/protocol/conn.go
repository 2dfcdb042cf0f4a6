package protocol

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// MaxUnasked is how many bytes of notices a client may write between two requests.
const MaxUnasked = 1 << 20

// maxQueued is how many requests may wait for a client that does not read them.
const maxQueued = 256

// lastWords is how long a client that has closed its standard input may still write.
const lastWords = 2 * time.Second

// ErrGone is the error of a connection whose client exited or closed its output.
var ErrGone = errors.New("client has gone")

// Misconduct is the error of a connection whose client broke the protocol.
type Misconduct struct {
	Line int // of the client's output, from 1
	What string
}

func (m *Misconduct) Error() string { return m.What }

// Conn is the lab's end of the protocol. It is safe for concurrent use.
type Conn struct {
	w    io.Writer
	r    io.Reader
	on   func(Message)
	out  chan []byte
	done chan struct{} // closed when the reader has ended
	quit chan struct{} // closed when the connection is to end

	mu      sync.Mutex
	waiting map[int64]asked
	opened  map[string]bool // handles that the client was asked to open
	unasked int             // bytes of notices since the last request
	err     error           // why quit is closed
}

// asked is a request without an answer.
type asked struct {
	verb   string
	answer chan Message
}

// NewConn connects to a client that reads w and writes r. It calls on with every message, in order of arrival and before the waiting caller
// gets it; on must not call Close.
//
// The connection's goroutines end with the client's output or with Close, provided that w and r are io.Closers, as pipes are: only closing
// them ends a read from or a write to a stopped client.
func NewConn(w io.Writer, r io.Reader, on func(Message)) *Conn {
	c := &Conn{
		w: w, r: r, on: on,
		out:     make(chan []byte, maxQueued),
		done:    make(chan struct{}),
		quit:    make(chan struct{}),
		waiting: make(map[int64]asked),
		opened:  make(map[string]bool),
	}
	go c.read()
	go c.write()
	return c
}

// Send sends a request without waiting for the client to read it. The channel gets exactly one message, or is closed when the connection
// has ended; Err then says why. The request's ID must be unused.
func (c *Conn) Send(req Request) (<-chan Message, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	line, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	if len(line) >= MaxLine {
		return nil, fmt.Errorf("the request %q is longer than 64 KiB", req.Do)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	if _, taken := c.waiting[req.ID]; taken {
		return nil, fmt.Errorf("the request id %d is in use", req.ID)
	}
	select {
	case c.out <- append(line, '\n'):
	default:
		return nil, errors.New("client does not read its requests")
	}
	answer := make(chan Message, 1)
	c.waiting[req.ID] = asked{req.Do, answer}
	if req.Do == Open {
		c.opened[req.Handle] = true
	}
	c.unasked = 0
	return answer, nil
}

// Done is closed when the connection has ended and every channel of Send has been served or closed.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection ended: ErrGone, a *Misconduct, or what went wrong on the way. It is nil while the
// connection lasts.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and closes both of its ends. It does not wait; see Done.
func (c *Conn) Close() error {
	c.end(errors.New("the connection was closed by the lab"))
	return nil
}

// end closes both ends. The first reason counts.
func (c *Conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = why
	close(c.quit)
	for _, side := range []any{c.w, c.r} {
		if closer, ok := side.(io.Closer); ok {
			_ = closer.Close() // the other side may have gone first
		}
	}
}

func (c *Conn) write() {
	for {
		select {
		case <-c.quit:
			return
		case line := <-c.out:
			if _, err := c.w.Write(line); err != nil {
				c.inputClosed()
				return
			}
		}
	}
}

// inputClosed ends the connection to a client that does not read any more. One that has ended, or is about to, may still have written: that
// counts, and the end of its output is the reason.
func (c *Conn) inputClosed() {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-c.quit:
	case <-timer.C:
		c.end(errors.New("client has closed its standard input"))
	}
}

func (c *Conn) read() {
	c.end(c.readLines())
	c.mu.Lock()
	for id, request := range c.waiting {
		close(request.answer)
		delete(c.waiting, id)
	}
	c.mu.Unlock()
	close(c.done)
}

// readLines serves the client's output until it ends or breaks the protocol.
func (c *Conn) readLines() error {
	lines := bufio.NewReaderSize(c.r, MaxLine)
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return &Misconduct{number, "client wrote a line longer than 64 KiB"}
		case ended(err) && len(bytes.TrimSpace(line)) == 0:
			return ErrGone
		case ended(err):
			return fmt.Errorf("%w in the middle of a line: %q", ErrGone, clip(string(line)))
		case err != nil:
			return fmt.Errorf("reading the client's output: %w", err)
		}
		if what := c.serve(bytes.TrimSuffix(line, []byte("\n")), number); what != "" {
			return &Misconduct{number, fmt.Sprintf("%s (line %d)", what, number)}
		}
	}
}

// ended says whether the client has gone. A deadline is set by the lab once the client's process has ended: another keeps its output open.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) }

// serve takes one line and says what is wrong with it.
func (c *Conn) serve(line []byte, number int) (wrong string) {
	message, err := DecodeMessage(line)
	if err != nil {
		return fmt.Sprintf("client wrote a line that is no protocol message: %q: %v", clip(string(line)), err)
	}
	message.Line = number
	if message.ID == 0 {
		return c.notice(message, len(line))
	}
	return c.reply(message)
}

func (c *Conn) notice(message Message, size int) (wrong string) {
	c.mu.Lock()
	c.unasked += size
	flood := c.unasked > MaxUnasked
	handle := cmp.Or(message.Lost, message.Valid)
	stray := handle != "" && !c.opened[handle]
	c.mu.Unlock()
	if stray {
		return fmt.Sprintf("client wrote a notice about the handle %q, which was never opened", clip(handle))
	}
	if flood {
		return "client wrote more than 1 MiB of notices that nobody asked for"
	}
	c.on(message)
	return ""
}

func (c *Conn) reply(message Message) (wrong string) {
	c.mu.Lock()
	request, found := c.waiting[message.ID]
	c.mu.Unlock()
	if !found {
		return fmt.Sprintf("client answered request %d, which was never asked or had its answer", message.ID)
	}
	if request.verb == Init && message.Outcome == OK {
		if message.Hello == nil {
			return "client answered init without hello"
		}
		if version := message.Hello.Version; version < Oldest || version > Version {
			return fmt.Sprintf("client speaks version %d of the protocol, the lab speaks %d to %d", version, Oldest, Version)
		}
	}
	c.on(message)
	c.mu.Lock()
	delete(c.waiting, message.ID)
	c.mu.Unlock()
	request.answer <- message
	return ""
}
