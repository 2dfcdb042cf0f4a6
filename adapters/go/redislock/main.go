// Command redislock is a client of the lab for github.com/bsm/redislock on go-redis.
//
// It owns how the library's errors are answered. It must not know scripts, faults or histories.
package main

import (
	"context"
	"flag"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/adapters/go/internal/redisclient"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	client.Options
	redis redis.UniversalClient
	held  *redislock.Lock
}

func (l *lock) Acquire(ctx context.Context) (client.Grant, error) {
	held, err := redislock.Obtain(ctx, l.redis, l.Key, l.Lease, nil)
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
		return false, nil // Refresh panics
	}
	return client.Outcome(l.held.Refresh(ctx, l.Lease, nil), redislock.ErrNotObtained)
}

func (l *lock) Check(ctx context.Context) (bool, error) {
	if l.held == nil {
		return false, nil
	}
	left, err := l.held.TTL(ctx)
	return left > time.Duration(0), err
}

func (l *lock) Ping(ctx context.Context) error { return l.redis.Ping(ctx).Err() }

// ringLock is a lock on a Ring, which takes some heartbeats to notice that a server is down. Until then its user tries again after errors.
type ringLock struct{ *lock }

// pause is the time between two tries.
const pause = 20 * time.Millisecond

// Wait is not sure of a refusal after an error: the try that failed may have got the lock.
func (l ringLock) Wait(ctx context.Context, within time.Duration) (client.Grant, error) {
	var failed error
	for until := time.Now().Add(within); ; {
		grant, err := l.Acquire(ctx)
		if grant.OK {
			return grant, nil
		}
		if failed == nil {
			failed = err
		}
		if ctx.Err() != nil || !time.Now().Before(until) {
			return grant, failed
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func main() {
	once := flag.Bool("once", false, "send each command once (go-redis: MaxRetries -1)")
	ring := flag.Bool("ring", false, "use a go-redis Ring of several servers")
	flag.Parse()
	hello := client.Hello{Name: "redislock", About: "redislock 0.9.4 on go-redis 9.23.0", Resends: !*once}
	if *once {
		hello.Name, hello.About = "redislock-once", hello.About+", MaxRetries -1"
	}
	if *ring {
		hello.Name, hello.About, hello.Servers = "redislock-ring", "redislock 0.9.4 on a Ring of go-redis 9.23.0", "one"
	}
	hello.Promises = []string{"exclusion", "release-by-owner", "renew-by-owner", "crash-safe", "ignores-clocks"}
	client.Serve(hello, &lock{}, func(o client.Options) (client.Lock, error) {
		if *ring {
			return ringLock{&lock{Options: o, redis: redisclient.Ring(o.Servers)}}, nil
		}
		return &lock{Options: o, redis: redisclient.New(o.Servers[0], *once)}, nil
	})
}
