package libraries

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/locktest"
)

func TestRedsync(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		Promises: locktest.Lease,
		New:      func(env locktest.Env) (locktest.Lock, error) { return newRedsync(env, goRedis) },
	})
}

// TestExploreRedsync: go-redis sends a release again when its reply is lost. The lock is gone by then, and redsync says that it was not its own (S06; seen
// from redis/go-redis#2985).
func TestExploreRedsync(t *testing.T) {
	locktest.Explore(t, locktest.Subject{
		Promises: locktest.Lease, Resends: true,
		New: func(env locktest.Env) (locktest.Lock, error) { return newRedsync(env, withRetries) },
	}, locktest.Search{Seed: 1, For: 2 * time.Minute, Expect: []checker.Name{"false-alarm"}})
}

// withRetries is a client with go-redis's own retries and time-outs.
func withRetries(env locktest.Env, addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, Dialer: env.Dial})
}

// TestExploreRedsyncExtension: with WithSetNXOnExtend an extension makes the key anew where there is none. One that was given up and arrives late does
// so with a token that nobody has any more (S19): the lock is nobody's, for a lease. Plain redsync has no such schedule among
// the next 300.
func TestExploreRedsyncExtension(t *testing.T) {
	search := locktest.Search{Seed: 4_000, Turns: 4, Faults: 6, For: 2 * time.Minute, Expect: []checker.Name{"ghost-lock", "unreleasable"}}
	locktest.Explore(t, locktest.Subject{
		Promises: locktest.Lease,
		New: func(env locktest.Env) (locktest.Lock, error) {
			return newRedsync(env, goRedis, redsync.WithSetNXOnExtend())
		},
	}, search)

	search.Schedules, search.Expect = 300, nil
	locktest.Explore(t, locktest.Subject{
		Promises: locktest.Lease,
		New:      func(env locktest.Env) (locktest.Lock, error) { return newRedsync(env, goRedis) },
	}, search)
}

// TestRedsyncMajority is redsync as it is meant: on three servers.
func TestRedsyncMajority(t *testing.T) {
	subject := locktest.Subject{
		Promises: locktest.Majority, Servers: 3,
		New: func(env locktest.Env) (locktest.Lock, error) { return newRedsync(env, goRedis) },
	}
	locktest.Run(t, subject)
	locktest.Explore(t, subject, locktest.Search{Turns: 3, Faults: 4, Schedules: 300, For: time.Minute})
}

// newRedsync is one client's lock by redsync.
func newRedsync(env locktest.Env, connect func(locktest.Env, string) *redis.Client, options ...redsync.Option) (locktest.Lock, error) {
	var pools []redsyncredis.Pool
	for _, addr := range env.Addrs {
		pools = append(pools, goredis.NewPool(connect(env, addr)))
	}
	mutex := redsync.New(pools...).NewMutex(env.Name, append(options, redsync.WithExpiry(env.Lease), redsync.WithTries(1))...)
	lock := locktest.Funcs{
		TryLock: told(mutex.TryLockContext),
		Unlock:  told(locktest.Bool(mutex.UnlockContext)),
		Renew:   told(locktest.Bool(mutex.ExtendContext)),
		Refused: []error{redsync.ErrFailed, redsync.ErrExtendFailed, redsync.ErrLockAlreadyExpired},
	}
	if len(env.Addrs) > 1 {
		lock.Valid = func() time.Duration { return time.Until(mutex.Until()) }
	}
	return env.Lock(lock)
}

// told is an operation that is refused only if all servers have answered: redsync joins what each of them came to.
func told(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := do(ctx)
		unanswered := (*redsync.RedisError)(nil)
		switch taken := (*redsync.ErrTaken)(nil); {
		case errors.As(err, &unanswered):
			return unanswered
		case errors.As(err, &taken):
			return locktest.ErrRefused
		}
		return err
	}
}
