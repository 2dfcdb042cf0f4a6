// Package redisclient makes clients for what the lab itself asks of a Redis, and for tests that look at one. Whoever uses it does not name
// go-redis's client: in each package that does, a compiler goes through all of its thousand commands.
//
// It owns how such clients behave: what they send is sent once, and they send nothing unasked. It must not know locks, nor what is asked.
package redisclient

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Client is a client of one server. It is safe for concurrent use.
type Client interface {
	redis.Cmdable
	Do(ctx context.Context, args ...any) *redis.Cmd
	Wait(ctx context.Context, replicas int, timeout time.Duration) *redis.IntCmd
	Close() error
}

// Settings of a client. The zero value is the library's own.
type Settings struct {
	Connections int           // how many at most
	Timeout     time.Duration // of each reply; negative: none
	// Dial connects instead of the library, which repeats what fails.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// New is a client of the server at an address. It connects when it is used.
func New(addr string, s Settings) Client {
	return redis.NewClient(&redis.Options{
		Addr:                     addr,
		Dialer:                   s.Dial,
		Protocol:                 2,
		DisableIdentity:          true,
		MaxRetries:               -1,
		DialerRetries:            1,
		PoolSize:                 s.Connections,
		ContextTimeoutEnabled:    true,
		ReadTimeout:              s.Timeout,
		WriteTimeout:             s.Timeout,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}
