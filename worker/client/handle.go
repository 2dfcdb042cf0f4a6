package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"
)

// handle is an open lock.
type handle struct {
	lock     Lock
	resource string
	last     chan struct{}      // closed when the last operation has ended
	yield    context.CancelFunc // ends a reconnect under way
	busy     sync.Mutex         // one goroutine at a time uses the lock

	mu    sync.Mutex
	conns map[net.Conn]bool // both ends of each that passes the proxies
	shut  bool              // new ones end at once
}

func (c *client) newHandle(req request) (h *handle, err error) {
	if len(req.Servers) == 0 {
		req.Servers, req.Resource = c.init.Servers, c.init.Resource
	}
	h = &handle{resource: req.Resource, last: make(chan struct{}), yield: func() {}, conns: map[net.Conn]bool{}}
	close(h.last)
	options := Options{Servers: make([]string, len(req.Servers)), Key: req.Key, Lease: duration(req.LeaseMS)}
	options.Lost = func(why string) { c.write(0, answer{"lost": req.Handle, "why": why}) }
	options.LostHold = func(hold int64, why string) { c.write(0, answer{"lost": req.Handle, "hold": hold, "why": why}) }
	for i, server := range req.Servers {
		if options.Servers[i], err = h.proxy(server[strings.LastIndex(server, "/")+1:]); err != nil {
			return nil, err
		}
	}
	h.lock, err = c.open(options)
	return h, err
}

// run performs an operation. If cut, its connections end when it is cancelled, and new ones until it has ended, whatever its library does.
func (h *handle) run(ctx context.Context, req request, cut bool) answer {
	h.busy.Lock()
	defer h.busy.Unlock()
	if cut {
		done := make(chan struct{})
		stop := context.AfterFunc(ctx, func() { h.cut(true); close(done) })
		defer func() {
			if !stop() {
				<-done
				h.cut(false)
			}
		}()
	}
	switch req.Do {
	case "acquire":
		grant, err := h.acquire(ctx, duration(req.WithinMS))
		a := said(grant.OK, err)
		if grant.OK && grant.Valid != 0 {
			a["valid_ms"] = ms(grant.Valid)
		}
		if grant.OK && grant.Fence > 0 {
			a["fence"] = grant.Fence
		}
		return a
	case "release":
		return said(h.lock.Release(ctx))
	case "renew":
		if lock, can := h.lock.(Renewer); can {
			a := said(lock.Renew(ctx))
			if limited, is := h.lock.(Limited); is && a["outcome"] == "ok" {
				a["valid_ms"] = ms(limited.Valid())
			}
			return a
		}
	case "check":
		if lock, can := h.lock.(Checker); can {
			return said(lock.Check(ctx))
		}
	case "work":
		if req.Workload == "" || req.Workload == "counter" {
			return h.work(ctx, req.Key)
		}
	case "close":
		if lock, can := h.lock.(io.Closer); can {
			_ = lock.Close() // the lab asks for no answer to that
		}
		return said(true, nil)
	}
	return answer{"outcome": "no", "unsupported": true}
}

// pause is how long an acquire waits between two tries, and a reconnect.
const pause = 20 * time.Millisecond

func (h *handle) acquire(ctx context.Context, within time.Duration) (Grant, error) {
	if lock, can := h.lock.(Waiter); can && within > 0 {
		return lock.Wait(ctx, within)
	}
	for until := time.Now().Add(within); ; {
		grant, err := h.lock.Acquire(ctx)
		if err != nil || grant.OK || !time.Now().Before(until) {
			return grant, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return grant, ctx.Err()
		}
	}
}

// tries is how often a library may find a connection dead.
const tries = 10

// connected waits until the library has connected again.
func (h *handle) connected(ctx context.Context) (err error) {
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

// work counts on the resource, over a connection of its own.
func (h *handle) work(ctx context.Context, key string) answer {
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", h.resource)
	if err != nil {
		return said(false, err)
	}
	defer raw.Close()
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	conn := textproto.NewConn(raw)
	text, err := command(conn, "GET", key)
	if err != nil {
		return said(false, err)
	}
	read, _ := strconv.ParseInt(text, 10, 64) // absent counts as zero
	_, err = command(conn, "SET", key, strconv.FormatInt(read+1, 10))
	a := said(true, err)
	a["read"], a["wrote"] = read, read+1
	return a
}

// command sends a command and returns the text of its reply, empty if there is none: just enough of the Redis protocol.
func command(conn *textproto.Conn, words ...string) (string, error) {
	fmt.Fprintf(conn.W, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(conn.W, "$%d\r\n%s\r\n", len(word), word)
	}
	_ = conn.W.Flush() // without a command there is no reply
	line, err := conn.ReadLine()
	switch {
	case strings.HasPrefix(line, "-"):
		return "", errors.New("resource: " + line)
	case strings.HasPrefix(line, "$") && line != "$-1":
		return conn.ReadLine()
	}
	return "", err
}

// proxy listens for the library's connections to a server, and passes them on.
func (h *handle) proxy(server string) (addr string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go h.pass(near, server)
		}
	}()
	return listener.Addr().String(), nil
}

func (h *handle) pass(near net.Conn, server string) {
	defer near.Close()
	far, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer far.Close()
	h.mu.Lock()
	if h.shut {
		near.Close()
	}
	h.conns[near], h.conns[far] = true, true
	h.mu.Unlock()
	go func() {
		_, _ = io.Copy(far, near) // how it ends is the client's affair
		far.Close()
	}()
	_, _ = io.Copy(near, far)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, near)
	delete(h.conns, far)
}

// cut ends all connections; shut, also new ones, until it is called with false.
func (h *handle) cut(shut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shut = shut
	for conn := range h.conns {
		conn.Close()
	}
}
