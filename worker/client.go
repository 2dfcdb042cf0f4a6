package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/impls/waiting"
	"github.com/locklab/locklab/worker/protocol"
)

// Client is a client without a process of its own and without the protocol, for programs that measure locks. It has connections of its own,
// and state that its locks share, as a client process has. Its methods may be called by several goroutines at once.
type Client struct {
	ctx    context.Context
	cancel context.CancelFunc
	clock  *clock
	shared *shared
	// servers are in the order of the addresses; resending is the first once more, through the library's defaults.
	servers   []*server
	resending *server
}

// Dial connects a client to lock servers, one at least. ctx ends the client's background tasks; Close is still needed.
func Dial(ctx context.Context, addrs ...string) (*Client, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &Client{ctx: ctx, cancel: cancel, clock: newClock(), shared: &shared{values: make(map[string]any)}}
	for _, addr := range addrs {
		c.servers = append(c.servers, newServer(addr, 0, defaultTimeout))
	}
	c.resending = newResendingServer(addrs[0], 0)
	for i, server := range c.servers {
		if err := server.ping(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("server %s: %w", addrs[i], err), c.Close())
		}
	}
	return c, nil
}

// Server is the first lock server.
func (c *Client) Server() impls.Server { return c.servers[0] }

// Close ends the client's tasks and connections. Its locks must have been closed.
func (c *Client) Close() error {
	c.cancel()
	var errs []error
	for _, server := range append(c.servers, c.resending) {
		errs = append(errs, server.close())
	}
	return errors.Join(errs...)
}

// Lock is a lock of a Client. One goroutine at a time uses it.
type Lock struct {
	impls.Lock // itself, which may have more abilities

	env  *env
	stop context.CancelFunc
}

// Open makes a lock. wrap, if not nil, is put around each server that the lock uses. Notices of the lock, such as a loss, go nowhere.
func (c *Client) Open(spec impls.Spec, opts impls.Options, wrap func(impls.Server) impls.Server) *Lock {
	all := c.servers
	if spec.Resends {
		all = []*server{c.resending}
	}
	servers := links{servers: all}.forLock()
	for i := range servers {
		if wrap != nil {
			servers[i] = wrap(servers[i])
		}
	}
	ctx, stop := context.WithCancel(c.ctx)
	e := &env{ctx: ctx, servers: servers, clock: c.clock, say: func(protocol.Message) {}, shared: c.shared}
	return &Lock{Lock: spec.New(e, opts), env: e, stop: stop}
}

// Acquire tries until the lock is granted, or for within; zero: once.
func (l *Lock) Acquire(ctx context.Context, within time.Duration, way waiting.Way) (bool, error) {
	return acquire(ctx, l.Lock, l.env, within, way)
}

// Close stops the lock's background tasks. It does not release the lock.
func (l *Lock) Close() {
	l.stop()
	l.env.tasks.Wait()
}
