package libraries

import (
	"context"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/locktest"
)

func redislockSubject(connect func(locktest.Env) *redis.Client) locktest.Subject {
	return locktest.Subject{Promises: locktest.Lease, New: func(env locktest.Env) (locktest.Lock, error) {
		locks := redislock.New(connect(env))
		var held *redislock.Lock
		return env.Lock(locktest.Funcs{
			TryLock: func(ctx context.Context) (err error) {
				held, err = locks.Obtain(ctx, env.Name, env.Lease, nil)
				return err
			},
			Lock: func(ctx context.Context) (err error) {
				held, err = locks.Obtain(ctx, env.Name, env.Lease, &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)})
				return err
			},
			Unlock: func(ctx context.Context) error { return held.Release(ctx) },
			Renew:  func(ctx context.Context) error { return held.Refresh(ctx, env.Lease, nil) },
			Held: locktest.Bool(func(ctx context.Context) (bool, error) {
				left, err := held.TTL(ctx)
				return left > 0, err
			}),
			Refused: []error{redislock.ErrNotObtained, redislock.ErrLockNotHeld},
		})
	}}
}

func TestRedislock(t *testing.T) { locktest.Run(t, redislockSubject(firstServer)) }

// TestExploreRedislock searches for a moment. A search that finds nothing proves nothing.
func TestExploreRedislock(t *testing.T) {
	locktest.Explore(t, redislockSubject(firstServer), locktest.Search{Schedules: 300, For: time.Minute})
}

// TestExploreRedislockInProcess searches without connections: redislock sends nothing but scripts.
func TestExploreRedislockInProcess(t *testing.T) {
	inProcess := func(env locktest.Env) *redis.Client {
		client := firstServer(env)
		client.AddHook(scripts{env.Do})
		return client
	}
	locktest.Explore(t, redislockSubject(inProcess), locktest.Search{Schedules: 1000, For: time.Minute})
}

// scripts has the scripts of a client carried out by a function.
type scripts struct {
	do func(ctx context.Context, args ...any) (any, error)
}

func (s scripts) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		value, err := s.do(ctx, cmd.Args()...)
		if err == nil && value == nil {
			err = redis.Nil
		}
		cmd.(*redis.Cmd).SetVal(value)
		cmd.SetErr(err)
		return err
	}
}

func (scripts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (scripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
