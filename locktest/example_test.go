package locktest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/locktest"
)

// ordersLock is a lock by SET NX PX without a client library.
func ordersLock(env locktest.Env) (locktest.Lock, error) {
	const release = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
	token := ""
	return env.Lock(locktest.Funcs{
		TryLock: locktest.Bool(func(ctx context.Context) (bool, error) {
			mine := rand.Text()
			reply, err := env.Do(ctx, "SET", env.Name, mine, "NX", "PX", env.Lease.Milliseconds())
			if reply != nil {
				token = mine
			}
			return reply != nil, err
		}),
		Unlock: locktest.Bool(func(ctx context.Context) (bool, error) {
			removed, err := env.Do(ctx, "EVAL", release, 1, env.Name, token)
			return removed == int64(1), err
		}),
	})
}

// A library's test plays every scenario, each in a subtest.
func ExampleRun() {
	TestOrders := func(t *testing.T) {
		locktest.Run(t, locktest.Subject{Promises: locktest.Lease, New: ordersLock})
	}
	_ = TestOrders
}

// A search goes past what is known, and fails if it finds anything else.
func ExampleExplore() {
	TestOrders := func(t *testing.T) {
		subject := locktest.Subject{Promises: locktest.Lease, New: ordersLock}
		locktest.Explore(t, subject, locktest.Search{For: time.Minute, Except: []checker.Name{"ghost-lock"}})
	}
	_ = TestOrders
}

// A client library connects by Dial to Addrs.
func ExampleEnv_Lock() {
	newLock := func(env locktest.Env) (locktest.Lock, error) {
		client := redis.NewClient(&redis.Options{Addr: env.Addrs[0], Dialer: env.Dial, MaxRetries: -1})
		return env.Lock(locktest.Funcs{
			TryLock: locktest.Bool(func(ctx context.Context) (bool, error) {
				return client.SetNX(ctx, env.Name, env.Client, env.Lease).Result()
			}),
			Unlock: func(ctx context.Context) error { return client.Del(ctx, env.Name).Err() },
			Close:  func() { _ = client.Close() },
		})
	}
	TestOrders := func(t *testing.T) { locktest.Run(t, locktest.Subject{Promises: locktest.Lease, New: newLock}) }
	_ = TestOrders
}

func ExampleBool() {
	refuses := locktest.Bool(func(context.Context) (bool, error) { return false, nil })
	fmt.Println(refuses(context.Background()) == locktest.ErrRefused)
	// Output: true
}

// TestExamples: the lock of the examples is sound.
func TestExamples(t *testing.T) {
	subject := locktest.Subject{Promises: locktest.Lease, New: ordersLock}
	t.Run("run", func(t *testing.T) { locktest.Run(t, subject) })
	locktest.Explore(t, subject, locktest.Search{Seed: 1, Schedules: 300, For: time.Minute})
}
