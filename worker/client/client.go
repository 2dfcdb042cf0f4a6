// Package client is the protocol of the lab for client programs in Go: an adapter says what its lock does for each verb. It needs nothing but the
// standard library, so it can be copied: lab new go does. It owns the client's side of the conversation; it must not know a lock, nor the lab.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Verbs are what locks of type L do for the verbs of docs/protocol.md, such as "acquire": (*lock).acquire. True says that it was done, false that it
// was certainly not, an error that this is not known. Only acquire and release must be there. reconnect returns when the connections work; without it
// many scenarios do not apply. wait acquires within a time, in the library's own way, such as a queue; without it acquire is called again and again.
// What is cancelled loses its connections, whatever the library does, unless hello has by_context: for a library that gives up with its context.
// A lock is asked for one thing at a time, but for reconnect, whose context ends when an operation comes.
type Verbs[L any] map[string]func(lock L, op *Operation) (bool, error)

// Operation is what a lock is asked for. Its context ends when the lab cancels it.
type Operation struct {
	context.Context
	Within time.Duration
	Answer map[string]any      // gets what else is to be answered, such as valid_ms or fence
	Lost   func(why string)    // says that the hold which began with this operation is over, as soon as that is known
	Valid  func(time.Duration) // says, after a renewal in the background, that the hold is valid for so long from now
}

// Options are what a lock is made of.
type Options struct {
	Servers []string // host:port of each
	Key     string
	Lease   time.Duration
	Answer  map[string]any // to open: gets keys and need, if the lock names its keys itself
}

// Serve speaks the protocol until the lab ends the client, and then ends the process. hello gets version, verbs and separate.
func Serve[L any](hello map[string]any, open func(Options) (L, error), verbs Verbs[L]) {
	if err := serve(os.Stdin, os.Stdout, hello, open, verbs); err != nil {
		log.Fatal(err)
	}
	os.Exit(0) // whatever still waits for a reply is not waited for
}

// request is a request of the lab. JSON's names are these in any case, but where it is said.
type request struct {
	ID, Op, Version                           int64
	Do, Handle, Key, Wait, Workload, Resource string
	Servers                                   []string
	LeaseMS                                   float64 `json:"lease_ms"`
	WithinMS                                  float64 `json:"within_ms"`
}

type client[L any] struct {
	hello      map[string]any
	open       func(Options) (L, error)
	verbs      Verbs[L]
	write      func(message any)
	init       request
	handles    map[string]*handle[L]
	operations sync.Map           // what cancels each one under way, by its id
	yield      context.CancelFunc // ends the wait for new connections
}

func serve[L any](in io.Reader, out io.Writer, hello map[string]any, open func(Options) (L, error), verbs Verbs[L]) error {
	hello["version"], hello["separate"] = 2, true
	hello["verbs"] = slices.DeleteFunc([]string{"renew", "check", "reconnect"}, func(verb string) bool { return verbs[verb] == nil })
	write := func(message any) { // by one write of a file, which no other interrupts
		if err := json.NewEncoder(out).Encode(message); err != nil {
			log.Print(err)
		}
	}
	c := &client[L]{hello: hello, open: open, verbs: verbs, write: write, handles: map[string]*handle[L]{}, yield: func() {}}
	go c.watch()
	for requests := json.NewDecoder(in); requests.More(); {
		req := request{Servers: slices.Clone(c.init.Servers), Resource: c.init.Resource} // what open does not name
		if err := requests.Decode(&req); err != nil {
			return err
		}
		answer := map[string]any{"id": req.ID}
		switch h, found := c.handles[req.Handle]; {
		case req.Do == "init":
			c.init, answer["hello"] = req, hello
			c.answer(answer, req.Version == 2, nil, "")
		case req.Do == "open":
			c.answer(answer, true, c.add(req, answer), "no")
		case req.Do == "cancel":
			cancel, found := c.operations.Load(req.Op)
			if found {
				cancel.(func())()
			}
			c.answer(answer, found, nil, "")
		case req.Do == "reconnect" && verbs["reconnect"] != nil:
			c.reconnect(answer)
		case req.Do == "exit":
			c.answer(answer, true, nil, "")
			return nil
		case found && req.Wait == "":
			c.start(h, req, answer)
		default:
			answer["unsupported"] = req.Handle == "" || found // operations have one
			c.answer(answer, false, errors.New("no such verb, handle or way to wait"), "no")
		}
	}
	return nil
}

// answer answers whether something was done; if there is an error, with the outcome failed.
func (c *client[L]) answer(answer map[string]any, done bool, err error, failed string) {
	answer["outcome"] = map[bool]string{true: "ok", false: "no"}[done]
	if err != nil {
		answer["outcome"], answer["error"] = failed, err.Error()
	}
	c.write(answer)
}

// watch tells the lab when the host did not run this process: what is late then is not the lock's fault.
func (c *client[L]) watch() {
	for {
		began, used := time.Now(), processorTime()
		time.Sleep(10 * time.Millisecond)
		if late := time.Since(began) - 10*time.Millisecond - (processorTime() - used); late > 25*time.Millisecond {
			c.write(map[string]any{"late_ms": late.Seconds() * 1000})
		}
	}
}

// reconnect ends all connections, and answers when the libraries have new ones. An operation, under way or new, finds them ended itself.
func (c *client[L]) reconnect(answer map[string]any) {
	for _, h := range c.handles {
		h.endConnections()
	}
	idle := slices.DeleteFunc(slices.Collect(maps.Values(c.handles)), func(h *handle[L]) bool { return h.waiting.Load() > 0 })
	ctx, yield := context.WithCancel(context.Background())
	c.yield = yield
	go func() {
		var err error
		_, _ = again(ctx, 200*time.Millisecond, func() (bool, error) { // a library may have several dead connections
			err = nil
			for _, h := range idle {
				if _, failed := c.verbs["reconnect"](h.lock, &Operation{Context: ctx, Answer: answer}); ctx.Err() == nil {
					err = errors.Join(err, failed)
				}
			}
			return err == nil, nil
		})
		c.answer(answer, true, err, "no")
	}()
}

// handle is an open lock. Its operations run one after another.
type handle[L any] struct {
	lock     L
	resource string
	fence    any                // of its hold, if there are fences
	last     chan struct{}      // closed when the last operation has ended
	guard    sync.Mutex         // of the next two: connections that end for a cancelled operation are not the next one's
	under    atomic.Int64       // the id of the operation under way; below zero: it is cancelled, and new connections end at once
	kept     []func()           // notices during an acquire, which come behind its answer: a hold must not end before it began; nil: write them at once
	waiting  atomic.Int64       // how many operations have not ended yet
	conns    sync.Map           // the library's, all of which pass a proxy
	closed   context.CancelFunc // ends the proxies
}

func (c *client[L]) add(req request, answer map[string]any) (err error) {
	if c.init.ID == 0 {
		return errors.New("init comes before open")
	}
	closed, end := context.WithCancel(context.Background())
	h := &handle[L]{resource: req.Resource, last: make(chan struct{}), closed: end}
	close(h.last)
	options := Options{Key: req.Key, Lease: time.Duration(req.LeaseMS * 1e6), Answer: answer}
	for _, server := range req.Servers {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go h.proxy(listener, server[strings.LastIndex(server, "/")+1:])
		context.AfterFunc(closed, func() { listener.Close() })
		options.Servers = append(options.Servers, listener.Addr().String())
	}
	if h.lock, err = c.open(options); err != nil {
		end()
		return err
	}
	c.handles[req.Handle] = h
	return nil
}

// start has an operation run when those before it on its handle have ended, unless it is cancelled earlier. It is answered once.
func (c *client[L]) start(h *handle[L], req request, answer map[string]any) {
	ctx, cancel := context.WithCancel(context.Background())
	c.operations.Store(req.ID, func() {
		h.guard.Lock()
		defer h.guard.Unlock()
		if cancel(); c.hello["by_context"] != true && h.under.CompareAndSwap(req.ID, -req.ID) {
			h.endConnections()
		}
	})
	c.yield()
	h.waiting.Add(1)
	if req.Do == "close" {
		delete(c.handles, req.Handle)
	}
	before, ended := h.last, make(chan struct{})
	h.last = ended
	go func() {
		defer close(ended)
		done, err := false, context.Canceled
		select {
		case <-before:
			h.turn(req.ID, map[string][]func(){"acquire": {}}[req.Do])
			done, err = c.perform(ctx, h, req, answer)
			h.fence = cmp.Or(answer["fence"], h.fence)
		case <-ctx.Done():
		}
		if req.Do == "close" {
			h.closed() // what they have connected, the lock ends itself
		}
		c.operations.Delete(req.ID)
		h.waiting.Add(-1)
		c.answer(answer, done, err, "unknown")
		<-before
		h.turn(0, nil)
	}()
}

func (c *client[L]) perform(ctx context.Context, h *handle[L], req request, answer map[string]any) (bool, error) {
	lost := func(why string) {
		h.notice(req.ID, func() { c.write(map[string]any{"lost": req.Handle, "hold": req.ID, "why": why}) })
	}
	valid := func(left time.Duration) {
		until := time.Now().Add(left)
		h.notice(req.ID, func() { c.write(map[string]any{"valid": req.Handle, "valid_ms": time.Until(until).Seconds() * 1000}) })
	}
	op := &Operation{ctx, time.Duration(req.WithinMS * 1e6), answer, lost, valid}
	switch verb, wait := c.verbs[req.Do], c.verbs["wait"]; {
	case wait != nil && op.Within > 0:
		return again(op, 0, func() (bool, error) { return wait(h.lock, op) })
	case verb != nil:
		return again(op, op.Within, func() (bool, error) { return verb(h.lock, op) })
	case req.Do == "work" && (req.Workload == "" || req.Workload == "counter"):
		return h.work(op, req.Key)
	}
	answer["unsupported"] = req.Do != "close"
	return req.Do == "close", nil
}

// notice writes a notice of an operation, or keeps it while that is an acquire under way. One of an earlier hold must not come within the next.
func (h *handle[L]) notice(id int64, write func()) {
	h.guard.Lock()
	defer h.guard.Unlock()
	if under := h.under.Load(); h.kept != nil && (under == id || under == -id) {
		h.kept = append(h.kept, write)
	} else {
		write()
	}
}

// turn begins an operation, during which notices wait unless kept is nil, or, with 0, writes those that waited.
func (h *handle[L]) turn(id int64, kept []func()) {
	h.guard.Lock()
	defer h.guard.Unlock()
	for _, write := range h.kept {
		write()
	}
	h.kept = kept
	h.under.Store(id)
}

// again tries every 20 ms, until it is done or fails, the time is over, or ctx has ended.
func again(ctx context.Context, within time.Duration, try func() (bool, error)) (done bool, err error) {
	for until := time.Now().Add(within); ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if done, err = try(); done || err != nil || !time.Now().Before(until) {
			return done, err
		}
	}
	return false, ctx.Err()
}

// fenced has the resource refuse a fence that is smaller than the greatest one that it was shown, and then write, if there is something to write.
const fenced = `if tonumber(redis.call("GET", KEYS[1]) or 0) > tonumber(ARGV[1]) then return redis.error_reply("STALEFENCE") end
redis.call("SET", KEYS[1], ARGV[1]) return ARGV[2] and redis.call("SET", KEYS[2], ARGV[2])`

// work counts on the resource, over a connection of its own. A fence is shown first.
func (h *handle[L]) work(op *Operation, key string) (bool, error) {
	tcp, err := new(net.Dialer).DialContext(op, "tcp", h.resource)
	if err != nil {
		return false, err
	}
	conn := textproto.NewConn(tcp)
	defer conn.Close()
	defer context.AfterFunc(op, func() { conn.Close() })()
	ask := func(words ...any) (reply string) { // up to the first error
		if err != nil {
			return ""
		}
		_ = conn.PrintfLine("*%d", len(words)) // what was not sent has no reply
		for _, word := range words {
			_ = conn.PrintfLine("$%d\r\n%v", len(fmt.Sprint(word)), word)
		}
		if reply, err = conn.ReadLine(); strings.HasPrefix(reply, "$") && reply != "$-1" {
			reply, err = conn.ReadLine()
		} else if strings.HasPrefix(reply, "-") {
			err = errors.New("resource: " + reply)
		}
		return reply
	}
	write := []any{"SET", key}
	if h.fence != nil {
		ask("EVAL", fenced, 1, key+":fence", h.fence)
		write = []any{"EVAL", fenced, 2, key + ":fence", key, h.fence}
	}
	if read, _ := strconv.ParseInt(ask("GET", key), 10, 64); err == nil { // absent counts as zero
		op.Answer["read"], op.Answer["wrote"] = read, read+1
		ask(append(write, read+1)...)
	}
	if err != nil && strings.Contains(err.Error(), "STALEFENCE") {
		return false, nil
	}
	return true, err
}

// proxy passes the library's connections on to a server. That is how a cancelled operation stops waiting, whatever the library does.
func (h *handle[L]) proxy(listener net.Listener, server string) {
	for near, err := listener.Accept(); err == nil; near, err = listener.Accept() {
		go func() {
			defer near.Close()
			h.conns.Store(near, near)
			defer h.conns.Delete(near)
			if far, err := net.Dial("tcp", server); err == nil {
				go func() {
					if h.under.Load() >= 0 {
						_, _ = io.Copy(far, near) // how it ends is the client's affair
					}
					far.Close()
				}()
				_, _ = io.Copy(near, far)
			}
		}()
	}
}

func (h *handle[L]) endConnections() {
	for conn := range h.conns.Range {
		conn.(net.Conn).Close()
	}
}
