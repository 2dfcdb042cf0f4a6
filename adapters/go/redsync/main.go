// Command redsync is a client of the lab for github.com/go-redsync/redsync on go-redis.
//
// It owns how the library's errors are answered. It must not know scripts, faults or histories.
package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/adapters/go/internal/redisclient"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	*redsync.Mutex
	redis []*redis.Client
}

// said: ErrTaken means that a majority has refused. After an error of a server the outcome is not known.
func said(ok bool, err error) (bool, error) {
	taken, failed := (*redsync.ErrTaken)(nil), (*redsync.RedisError)(nil)
	switch {
	case ok: // what errors there are, are a minority's
		return true, nil
	case errors.As(err, &taken) || !errors.As(err, &failed):
		return false, nil // also ErrFailed, ErrExtendFailed, ErrLockAlreadyExpired
	}
	return false, err
}

func (l *lock) Acquire(ctx context.Context) (client.Grant, error) {
	err := l.TryLockContext(ctx)
	ok, err := said(err == nil, err)
	if !ok {
		return client.Grant{}, err
	}
	return client.Grant{OK: true, Valid: l.Valid()}, nil
}

func (l *lock) Release(ctx context.Context) (bool, error) { return said(l.UnlockContext(ctx)) }
func (l *lock) Renew(ctx context.Context) (bool, error)   { return said(l.ExtendContext(ctx)) }

// Valid is what the library declares by Until. (Its own Valid is deprecated.)
func (l *lock) Valid() time.Duration { return time.Until(l.Until()) }

func (l *lock) Ping(ctx context.Context) (err error) {
	for _, server := range l.redis {
		err = errors.Join(err, server.Ping(ctx).Err())
	}
	return err
}

// variants are the options under test, beside the default ones.
var variants = map[string][]redsync.Option{"": nil, "-once": nil, "-setnx": {redsync.WithSetNXOnExtend()}, "-failfast": {redsync.WithFailFast(true)}}

func main() {
	var option string
	flag.StringVar(&option, "option", "", "setnx (WithSetNXOnExtend), failfast (WithFailFast(true)) or once (go-redis: MaxRetries -1)")
	majority := flag.Bool("majority", false, "use several servers")
	flag.Parse()
	hello := client.Hello{Name: "redsync", About: "redsync 4.18.0 on go-redis 9.23.0"}
	if *majority {
		hello.Name, hello.Servers = "redsync-majority", "majority"
	}
	if option != "" {
		option = "-" + option
		hello.Name += option
	}
	once := option == "-once"
	hello.Resends = !once
	hello.Promises = []string{"exclusion", "ends-with-lease", "release-by-owner", "renew-by-owner", "crash-safe", "ignores-clocks"}
	client.Serve(hello, &lock{}, func(o client.Options) (client.Lock, error) {
		l := &lock{}
		var pools []redsyncredis.Pool
		for _, server := range o.Servers {
			l.redis = append(l.redis, redisclient.New(server, once))
			pools = append(pools, goredis.NewPool(l.redis[len(l.redis)-1]))
		}
		l.Mutex = redsync.New(pools...).NewMutex(o.Key, append(variants[option], redsync.WithExpiry(o.Lease))...)
		return l, nil
	})
}
