package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// followTime bounds how long a client may take to follow a primary. The lab has seen the Sentinels switch before it asks.
const followTime = 20 * time.Second

// follower is what a client knows of the primary, whom it finds through Sentinels.
type follower struct {
	protocol.SentinelAddr
	links   map[string]string // by announced address
	primary atomic.Value      // the announced address of the last node that was dialled
}

func newFollower(addr protocol.SentinelAddr) *follower {
	f := &follower{SentinelAddr: addr, links: map[string]string{}}
	for _, l := range addr.Sentinels {
		f.links[l.Announced] = l.Addr
	}
	for _, l := range addr.Nodes {
		f.links[l.Announced] = l.Addr
	}
	f.primary.Store("")
	return f
}

// dial connects to a server by the address that it announces. The connection goes through the client's link to it.
func (f *follower) dial(ctx context.Context, dialer *net.Dialer, addr string) (net.Conn, error) {
	link, known := f.links[addr]
	if !known {
		return nil, fmt.Errorf("a Sentinel names %s, to which there is no link", addr)
	}
	conn, err := dialer.DialContext(ctx, "tcp", link)
	if err != nil {
		return nil, err
	}
	for _, node := range f.Nodes {
		if node.Announced == addr {
			f.primary.Store(addr)
		}
	}
	return &located{conn.(*net.TCPConn), announced(addr)}, nil
}

// located is a connection that says the address that was dialled: the library compares it with that of the primary.
type located struct {
	*net.TCPConn
	remote announced
}

func (c *located) RemoteAddr() net.Addr { return c.remote }

type announced string

func (announced) Network() string  { return "tcp" }
func (a announced) String() string { return string(a) }

// options are those of a client that follows the primary, with the time-outs and retries of another.
func (f *follower) options(like *redis.Options) *redis.FailoverOptions {
	opts := &redis.FailoverOptions{
		MasterName: f.Name, DB: like.DB,
		MaxRetries: like.MaxRetries, DialerRetries: like.DialerRetries,
		DialTimeout: like.DialTimeout, ReadTimeout: like.ReadTimeout, WriteTimeout: like.WriteTimeout,
		PoolTimeout: like.PoolTimeout, PoolSize: like.PoolSize, ContextTimeoutEnabled: like.ContextTimeoutEnabled,
		DisableIdentity: true,
	}
	for _, sentinel := range f.Sentinels {
		opts.SentinelAddrs = append(opts.SentinelAddrs, sentinel.Announced)
	}
	dialer := &net.Dialer{Timeout: like.DialTimeout}
	opts.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) { return f.dial(ctx, dialer, addr) }
	return opts
}

// follow waits until the client's own library has found the primary again, and says whether it is another one than before. If it is, the library
// has closed all connections to the old one.
func (s *redisServer) follow(ctx context.Context) (switched bool, err error) {
	before := s.follower.primary.Load()
	ctx, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	for {
		if err = s.ping(ctx); err == nil {
			return s.follower.primary.Load() != before, nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return false, fmt.Errorf("it does not find the primary: %w", errors.Join(ctx.Err(), err))
		}
	}
}
