// Command redislock is a client of the lab for github.com/bsm/redislock on go-redis.
//
// It owns how the library's errors are answered. It must not know scripts, faults or histories.
package main

import (
	"github.com/bsm/redislock"

	"github.com/locklab/locklab/adapters/go/internal/calls"
	"github.com/locklab/locklab/adapters/go/internal/redisclient"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	redisclient.Options
	held *redislock.Lock
}

func (l *lock) acquire(op *client.Operation) (bool, error) {
	held, err := redislock.Obtain(op, l.Redis[0], l.Key, l.Lease, nil)
	if err == nil {
		l.held = held
	}
	return calls.Outcome(err, redislock.ErrNotObtained)
}

func (l *lock) release(op *client.Operation) (bool, error) {
	return calls.Outcome(l.held.Release(op), redislock.ErrLockNotHeld)
}

func (l *lock) renew(op *client.Operation) (bool, error) {
	if l.held == nil {
		return false, nil // Refresh panics, and so does TTL
	}
	return calls.Outcome(l.held.Refresh(op, l.Lease, nil), redislock.ErrNotObtained)
}

func (l *lock) check(op *client.Operation) (bool, error) {
	if l.held == nil {
		return false, nil
	}
	left, err := l.held.TTL(op)
	return left > 0, err
}

func main() {
	hello := map[string]any{"name": "redislock", "about": "redislock 0.9.4 on go-redis 9.23.0"}
	hello["promises"] = []string{"exclusion", "release-by-owner", "renew-by-owner", "crash-safe", "ignores-clocks"}
	verbs := client.Verbs[*lock]{Acquire: (*lock).acquire, Release: (*lock).release, Renew: (*lock).renew, Check: (*lock).check}
	redisclient.Serve(hello, func(o redisclient.Options) *lock { return &lock{Options: o} }, verbs, "once", "ring")
}
