package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// Client is a client without a process of its own and without the protocol, for programs that measure locks. It has connections of its own,
// and state that its locks share, as a client process has. Its methods may be called by several goroutines at once.
type Client struct {
	ctx    context.Context
	cancel context.CancelFunc
	addr   string // of the first server
	clock  *clock
	shared *shared
	// servers are in the order of the addresses; resending is the first once more, through the library's defaults.
	servers   []server
	resending server
	keepers   []string // the addresses of a ZooKeeper, of which each lock has a session of its own; then there are no servers
	service   string   // the address of a service to which each lock connects by itself; then there are no servers
}

// Wrap is put around what a lock uses; a nil function: nothing is.
type Wrap struct {
	Server  func(impls.Server) impls.Server
	Session func(impls.Session) impls.Session
}

// ZooKeeperAddr is the address of a ZooKeeper as Dial takes it.
func ZooKeeperAddr(addr string) string { return protocol.ZooKeeperScheme + addr }

// EtcdAddr is the address of an etcd as Dial takes it, for locks that connect to it by themselves.
func EtcdAddr(addr string) string { return protocol.EtcdScheme + addr }

// PostgresAddr is the address of a PostgreSQL as Dial takes it, likewise.
func PostgresAddr(addr string) string { return protocol.PostgresScheme + addr }

// Dial connects a client to lock servers, one at least. Each lock connects to a ZooKeeper by itself; see ZooKeeperAddr. ctx ends the client's background tasks; Close is still needed.
func Dial(ctx context.Context, addrs ...string) (*Client, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &Client{ctx: ctx, cancel: cancel, addr: addrs[0], clock: newClock(), shared: &shared{values: make(map[string]any)}}
	if isKeeper(addrs[0]) {
		c.keepers = keeperAddrs(addrs)
		return c, nil
	}
	if isService(addrs[0]) {
		c.service = serviceAddr(addrs[0])
		return c, nil
	}
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

// Server is the first lock server. On a ZooKeeper there is none.
func (c *Client) Server() impls.Server { return c.servers[0] }

// Close ends the client's tasks and connections. Its locks must have been closed.
func (c *Client) Close() error {
	c.cancel()
	var errs []error
	for _, server := range c.servers {
		errs = append(errs, server.close())
	}
	if c.resending != nil {
		errs = append(errs, c.resending.close())
	}
	return errors.Join(errs...)
}

// Lock is a lock of a Client. One goroutine at a time uses it.
type Lock struct {
	impls.Lock // itself, which may have more abilities

	env    *env
	keeper *keeper // the lock's session with a ZooKeeper; nil: none
	stop   context.CancelFunc
}

// Open makes a lock. On a ZooKeeper it begins a session with the lease for a time-out, which may fail. Notices of the lock, such as a loss, go
// nowhere.
func (c *Client) Open(spec impls.Spec, opts impls.Options, wrap Wrap) (*Lock, error) {
	if err := checkService(spec, c.addr); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(c.ctx)
	l := &Lock{env: &env{ctx: ctx, clock: c.clock, say: func(protocol.Message) {}, shared: c.shared}, stop: stop}
	if c.keepers != nil {
		var err error
		if l.keeper, err = dialKeeper(ctx, c.keepers, opts.Lease); err != nil {
			stop()
			return nil, fmt.Errorf("a session with %s: %w", c.keepers[0], err)
		}
		l.env.session = l.keeper
		if wrap.Session != nil {
			l.env.session = wrap.Session(l.keeper)
		}
	}
	l.env.servers = c.serversFor(spec, wrap)
	opts.Service = c.service
	l.Lock = spec.New(l.env, opts)
	if connected, ok := l.Lock.(impls.Connected); ok {
		if err := connected.Connect(ctx); err != nil {
			l.Close()
			return nil, fmt.Errorf("connecting to %s: %w", c.service, err)
		}
	}
	return l, nil
}

// serversFor are the lock servers as a lock sees them.
func (c *Client) serversFor(spec impls.Spec, wrap Wrap) []impls.Server {
	all := c.servers
	if spec.Resends {
		all = []server{c.resending}
	}
	servers := links{servers: all}.forLock()
	for i := range servers {
		if wrap.Server != nil {
			servers[i] = wrap.Server(servers[i])
		}
	}
	return servers
}

// Acquire tries until the lock is granted, or for within; zero: once.
func (l *Lock) Acquire(ctx context.Context, within time.Duration, way waiting.Way) (bool, error) {
	return acquire(ctx, l.Lock, l.env, within, way)
}

// Close stops the lock's background tasks. It does not release the lock; on a ZooKeeper the lock ends with its session.
func (l *Lock) Close() {
	l.stop()
	l.env.tasks.Wait()
	if l.keeper != nil {
		l.keeper.close()
	}
}
