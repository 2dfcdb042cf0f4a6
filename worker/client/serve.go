package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// request is a request of the lab. JSON's names are these in any case, but where it is said.
type request struct {
	ID, Op                              int64
	Version                             int
	Do, Handle, Key, Workload, Resource string
	Servers                             []string
	LeaseMS                             float64 `json:"lease_ms"`
	WithinMS                            float64 `json:"within_ms"`
}

type answer map[string]any

// said is the answer to what a method of a lock returned.
func said(done bool, err error) answer {
	switch {
	case err != nil:
		return answer{"outcome": "unknown", "error": err.Error()}
	case done:
		return answer{"outcome": "ok"}
	}
	return answer{"outcome": "no"}
}

func no(why string) answer { return answer{"outcome": "no", "error": why} }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// client is what the lab talks to.
type client struct {
	open       func(Options) (Lock, error)
	hello      Hello
	init       request
	handles    map[string]*handle
	operations sync.Map // what cancels each one under way, by its id

	mu  sync.Mutex
	out *json.Encoder
}

func serve(in io.Reader, out io.Writer, hello Hello, sample Lock, open func(Options) (Lock, error)) error {
	_, renews := sample.(Renewer)
	_, checks := sample.(Checker)
	_, pings := sample.(Pinger)
	for verb, can := range map[string]bool{"renew": renews, "check": checks, "reconnect": pings} {
		if can {
			hello.Verbs = append(hello.Verbs, verb)
		}
	}
	hello.Version, hello.Separate = 2, true
	c := &client{open: open, hello: hello, handles: map[string]*handle{}, out: json.NewEncoder(out)}
	go c.watch()
	for requests := json.NewDecoder(in); ; {
		var req request
		if err := requests.Decode(&req); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if a := c.serve(req); a != nil {
			c.write(req.ID, a)
		}
		if req.Do == "exit" {
			return nil
		}
	}
}

func (c *client) write(id int64, a answer) {
	if id > 0 {
		a["id"] = id
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(a) // without a lab there is nobody to tell
}

// watch tells the lab when the host did not run this process: what is late then is not the lock's fault.
func (c *client) watch() {
	const tick, much = 10 * time.Millisecond, 25 * time.Millisecond
	for {
		began := time.Now()
		time.Sleep(tick)
		if late := time.Since(began) - tick; late > much {
			c.write(0, answer{"late_ms": ms(late)})
		}
	}
}

func (c *client) serve(req request) answer {
	h := c.handles[req.Handle]
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
		a := said(true, nil)
		if lock, names := h.lock.(Keyed); names {
			a["keys"], a["need"] = lock.Keys()
		}
		return a
	case "cancel":
		cancel, found := c.operations.Load(req.Op)
		if !found {
			return no("not under way")
		}
		cancel.(context.CancelFunc)()
		return said(true, nil)
	case "reconnect":
		c.reconnect(req.ID)
		return nil // its goroutine answers
	case "acquire", "release", "renew", "check", "work", "close":
		if h == nil {
			return no("this handle is not open")
		}
		if req.Do == "close" {
			delete(c.handles, req.Handle)
		}
		c.start(h, req)
		return nil
	case "exit":
		return said(true, nil)
	}
	return answer{"outcome": "no", "unsupported": true}
}

// start has an operation run when those before it on its handle have ended. It is answered once.
func (c *client) start(h *handle, req request) {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), holding{}, req.ID))
	c.operations.Store(req.ID, cancel)
	h.yield()
	before, ended := h.last, make(chan struct{})
	h.last = ended
	go func() {
		defer close(ended)
		a := said(false, errors.New("cancelled before its turn"))
		select {
		case <-before:
			a = h.run(ctx, req, !c.hello.ByContext)
		case <-ctx.Done():
		}
		c.operations.Delete(req.ID)
		c.write(req.ID, a)
		<-before
	}()
}

// reconnect ends all connections, and answers when the libraries have new ones, or an operation comes: that finds them ended itself.
func (c *client) reconnect(id int64) {
	idle := map[*handle]context.Context{}
	for _, h := range c.handles {
		h.yield()
		idle[h], h.yield = context.WithCancel(context.Background())
		h.cut(false)
	}
	go func() {
		a := said(true, nil)
		for h, ctx := range idle {
			if err := h.connected(ctx); err != nil {
				a = no(err.Error())
			}
		}
		c.write(id, a)
	}()
}
