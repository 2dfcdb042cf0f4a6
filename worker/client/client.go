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

// Verbs are what locks of type L do for the verbs of docs/tables/protocol.md. A nil one is a verb that the client does not have.
type Verbs[L any] struct {
	// Acquire and Release must be there. Wait acquires within Operation.Within in the library's own way; without it Acquire is called again and again.
	// Reconnect returns when the connections work; its context ends when an operation comes.
	Acquire, Release, Wait, Renew, Check, Reconnect, Close Verb[L]
}

// Verb does something with a lock: true if it was done, false if it certainly was not, an error if that is not known. A lock is asked for one thing
// at a time, but for Reconnect. What is cancelled also loses its connections, unless hello has by_context.
type Verb[L any] func(lock L, op *Operation) (bool, error)

// Operation is what a lock is asked for. Its context ends when the lab cancels it.
type Operation struct {
	context.Context
	Within time.Duration
	Answer map[string]any // gets what else is to be answered, such as valid_ms or fence
	req    request
	cancel context.CancelFunc
	write  func(message any)
	guard  sync.Mutex      // of the next one: no operation is answered while it is cancelled
	kept   []func() fields // notices, which come behind its answer: a hold must not end before it began; nil: it is answered
}

type fields map[string]any

// Lost says that the hold which began with this operation is over, as soon as that is known.
func (op *Operation) Lost(why string) {
	op.notice(func() fields { return fields{"lost": op.req.Handle, "hold": op.req.ID, "why": why} })
}

// Valid says, after a renewal in the background, that the hold is valid for so long from now.
func (op *Operation) Valid(left time.Duration) {
	until := time.Now().Add(left)
	op.notice(func() fields { return fields{"valid": op.req.Handle, "valid_ms": float64(time.Until(until)) / 1e6} })
}

func (op *Operation) notice(what func() fields) {
	op.guard.Lock()
	defer op.guard.Unlock()
	if op.kept != nil {
		op.kept = append(op.kept, what)
	} else { // at once: one of an earlier hold must not come within the next
		op.write(what())
	}
}

// end answers whether it was done; if there is an error, with the outcome failed.
func (op *Operation) end(done bool, err error, failed string) {
	op.guard.Lock()
	defer op.guard.Unlock()
	op.Answer["outcome"] = map[bool]string{true: "ok", false: "no"}[done]
	if err != nil {
		op.Answer["outcome"], op.Answer["error"] = failed, err.Error()
	}
	op.write(op.Answer)
	for _, what := range op.kept {
		op.write(what())
	}
	op.kept = nil
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
	if err := ServeOn(os.Stdin, os.Stdout, hello, open, verbs); err != nil {
		log.Fatal(err)
	}
	os.Exit(0) // whatever still waits for a reply is not waited for
}

// request is a request of the lab. JSON's names are these in any case.
type request struct {
	ID, Op, Version                           int64
	Do, Handle, Key, Wait, Workload, Resource string
	Servers                                   []string
	Lease_MS, Within_MS                       float64
}

// ServeOn is Serve on a connection to the lab. It returns when the lab ends the client, and then cancels what is under way.
func ServeOn[L any](in io.Reader, out io.Writer, hello map[string]any, open func(Options) (L, error), can Verbs[L]) error {
	verbs := map[string]Verb[L]{"acquire": can.Acquire, "release": can.Release, "wait": can.Wait, "renew": can.Renew, "check": can.Check, "reconnect": can.Reconnect, "close": can.Close}
	maps.DeleteFunc(verbs, func(_ string, verb Verb[L]) bool { return verb == nil })
	hello["version"], hello["separate"], hello["verbs"] = 2, true, slices.DeleteFunc([]string{"renew", "check", "reconnect"}, func(verb string) bool { return verbs[verb] == nil })
	write := func(message any) { // by one write of a file, which no other interrupts
		if err := json.NewEncoder(out).Encode(message); err != nil {
			log.Print(err)
		}
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go watch(ctx, write)
	// operations has what cancels each one under way, by its id; yield ends the wait for new connections.
	init, handles, operations, yield := request{}, map[string]*handle{}, new(sync.Map), func() {}
	for requests := json.NewDecoder(in); requests.More(); {
		op := &Operation{req: request{Servers: slices.Clone(init.Servers), Resource: init.Resource}, write: write} // what open does not name
		if err := requests.Decode(&op.req); err != nil {
			return err
		}
		op.Context, op.cancel = context.WithCancel(ctx)
		op.Within, op.Answer, op.kept = time.Duration(op.req.Within_MS*1e6), map[string]any{"id": op.req.ID}, []func() fields{}
		switch h := handles[op.req.Handle]; {
		case op.req.Do == "init":
			init, op.Answer["hello"] = op.req, hello
			op.end(op.req.Version == 2, nil, "")
		case op.req.Do == "exit":
			op.end(true, nil, "")
			return nil
		case init.ID == 0:
			op.end(false, fmt.Errorf("init comes before %s", op.req.Do), "no")
		case op.req.Do == "open":
			op.end(true, add(handles, op, open, verbs), "no")
		case op.req.Do == "cancel":
			cancel, found := operations.Load(op.req.Op)
			if found {
				cancel.(func())()
			}
			op.end(found, nil, "")
		case op.req.Do == "reconnect" && verbs["reconnect"] != nil:
			yield = op.cancel
			reconnect(op, handles)
		case h != nil && h.verbs[op.req.Do] != nil && op.req.Wait == "" && (op.req.Workload == "" || op.req.Workload == "counter"):
			yield()
			h.start(op, operations, hello["by_context"] == true)
			if op.req.Do == "close" {
				delete(handles, op.req.Handle)
				go func() { <-h.last; h.close() }()
			}
		default:
			op.Answer["unsupported"] = op.req.Handle == "" || h != nil // operations have one
			op.end(false, errors.New("no such verb, handle or way to wait"), "no")
		}
	}
	return nil
}

// watch tells the lab when the host did not run this process: what is late then is not the lock's fault.
func watch(ctx context.Context, write func(message any)) {
	for ctx.Err() == nil {
		began, used := time.Now(), processorTime()
		time.Sleep(10 * time.Millisecond)
		if late := time.Since(began) - 10*time.Millisecond - time.Duration(processorTime()-used); late > 25*time.Millisecond {
			write(map[string]any{"late_ms": late.Seconds() * 1000})
		}
	}
}

// reconnect ends all connections, and answers when the libraries have new ones. An operation, under way or new, finds them ended itself.
func reconnect(op *Operation, handles map[string]*handle) {
	for _, h := range handles {
		h.endConnections()
	}
	idle := slices.DeleteFunc(slices.Collect(maps.Values(handles)), func(h *handle) bool { return h.waiting.Load() > 0 })
	go func() {
		all, err := true, error(nil)
		for _, h := range idle {
			if done, failed := again(op, 200*time.Millisecond, h.verbs["reconnect"]); op.Err() == nil {
				all, err = all && done, errors.Join(err, failed)
			}
		}
		op.end(all, err, "no")
	}()
}

// handle is an open lock. Its operations run one after another.
type handle struct {
	verbs    map[string]func(*Operation) (bool, error)
	resource string
	fence    any           // of its hold, if there are fences
	last     chan struct{} // closed when the last operation has ended
	// How many operations have not ended yet; the id of the one under way, below zero where it is cancelled and new connections end at once.
	waiting, under atomic.Int64
	conns          sync.Map           // the library's, all of which pass a proxy
	close          context.CancelFunc // ends the proxies; what they have connected, the lock ends itself
}

// add opens a handle. The context of that operation ends when the handle is closed.
func add[L any](handles map[string]*handle, op *Operation, open func(Options) (L, error), verbs map[string]Verb[L]) error {
	h := &handle{resource: op.req.Resource, last: make(chan struct{}), close: op.cancel}
	close(h.last)
	fail := func(err error) error { h.close(); return err }
	options := Options{Key: op.req.Key, Lease: time.Duration(op.req.Lease_MS * 1e6), Answer: op.Answer}
	for _, server := range op.req.Servers {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fail(err)
		}
		go h.proxy(listener, server[strings.LastIndex(server, "/")+1:])
		context.AfterFunc(op, func() { listener.Close() })
		options.Servers = append(options.Servers, listener.Addr().String())
	}
	lock, err := open(options)
	if err != nil {
		return fail(err)
	}
	h.verbs = map[string]func(*Operation) (bool, error){"work": h.work, "close": func(*Operation) (bool, error) { return true, nil }}
	for name, verb := range verbs {
		h.verbs[name] = func(op *Operation) (bool, error) { return verb(lock, op) }
	}
	handles[op.req.Handle] = h
	return nil
}

// start has an operation run when those before it have ended, unless it is cancelled earlier. It is answered once.
func (h *handle) start(op *Operation, operations *sync.Map, byContext bool) {
	operations.Store(op.req.ID, func() {
		op.guard.Lock()
		defer op.guard.Unlock()
		if op.cancel(); op.kept != nil && !byContext && h.under.CompareAndSwap(op.req.ID, -op.req.ID) {
			h.endConnections()
		}
	})
	h.waiting.Add(1)
	before, ended := h.last, make(chan struct{})
	h.last = ended
	go func() {
		defer close(ended)
		done, err := false, context.Canceled
		select {
		case <-before:
			h.under.Store(op.req.ID)
			if wait := h.verbs["wait"]; wait != nil && op.Within > 0 {
				done, err = again(op, 0, wait)
			} else {
				done, err = again(op, op.Within, h.verbs[op.req.Do])
			}
			h.fence = cmp.Or(op.Answer["fence"], h.fence)
		case <-op.Done():
		}
		operations.Delete(op.req.ID)
		h.waiting.Add(-1)
		op.end(done, err, "unknown")
		<-before
		h.under.Store(0)
	}()
}

// again tries every 20 ms, until it is done or fails, the time is over, or the operation is cancelled. A reconnect may fail: a library may have several
// dead connections. If it says no, that is its answer.
func again(op *Operation, within time.Duration, try func(*Operation) (bool, error)) (done bool, err error) {
	for until := time.Now().Add(within); op.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if done, err = try(op); done && err == nil || (err == nil) == (op.req.Do == "reconnect") || !time.Now().Before(until) {
			return done, err
		}
	}
	return false, op.Err()
}

// fenced has the resource refuse a fence that is smaller than the greatest one that it was shown, and then write, if there is something to write.
const fenced = `if tonumber(redis.call("GET", KEYS[1]) or 0) > tonumber(ARGV[1]) then return redis.error_reply("STALEFENCE") end redis.call("SET", KEYS[1], ARGV[1]) return ARGV[2] and redis.call("SET", KEYS[2], ARGV[2])`

// work counts on the resource, over a connection of its own. A fence is shown first.
func (h *handle) work(op *Operation) (bool, error) {
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
	write := []any{"SET", op.req.Key}
	if h.fence != nil {
		ask("EVAL", fenced, 1, op.req.Key+":fence", h.fence)
		write = []any{"EVAL", fenced, 2, op.req.Key + ":fence", op.req.Key, h.fence}
	}
	if read, _ := strconv.ParseInt(ask("GET", op.req.Key), 10, 64); err == nil { // absent counts as zero
		op.Answer["read"], op.Answer["wrote"] = read, read+1
		ask(append(write, read+1)...)
	}
	if err != nil && strings.Contains(err.Error(), "STALEFENCE") {
		return false, nil
	}
	return true, err
}

// proxy passes the library's connections on to a server. That is how a cancelled operation stops waiting, whatever the library does.
func (h *handle) proxy(listener net.Listener, server string) {
	for near, err := listener.Accept(); err == nil; near, err = listener.Accept() {
		go func() {
			h.conns.Store(near, near)
			defer func() { near.Close(); h.conns.Delete(near) }()
			if far, err := net.Dial("tcp", server); err == nil {
				if h.under.Load() >= 0 {
					go func() { _, _ = io.Copy(far, near); far.Close() }() // how it ends is the client's affair
					_, _ = io.Copy(near, far)
				}
				far.Close()
			}
		}()
	}
}

func (h *handle) endConnections() {
	h.conns.Range(func(conn, _ any) bool { conn.(net.Conn).Close(); return true })
}
