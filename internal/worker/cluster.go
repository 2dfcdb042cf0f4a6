package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// connection is a client of go-redis.
type connection interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	Close() error
	// node is the client of the process that has the keys of locks.
	node(ctx context.Context) (*redis.Client, error)
	// moved is the client of the process that a MOVED error names; nil: it is none.
	moved(ctx context.Context, err error) *redis.Client
}

// single is the client of one server. It embeds nothing: the library's clients have hundreds of methods, each of which would be compiled again.
type single struct{ client *redis.Client }

func (c single) Do(ctx context.Context, args ...any) *redis.Cmd { return c.client.Do(ctx, args...) }

func (c single) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	return c.client.Subscribe(ctx, channels...)
}

func (c single) Close() error { return c.client.Close() }

func (c single) node(context.Context) (*redis.Client, error) { return c.client, nil }

func (c single) moved(context.Context, error) *redis.Client { return nil }

// clustered is the client of a Redis Cluster: it sends each command to the node that has the slot, and follows MOVED and ASK.
type clustered struct {
	cluster *redis.ClusterClient
	tag     string
}

func (c clustered) Do(ctx context.Context, args ...any) *redis.Cmd { return c.cluster.Do(ctx, args...) }

func (c clustered) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	return c.cluster.Subscribe(ctx, channels...)
}

func (c clustered) Close() error { return c.cluster.Close() }

func (c clustered) node(ctx context.Context) (*redis.Client, error) {
	return c.cluster.MasterForKey(ctx, c.tag)
}

func (c clustered) moved(ctx context.Context, err error) *redis.Client {
	var refusal impls.ServerError
	if !errors.As(err, &refusal) || !strings.HasPrefix(string(refusal), "MOVED ") {
		return nil
	}
	c.cluster.ReloadState(ctx)
	addr := refusal[strings.LastIndexByte(string(refusal), ' ')+1:]
	var found atomic.Value
	_ = c.cluster.ForEachShard(ctx, func(_ context.Context, node *redis.Client) error {
		if node.Options().Addr == string(addr) {
			found.Store(node)
		}
		return nil
	})
	client, _ := found.Load().(*redis.Client)
	return client
}

// newClustered makes the client of a cluster, with the time-outs of another. resends: with the library's defaults; else what has broken is
// reported at once, and only what a node has redirected is sent again.
func newClustered(addr protocol.ClusterAddr, like *redis.Options, resends bool) clustered {
	links := map[string]string{}
	opts := &redis.ClusterOptions{
		MaxRetries: like.MaxRetries, DialerRetries: like.DialerRetries,
		DialTimeout: like.DialTimeout, ReadTimeout: like.ReadTimeout, WriteTimeout: like.WriteTimeout,
		PoolTimeout: like.PoolTimeout, PoolSize: like.PoolSize, ContextTimeoutEnabled: like.ContextTimeoutEnabled,
		DisableIdentity: true,
	}
	for _, node := range addr.Nodes {
		links[node.Announced] = node.Addr
		opts.Addrs = append(opts.Addrs, node.Announced)
	}
	dialer := &net.Dialer{Timeout: like.DialTimeout}
	opts.Dialer = func(ctx context.Context, _, announced string) (net.Conn, error) {
		link, known := links[announced]
		if !known {
			return nil, fmt.Errorf("the cluster names %s, to which there is no link", announced)
		}
		return dialer.DialContext(ctx, "tcp", link)
	}
	opts.NewClient = func(opt *redis.Options) *redis.Client {
		client := redis.NewClient(quiet(opt))
		if !resends {
			client.AddHook(settle{})
		}
		return client
	}
	return clustered{redis.NewClusterClient(opts), addr.Tag}
}

// settle has the library take no error for one after which it sends a command again, except the replies of nodes. It would resend what may have been
// carried out.
type settle struct{}

func (settle) DialHook(next redis.DialHook) redis.DialHook { return next }

func (settle) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return settled(next(ctx, cmd)) }
}

func (settle) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return settled(next(ctx, cmds)) }
}

func settled(err error) error {
	var reply redis.Error
	if err == nil || errors.As(err, &reply) {
		return err
	}
	return errors.New(err.Error())
}
