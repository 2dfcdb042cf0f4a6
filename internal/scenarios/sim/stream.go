package sim

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

// stream is a connection of a library in a bubble, as a net.Conn. Its methods as a user's and a receiver's belong to the script's goroutine.
type stream struct {
	end

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

func newStream(of end) *stream { return &stream{end: of, changed: make(chan struct{}, 1)} }

// Write sends a request.
func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, net.ErrClosed
	case s.err != nil:
		return 0, s.err
	}
	s.in = append(s.in, b...)
	s.guest.act()
	return len(b), nil
}

// Read waits for replies.
func (s *stream) Read(b []byte) (int, error) {
	for {
		n, deadline, err := s.read(b)
		if n > 0 || err != nil {
			return n, err
		}
		s.await(deadline)
	}
}

func (s *stream) read(b []byte) (n int, deadline time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := !s.deadline.IsZero() && !time.Now().Before(s.deadline)
	switch {
	case s.closed:
		return 0, s.deadline, net.ErrClosed
	case late:
		return 0, s.deadline, os.ErrDeadlineExceeded
	case len(s.out) > 0:
		n = copy(b, s.out)
		s.out = s.out[n:]
		return n, s.deadline, nil
	}
	return 0, s.deadline, s.err
}

// await waits until there may be something to read, or the deadline has come.
func (s *stream) await(deadline time.Time) {
	if deadline.IsZero() {
		<-s.changed
		return
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-s.changed:
	case <-timer.C:
	}
}

func (s *stream) change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Close ends the connection. What has been written is sent all the same.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.change()
	s.guest.act()
	return nil
}

func (s *stream) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	s.change()
	return nil
}

// SetWriteDeadline has no effect: to write never takes time.
func (s *stream) SetWriteDeadline(time.Time) error { return nil }

func (s *stream) SetDeadline(t time.Time) error { return s.SetReadDeadline(t) }

func (s *stream) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(10, 0, 1, 1), Port: 40000 + s.number}
}

func (s *stream) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(s.link.number+1)), Port: 6379}
}

func (s *stream) awaits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waits > 0 || len(s.in) > 0
}

func (s *stream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// next are the whole requests that have been written, and whether nothing will follow.
func (s *stream) next() (commands [][]string, hangUp bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.in) > 0 {
		request, err := resp.NewReader(bytes.NewReader(s.in), resp.Limits{}).ReadRequest()
		if err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			s.err = fmt.Errorf("the server closed the connection: %w", err)
			s.in = nil
			break
		}
		commands = append(commands, split(request.Args)...)
		s.in = s.in[len(request.Raw):]
	}
	s.waits += len(commands)
	if hangUp = s.closed && !s.hungUp; hangUp {
		s.hungUp = true
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

// deliver lets the library read something.
func (s *stream) deliver(replies int, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits -= replies
	if s.err == nil {
		s.out = append(s.out, b...)
		s.change()
	}
}

func (s *stream) answered(replies []service.Reply) {
	var b []byte
	for _, reply := range replies {
		b = appendReply(b, reply)
	}
	s.guest.hand(func() { s.deliver(len(replies), b) })
}

func (s *stream) receive(m service.Message) {
	b := resp.AppendCommand(nil, "message", m.Channel, m.Text)
	s.guest.hand(func() { s.deliver(0, b) })
}

func (s *stream) broke() { s.guest.hand(func() { s.fail(io.EOF) }) }

// fail breaks the connection. Any goroutine may call it.
func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.change()
}

// timeOut lets the time-out of a library that waits for a reply be over.
func (s *stream) timeOut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits > 0 && s.err == nil {
		s.err = os.ErrDeadlineExceeded
		s.change()
	}
}

// SyscallConn lets a library find out, before it sends a request, whether the connection is broken, or has a reply that nobody waits for: go-redis
// passes over such a connection. There is no file descriptor to work with.
func (s *stream) SyscallConn() (syscall.RawConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, net.ErrClosed
	case s.err != nil:
		return nil, s.err
	case len(s.out) > 0:
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
