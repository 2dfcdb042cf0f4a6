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

// newRedsync is one client's lock by redsync.
func newRedsync(env locktest.Env) locktest.Lock {
	var pools []redsyncredis.Pool
	for _, client := range env.Servers {
		pools = append(pools, goredis.NewPool(client))
	}
	mutex := redsync.New(pools...).NewMutex(env.Name, redsync.WithExpiry(env.Lease), redsync.WithTries(1))
	refused := func(err error) error {
		if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) {
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
	return locktest.Funcs{
		Try:     func(ctx context.Context) error { return refused(mutex.TryLockContext(ctx)) },
		Unlock:  func(ctx context.Context) error { return done(mutex.UnlockContext(ctx)) },
		Extend:  func(ctx context.Context) error { return done(mutex.ExtendContext(ctx)) },
		Refused: []error{errRefused, redsync.ErrFailed, redsync.ErrExtendFailed, redsync.ErrLockAlreadyExpired},
	}.Lock()
}

var errRefused = errors.New("another client has the lock, or it is gone")
