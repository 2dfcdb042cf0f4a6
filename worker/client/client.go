// Package client is the protocol of the lab for client programs in Go: an adapter gives it a lock, and it does the rest. It needs nothing but
// the standard library, so it can be copied: lab new go does.
//
// All connections of the lock pass a proxy within the process. That is how a cancelled operation stops waiting, whatever the library does.
//
// It owns the client's side of the conversation. It must not know a lock, nor the lab.
package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Lock is a lock under test. An error means that the outcome is unknown; false, that it was certainly not done.
type Lock interface {
	Acquire(ctx context.Context) (Grant, error)
	Release(ctx context.Context) (bool, error)
}

// Grant is the answer to an acquire. Valid is how long the lock declares its hold to be valid, Fence its fencing token; zero: none.
type Grant struct {
	OK    bool
	Valid time.Duration
	Fence int64
}

// What else a lock may do. Without Ping many scenarios do not apply: it returns when the connections work.
type (
	Renewer interface {
		Renew(ctx context.Context) (bool, error)
	}
	Checker interface {
		Check(ctx context.Context) (bool, error)
	}
	Pinger interface {
		Ping(ctx context.Context) error
	}
	Waiter interface { // for as long, in the library's own way, such as a queue; without it Acquire is called again and again
		Wait(ctx context.Context, within time.Duration) (Grant, error)
	}
	Closer interface{ Close() error }
	Keyed  interface { // how it names its keys on its server, if not as the one that it is given; need: "majority" or "all" of them
		Keys() (keys []string, need string)
	}
	Limited interface{ Valid() time.Duration } // of a hold after a renewal, as Grant.Valid
)

// Outcome is what an error of a library means: a refusal, that it was not done; any other, that it is not known.
func Outcome(err error, refusals ...error) (bool, error) {
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return false, nil
		}
	}
	return err == nil, err
}

// Leave calls what the library does not cancel, and leaves it to itself when ctx ends. late, unless it is nil, is told what came of it then.
func Leave(ctx context.Context, f func() error, late func(error)) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if late != nil {
		go func() { late(<-done) }()
	}
	return ctx.Err()
}

// Options are what a lock is made of.
type Options struct {
	Servers []string // host:port of each
	Key     string
	Lease   time.Duration
	Lost    func(why string) // says that the lock is no longer held
	// LostHold says it of one hold, by a notice that may come late.
	LostHold func(hold int64, why string)
}

// Hello is how the client introduces itself; see docs/protocol.md.
type Hello struct {
	Version     int      `json:"version"`
	Name        string   `json:"name"`
	About       string   `json:"about,omitempty"`
	Promises    []string `json:"promises,omitempty"`
	Verbs       []string `json:"verbs"`
	Leaseless   bool     `json:"leaseless,omitempty"`
	Renews      bool     `json:"renews,omitempty"`
	Resends     bool     `json:"resends,omitempty"`
	Servers     string   `json:"servers,omitempty"`
	Fair        bool     `json:"fair,omitempty"`
	Reentrant   bool     `json:"reentrant,omitempty"`
	ServerCount int      `json:"server_count,omitempty"`
	Separate    bool     `json:"separate"`
	ByContext   bool     `json:"-"` // what is cancelled ends with its context: its connections are left alone
}

type request struct {
	ID       int64    `json:"id"`
	Do       string   `json:"do"`
	Version  int      `json:"version"`
	Servers  []string `json:"servers"`
	Resource string   `json:"resource"`
	Handle   string   `json:"handle"`
	Key      string   `json:"key"`
	LeaseMS  float64  `json:"lease_ms"`
	WithinMS float64  `json:"within_ms"`
	Workload string   `json:"workload"`
	Op       int64    `json:"op"`
}

type answer map[string]any

var (
	ok          = answer{"outcome": "ok"}
	unsupported = answer{"outcome": "no", "unsupported": true}
)

func unknown(err error) answer { return answer{"outcome": "unknown", "error": err.Error()} }
func no(why string) answer     { return answer{"outcome": "no", "error": why} }
func said(done bool, err error) answer {
	switch {
	case err != nil:
		return unknown(err)
	case done:
		return ok
	}
	return answer{"outcome": "no"}
}

// client is what the lab talks to.
type client struct {
	open    func(Options) (Lock, error)
	hello   Hello
	init    request
	handles map[string]*handle

	mu         sync.Mutex
	operations map[int64]*operation
	out        *json.Encoder
}

// Serve speaks the protocol until the lab ends the client, and then ends the process. open makes a lock; sample is any lock of its type, which
// tells what it can do.
func Serve(hello Hello, sample Lock, open func(Options) (Lock, error)) {
	if err := serve(os.Stdin, os.Stdout, hello, sample, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0) // whatever still waits for a reply is not waited for
}

func serve(in io.Reader, out io.Writer, hello Hello, sample Lock, open func(Options) (Lock, error)) error {
	hello.Version, hello.Separate = 2, true
	for verb, can := range map[string]bool{"renew": is[Renewer](sample), "check": is[Checker](sample), "reconnect": is[Pinger](sample)} {
		if can {
			hello.Verbs = append(hello.Verbs, verb)
		}
	}
	c := &client{open: open, hello: hello, handles: map[string]*handle{}, operations: map[int64]*operation{}, out: json.NewEncoder(out)}
	go c.watch()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var req request
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			return err
		}
		if req.Do == "exit" {
			c.write(req.ID, ok)
			return nil
		}
		if a := c.serve(req); a != nil {
			c.write(req.ID, a)
		}
	}
	return lines.Err()
}

func (c *client) write(id int64, fields answer) {
	line := answer{}
	for k, v := range fields {
		line[k] = v
	}
	if id > 0 {
		line["id"] = id
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(line) // without a lab there is nobody to tell
}

// watch tells the lab when the host did not run this process: what is late then is not the lock's fault.
func (c *client) watch() {
	const tick, much = 10 * time.Millisecond, 25 * time.Millisecond
	for began := time.Now(); ; began = time.Now() {
		time.Sleep(tick)
		if late := time.Since(began) - tick; late > much {
			c.write(0, answer{"late_ms": float64(late) / float64(time.Millisecond)})
		}
	}
}

func (c *client) serve(req request) answer {
	switch req.Do {
	case "init":
		if req.Version != c.hello.Version {
			return no("this client speaks version 2 of the protocol")
		}
		c.init = req
		return answer{"outcome": "ok", "hello": c.hello}
	case "open":
		h, err := c.newHandle(req)
		if err != nil {
			return no(err.Error())
		}
		c.handles[req.Handle] = h
		if lock, names := h.lock.(Keyed); names {
			keys, need := lock.Keys()
			return answer{"outcome": "ok", "keys": keys, "need": need}
		}
		return ok
	case "cancel":
		return c.cancel(req.Op)
	case "reconnect":
		var all []func() error
		for _, h := range c.handles {
			all = append(all, h.reconnect())
		}
		go func() {
			a := ok
			for _, connected := range all {
				if err := connected(); err != nil {
					a = no(err.Error())
				}
			}
			c.write(req.ID, a)
		}()
		return nil
	case "acquire", "release", "renew", "check", "work", "close":
		h := c.handles[req.Handle]
		if h == nil {
			return no("this handle is not open")
		}
		if req.Do == "close" {
			delete(c.handles, req.Handle)
		}
		c.start(h, req)
		return nil // its goroutine answers
	}
	return unsupported
}
