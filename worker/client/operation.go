package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// operation is a request that takes its time. It is answered once.
type operation struct {
	request
	handle  *handle
	ctx     context.Context
	stop    context.CancelFunc
	started bool
}

// start has an operation run when those before it on its handle have ended.
func (c *client) start(h *handle, req request) {
	op := &operation{request: req, handle: h}
	op.ctx, op.stop = context.WithCancel(context.WithValue(context.Background(), holding{}, req.ID))
	c.mu.Lock()
	c.operations[req.ID] = op
	c.mu.Unlock()
	h.yield()
	before, after := h.last, make(chan struct{})
	h.last = after
	go func() {
		defer close(after)
		<-before
		c.mu.Lock()
		_, waiting := c.operations[req.ID]
		op.started = true
		c.mu.Unlock()
		if !waiting {
			return // it was cancelled before its turn
		}
		h.busy.Lock()
		a := h.perform(op)
		h.busy.Unlock()
		c.mu.Lock()
		delete(c.operations, req.ID)
		h.cut(false) // a cancel that comes later finds nothing to cut
		c.mu.Unlock()
		c.write(req.ID, a)
	}()
}

func (c *client) cancel(id int64) answer {
	c.mu.Lock()
	op, found := c.operations[id]
	if found {
		op.stop()
	}
	waits := found && !op.started
	switch {
	case waits:
		delete(c.operations, id)
	case found && c.hello.ByContext:
		op.handle.resource.hangUp()
	case found:
		op.handle.cut(true)
	}
	c.mu.Unlock()
	if !found {
		return no("not under way")
	}
	if waits {
		c.write(id, unknown(errors.New("cancelled before its turn")))
	}
	return ok
}

func (h *handle) perform(op *operation) answer {
	switch op.Do {
	case "acquire":
		return h.acquire(op)
	case "release":
		return said(h.lock.Release(op.ctx))
	case "work":
		return h.work(op.request)
	case "close":
		if lock, can := h.lock.(Closer); can {
			_ = lock.Close() // the lab asks for no answer to that
		}
		return ok
	}
	if lock, can := h.lock.(Renewer); can && op.Do == "renew" {
		done, err := lock.Renew(op.ctx)
		if limited, is := h.lock.(Limited); is && done && err == nil {
			return answer{"outcome": "ok", "valid_ms": float64(limited.Valid()) / float64(time.Millisecond)}
		}
		return said(done, err)
	}
	if lock, can := h.lock.(Checker); can && op.Do == "check" {
		return said(lock.Check(op.ctx))
	}
	return unsupported
}

func (h *handle) acquire(op *operation) answer {
	within := time.Duration(op.WithinMS * float64(time.Millisecond))
	if lock, can := h.lock.(Waiter); can && within > 0 {
		return granted(lock.Wait(op.ctx, within))
	}
	for until := time.Now().Add(within); ; {
		grant, err := h.lock.Acquire(op.ctx)
		if err != nil || grant.OK || !time.Now().Before(until) {
			return granted(grant, err)
		}
		select {
		case <-time.After(pause):
		case <-op.ctx.Done():
			return unknown(op.ctx.Err())
		}
	}
}

func granted(grant Grant, err error) answer {
	a := answer{"outcome": said(grant.OK, err)["outcome"], "error": fmt.Sprint(err)}
	if grant.Valid != 0 {
		a["valid_ms"] = float64(grant.Valid) / float64(time.Millisecond)
	}
	if grant.Fence > 0 {
		a["fence"] = grant.Fence
	}
	return a
}

// work counts on the resource.
func (h *handle) work(req request) answer {
	if req.Workload != "" && req.Workload != "counter" {
		return unsupported
	}
	text, err := h.resource.do("GET", req.Key)
	if err != nil {
		return unknown(err)
	}
	read, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64) // absent counts as zero
	a := answer{"outcome": "ok", "read": read, "wrote": read + 1}
	if _, err := h.resource.do("SET", req.Key, strconv.FormatInt(read+1, 10)); err != nil {
		a["outcome"], a["error"] = "unknown", err.Error()
	}
	return a
}
