package libraries

import (
	"context"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/locktest"
)

func TestRedislock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		Name: "orders", Promises: locktest.Lease,
		New: func(env locktest.Env) locktest.Lock { return newRedislock(env, env.Redis) },
	})
}

// TestExploreRedislock searches for a moment. A search that finds nothing proves nothing.
func TestExploreRedislock(t *testing.T) {
	locktest.Explore(t, locktest.Subject{
		Name: "orders", Promises: locktest.Lease,
		New: func(env locktest.Env) locktest.Lock { return newRedislock(env, env.Redis) },
	}, locktest.Search{Schedules: 300, For: time.Minute})
}

// newRedislock is one client's lock by redislock.
func newRedislock(env locktest.Env, client redis.Scripter) locktest.Lock {
	locks := redislock.New(client)
	var held *redislock.Lock
	return locktest.Funcs{
		Try: func(ctx context.Context) (err error) {
			lock, err := locks.Obtain(ctx, env.Name, env.Lease, nil)
			if err == nil {
				held = lock
			}
			return err
		},
		Unlock:  func(ctx context.Context) error { return held.Release(ctx) },
		Extend:  func(ctx context.Context) error { return held.Refresh(ctx, env.Lease, nil) },
		Refused: []error{redislock.ErrNotObtained, redislock.ErrLockNotHeld},
	}.Lock()
}

// TestExploreRedislockInProcess searches without connections: redislock needs nothing but a redis.Scripter.
func TestExploreRedislockInProcess(t *testing.T) {
	locktest.Explore(t, locktest.Subject{
		Name: "orders", Promises: locktest.Lease,
		New: func(env locktest.Env) locktest.Lock { return newRedislock(env, env.Scripter) },
	}, locktest.Search{Schedules: 3000, For: time.Minute})
}
