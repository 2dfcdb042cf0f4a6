// Package waiting owns the ways to wait for a lock that another client has: sleep, spin, back off, wake-ups. Only wake-ups need a special
// lock, a Waker. It must not know which lock it waits for.
package waiting

import (
	"context"

	"github.com/locklab/locklab/impls"
)

// Way begins a wait: it makes the Waiter for one acquire. The nil Way is that of a Blocking lock, which waits by itself.
type Way func(env impls.Env, lock impls.Lock) Waiter

// Waiter waits between the tries of one acquire. It is used by one goroutine.
type Waiter interface {
	// Wait returns when it is time for the next try, or when ctx has ended; then it returns the context's error.
	Wait(ctx context.Context) error
	// End frees the resources of the wait.
	End()
}

// Acquire tries until the lock is granted, an error occurs, or patience ends, after which it tries a last time. ctx is that of the tries,
// and patience ends with it. If patience has ended from the start, it tries once, without Patient.
func Acquire(ctx, patience context.Context, env impls.Env, lock impls.Lock, way Way) (held bool, err error) {
	if patience.Err() != nil {
		return lock.TryAcquire(ctx)
	}
	if way == nil {
		return lock.(impls.Blocking).Acquire(ctx, patience)
	}
	if patient, ok := lock.(impls.Patient); ok {
		if err := patient.Enter(ctx); err != nil {
			return false, err
		}
		defer func() {
			if left := patient.Leave(ctx, held); err == nil && !held {
				err = left
			}
		}()
	}
	waiter := way(env, lock)
	defer waiter.End()
	for last := false; ; {
		held, err := lock.TryAcquire(ctx)
		if held || err != nil || last {
			return held, err
		}
		err = waiter.Wait(patience)
		if err != nil && ctx.Err() != nil {
			return false, ctx.Err()
		}
		last = err != nil || patience.Err() != nil
	}
}
