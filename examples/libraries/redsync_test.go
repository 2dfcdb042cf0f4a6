package libraries

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/locklab/locklab/locktest"
)

func TestRedsync(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		Name: "orders", Promises: locktest.Lease,
		New: func(env locktest.Env) locktest.Lock { return newRedsync(env) },
	})
}

// TestExploreRedsync: go-redis sends a release again when its reply is lost. The lock is gone by then, and redsync says that it was not its own (S06; seen
// from redis/go-redis#2985).
func TestExploreRedsync(t *testing.T) {
	locktest.Explore(t, locktest.Subject{
		Name: "orders", Promises: locktest.Lease, Resends: true,
		New: func(env locktest.Env) locktest.Lock { return newRedsync(env) },
	}, locktest.Search{Seed: 1, For: 2 * time.Minute, Expect: []locktest.AnomalyName{"false-alarm"}})
}

// TestExploreRedsyncExtension: with WithSetNXOnExtend an extension makes the key anew where there is none. One that was given up and arrives late does
// so with a token that nobody has any more (S19): the lock is nobody's, for a lease. Plain redsync has no such schedule among
// the next thousand.
func TestExploreRedsyncExtension(t *testing.T) {
	search := locktest.Search{Seed: 4_000, Turns: 4, Faults: 6, For: 2 * time.Minute, Expect: []locktest.AnomalyName{"ghost-lock", "unreleasable"}}
	locktest.Explore(t, locktest.Subject{
		Name: "orders", Promises: locktest.Lease,
		New: func(env locktest.Env) locktest.Lock { return newRedsync(env, redsync.WithSetNXOnExtend()) },
	}, search)

	search.Schedules, search.Expect = 1000, nil
	locktest.Explore(t, locktest.Subject{
		Name: "orders", Promises: locktest.Lease,
		New: func(env locktest.Env) locktest.Lock { return newRedsync(env) },
	}, search)
}

// TestRedsyncMajority is redsync as it is meant: on three servers.
func TestRedsyncMajority(t *testing.T) {
	subject := locktest.Subject{
		Name: "orders", Promises: locktest.Majority, Servers: 3,
		New: func(env locktest.Env) locktest.Lock { return newRedsync(env) },
	}
	locktest.Run(t, subject)
	locktest.Explore(t, subject, locktest.Search{Turns: 3, Faults: 4, Schedules: 300, For: time.Minute})
}

// newRedsync is one client's lock by redsync.
func newRedsync(env locktest.Env, options ...redsync.Option) locktest.Lock {
	var pools []redsyncredis.Pool
	for _, client := range env.Servers {
		pools = append(pools, goredis.NewPool(client))
	}
	options = append(options, redsync.WithExpiry(env.Lease), redsync.WithTries(1))
	mutex := redsync.New(pools...).NewMutex(env.Name, options...)
	// What a server said counts only if all have answered: redsync joins what each of them came to.
	refused := func(err error) error {
		unanswered := (*redsync.RedisError)(nil)
		switch taken := (*redsync.ErrTaken)(nil); {
		case errors.As(err, &unanswered):
			return unanswered
		case errors.As(err, &taken):
			return errRefused
		}
		return err
	}
	done := func(ok bool, err error) error {
		if err == nil && !ok {
			return errRefused
		}
		return refused(err)
	}
	lock := locktest.Funcs{
		Try:     func(ctx context.Context) error { return refused(mutex.TryLockContext(ctx)) },
		Unlock:  func(ctx context.Context) error { return done(mutex.UnlockContext(ctx)) },
		Extend:  func(ctx context.Context) error { return done(mutex.ExtendContext(ctx)) },
		Refused: []error{errRefused, redsync.ErrFailed, redsync.ErrExtendFailed, redsync.ErrLockAlreadyExpired},
	}
	if len(env.Servers) > 1 {
		lock.Valid = func() time.Duration { return time.Until(mutex.Until()) }
	}
	return lock.Lock()
}

var errRefused = errors.New("another client has the lock, or it is gone")
