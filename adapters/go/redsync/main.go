// Command redsync is a client of the lab for github.com/go-redsync/redsync on go-redis.
//
// It owns how the library's errors are answered. It must not know scripts, faults or histories.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/locklab/locklab/adapters/go/internal/redisclient"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	*redsync.Mutex
	redisclient.Options
}

// said: after an error of a server the outcome is not known, unless ErrTaken says that a majority has refused. If ok, what errors there are, are a
// minority's.
func said(ok bool, err error) (bool, error) {
	taken, failed := (*redsync.ErrTaken)(nil), (*redsync.RedisError)(nil)
	if ok || errors.As(err, &taken) || !errors.As(err, &failed) { // also ErrFailed, ErrExtendFailed, ErrLockAlreadyExpired
		return ok, nil
	}
	return false, err
}

func (l *lock) Acquire(ctx context.Context) (client.Grant, error) {
	err := l.TryLockContext(ctx)
	ok, err := said(err == nil, err)
	return client.Grant{OK: ok, Valid: l.Valid()}, err
}

func (l *lock) Release(ctx context.Context) (bool, error) { return said(l.UnlockContext(ctx)) }
func (l *lock) Renew(ctx context.Context) (bool, error)   { return said(l.ExtendContext(ctx)) }

// Valid is what the library declares by Until. (Its own Valid is deprecated.)
func (l *lock) Valid() time.Duration { return time.Until(l.Until()) }

func main() {
	hello := client.Hello{Name: "redsync", About: "redsync 4.18.0 on go-redis 9.23.0"}
	hello.Promises = []string{"exclusion", "ends-with-lease", "release-by-owner", "renew-by-owner", "crash-safe", "ignores-clocks"}
	redisclient.Serve(hello, &lock{}, func(o redisclient.Options) client.Lock {
		options := []redsync.Option{redsync.WithExpiry(o.Lease), redsync.WithFailFast(o.Has("failfast"))}
		if o.Has("setnx") {
			options = append(options, redsync.WithSetNXOnExtend())
		}
		return &lock{redsync.New(redisclient.Each(o, goredis.NewPool)...).NewMutex(o.Key, options...), o}
	}, "once", "majority", "setnx", "failfast")
}
