// Command redislock is a client of the lab for github.com/bsm/redislock on go-redis.
//
// It owns how the library's errors are answered. It must not know scripts, faults or histories.
package main

import (
	"context"

	"github.com/bsm/redislock"

	"github.com/locklab/locklab/adapters/go/internal/redisclient"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	redisclient.Options
	held *redislock.Lock
}

func (l *lock) Acquire(ctx context.Context) (client.Grant, error) {
	held, err := redislock.Obtain(ctx, l.Redis[0], l.Key, l.Lease, nil)
	if err == nil {
		l.held = held
	}
	ok, err := client.Outcome(err, redislock.ErrNotObtained)
	return client.Grant{OK: ok}, err
}

func (l *lock) Release(ctx context.Context) (bool, error) {
	return client.Outcome(l.held.Release(ctx), redislock.ErrLockNotHeld)
}

func (l *lock) Renew(ctx context.Context) (bool, error) {
	if l.held == nil {
		return false, nil // Refresh panics, and so does TTL
	}
	return client.Outcome(l.held.Refresh(ctx, l.Lease, nil), redislock.ErrNotObtained)
}

func (l *lock) Check(ctx context.Context) (bool, error) {
	if l.held == nil {
		return false, nil
	}
	left, err := l.held.TTL(ctx)
	return left > 0, err
}

func main() {
	hello := client.Hello{Name: "redislock", About: "redislock 0.9.4 on go-redis 9.23.0"}
	hello.Promises = []string{"exclusion", "release-by-owner", "renew-by-owner", "crash-safe", "ignores-clocks"}
	redisclient.Serve(hello, &lock{}, func(o redisclient.Options) client.Lock { return &lock{Options: o} }, "once", "ring")
}
