package locktest

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// NewRedis is a client of go-redis: with the library's own retries and time-outs or, unless it resends, with none. Replies then come, or the scenario
// says that the client gives up.
func NewRedis(addr string, dial func(context.Context, string, string) (net.Conn, error), resends bool) *redis.Client {
	opts := &redis.Options{
		Addr: addr, Dialer: dial, Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if !resends {
		opts.PoolSize, opts.MaxRetries, opts.DialerRetries = 100, -1, 1
		opts.ReadTimeout, opts.WriteTimeout, opts.ContextTimeoutEnabled = -1, -1, true
	}
	return redis.NewClient(opts)
}
