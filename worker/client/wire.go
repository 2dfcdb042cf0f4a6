package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// handle is an open lock.
type handle struct {
	lock     Lock
	proxies  []*proxy
	resource *resource
	last     chan struct{} // closed when the last operation has ended
	busy     sync.Mutex    // one goroutine at a time uses the lock
	yield    func()        // ends a reconnect under way; for the goroutine that reads requests
}

func is[T any](lock Lock) bool {
	_, is := lock.(T)
	return is
}

// holding is the key of the hold in a context.
type holding struct{}

// Hold is what names the hold that an acquire with this context begins, for Options.LostHold.
func Hold(ctx context.Context) int64 {
	id, _ := ctx.Value(holding{}).(int64)
	return id
}

func (c *client) newHandle(req request) (*handle, error) {
	servers, target := req.Servers, req.Resource
	if len(servers) == 0 {
		servers, target = c.init.Servers, c.init.Resource
	}
	h := &handle{resource: &resource{target: target}, last: make(chan struct{}), yield: func() {}}
	close(h.last)
	options := Options{Key: req.Key, Lease: time.Duration(req.LeaseMS * float64(time.Millisecond)), Lost: func(why string) {
		c.write(0, answer{"lost": req.Handle, "why": why})
	}, LostHold: func(hold int64, why string) {
		c.write(0, answer{"lost": req.Handle, "hold": hold, "why": why})
	}}
	for _, server := range servers {
		p, err := newProxy(server)
		if err != nil {
			return nil, err
		}
		h.proxies, options.Servers = append(h.proxies, p), append(options.Servers, p.listener.Addr().String())
	}
	var err error
	h.lock, err = c.open(options)
	return h, err
}

// cut ends all connections; shut, also new ones, until it is called with false.
func (h *handle) cut(shut bool) {
	for _, p := range h.proxies {
		p.cut(shut)
	}
	if shut {
		h.resource.hangUp()
	}
}

// pause is how long an acquire waits between two tries, and a reconnect.
const pause = 20 * time.Millisecond

// tries is how often a library may find a connection dead.
const tries = 10

// reconnect ends all connections. What it returns waits until the library has new ones, or an operation comes: that finds them dead itself.
func (h *handle) reconnect() (connected func() error) {
	h.yield()
	for _, p := range h.proxies {
		p.hangUp()
	}
	ctx, stop := context.WithCancel(context.Background())
	h.yield = stop
	return func() (err error) {
		defer stop()
		lock, can := h.lock.(Pinger)
		if !can || !h.busy.TryLock() {
			return nil
		}
		defer h.busy.Unlock()
		for range tries {
			if err = lock.Ping(ctx); err == nil || ctx.Err() != nil {
				return nil
			}
			time.Sleep(pause)
		}
		return err
	}
}

// proxy passes connections on to one server.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	conns map[net.Conn]net.Conn
	shut  bool
}

func newProxy(target string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: target[strings.LastIndex(target, "/")+1:], conns: map[net.Conn]net.Conn{}}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go p.connect(near)
		}
	}()
	return p, nil
}

func (p *proxy) connect(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer far.Close()
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		return
	}
	p.conns[near] = far
	p.mu.Unlock()
	ended := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // how it ends is the client's affair
		ended <- struct{}{}
	}
	go pass(far, near)
	go pass(near, far)
	<-ended
	p.mu.Lock()
	delete(p.conns, near)
	p.mu.Unlock()
}

// cut sets whether new connections end at once. If so, it ends those that there are.
func (p *proxy) cut(shut bool) {
	p.mu.Lock()
	p.shut = shut
	p.mu.Unlock()
	if shut {
		p.hangUp()
	}
}

func (p *proxy) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for near, far := range p.conns {
		near.Close()
		far.Close()
	}
}

// resource is the store that the work goes to: just enough of the Redis protocol for one command at a time.
type resource struct {
	target string

	mu      sync.Mutex
	conn    net.Conn
	replies *bufio.Reader
}

func (r *resource) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil {
		r.conn.Close()
	}
}

func (r *resource) connect() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != nil {
		return nil
	}
	conn, err := net.Dial("tcp", r.target)
	if err != nil {
		return err
	}
	r.conn, r.replies = conn, bufio.NewReader(conn)
	return nil
}

// do sends a command and returns the text of its reply, empty if there is none.
func (r *resource) do(words ...string) (text string, err error) {
	if r.target == "" {
		return "", errors.New("init named no resource")
	}
	if err := r.connect(); err != nil {
		return "", err
	}
	defer func() {
		if err != nil { // the next command makes a new connection
			r.mu.Lock()
			r.conn.Close()
			r.conn = nil
			r.mu.Unlock()
		}
	}()
	var command strings.Builder
	fmt.Fprintf(&command, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(r.conn, command.String()); err != nil {
		return "", err
	}
	line, err := r.replies.ReadString('\n')
	line = strings.TrimSpace(line)
	switch {
	case err != nil:
		return "", err
	case strings.HasPrefix(line, "-"):
		return "", errors.New("resource: " + line)
	case !strings.HasPrefix(line, "$") || line == "$-1":
		return strings.TrimLeft(line, "+:$-1"), nil
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil {
		return "", err
	}
	value := make([]byte, n+2)
	_, err = io.ReadFull(r.replies, value)
	return string(value[:n]), err
}
