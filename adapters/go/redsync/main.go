// Command redsync is a client of the lab for github.com/go-redsync/redsync on go-redis.
//
// It owns how the library's errors are answered. It must not know scripts, faults or histories.
package main

import (
	"errors"

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

func (l *lock) acquire(op *client.Operation) (bool, error) {
	err := l.TryLockContext(op)
	return said(err == nil, err)
}

func (l *lock) release(op *client.Operation) (bool, error) { return said(l.UnlockContext(op)) }
func (l *lock) renew(op *client.Operation) (bool, error)   { return said(l.ExtendContext(op)) }

func main() {
	hello := map[string]any{"name": "redsync", "about": "redsync 4.18.1 on go-redis 9.23.0"}
	hello["promises"] = []string{"exclusion", "ends-with-lease", "release-by-owner", "renew-by-owner", "crash-safe", "ignores-clocks"}
	verbs := client.Verbs[*lock]{Release: (*lock).release}
	verbs.Acquire, verbs.Renew = redisclient.Limited((*lock).acquire), redisclient.Limited((*lock).renew)
	redisclient.Serve(hello, func(o redisclient.Options) *lock {
		options := []redsync.Option{redsync.WithExpiry(o.Lease), redsync.WithFailFast(o.Has("failfast"))}
		if o.Has("setnx") {
			options = append(options, redsync.WithSetNXOnExtend())
		}
		return &lock{redsync.New(redisclient.Each(o, goredis.NewPool)...).NewMutex(o.Key, options...), o}
	}, verbs, "once", "majority", "setnx", "failfast")
}
