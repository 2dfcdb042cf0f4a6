package waiting

import (
	"context"
	"errors"
	"time"

	"github.com/locklab/locklab/impls"
)

// ByLock is a way to wait that ends when the lock says so.
func ByLock(way Way, lock impls.SelfTimed, within time.Duration) Way {
	return func(env impls.Env, l impls.Lock) Waiter {
		return &byLock{Waiter: way(env, l), enough: func(began time.Time) bool { return lock.WaitedEnough(began, within) }, began: env.Now()}
	}
}

type byLock struct {
	Waiter
	enough func(began time.Time) bool
	began  time.Time
}

// errEnough ends a wait.
var errEnough = errors.New("the lock has waited for long enough")

func (b *byLock) Wait(ctx context.Context) error {
	if b.enough(b.began) {
		return errEnough
	}
	return b.Waiter.Wait(ctx)
}
