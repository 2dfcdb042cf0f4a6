package calls

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Library is what a lock is made of whose library has a queue, only waits, and cancels no call.
type Library[L any] struct {
	Fresh         func() L
	Lock, Unlock  func(L) error
	Queue         func() (int, error) // how many are in the queue
	Taken, Unheld []error             // refusals of Lock, and of Unlock
}

// Queued is a lock of such a library. A call that is given up is left to itself; after a Lock that is given up a fresh lock takes its place.
type Queued[L any] struct {
	library Library[L]
	own     *turn[L]
	left    atomic.Int64 // how many calls of Lock were given up, and have not ended
}

// turn is a lock that serves one call at a time.
type turn[L any] struct {
	lock  L
	guard sync.Mutex
}

var errQueue = errors.New("others are in the queue")

// NewQueued makes a lock.
func NewQueued[L any](library Library[L]) *Queued[L] {
	return &Queued[L]{library: library, own: &turn[L]{lock: library.Fresh()}}
}

// Try acquires the lock if nobody else is in the queue.
func (q *Queued[L]) Try(ctx context.Context) (bool, error) {
	return q.enter(ctx, func(own L) error {
		left := q.left.Load() // before the queue is read: they leave it first
		queue, err := q.library.Queue()
		switch {
		case err != nil:
			return err
		case int64(queue) > left:
			return errQueue
		}
		return q.library.Lock(own)
	})
}

// Wait acquires the lock within a time. When that is over it reads the queue, so that the lab sees whether the lock is free.
func (q *Queued[L]) Wait(ctx context.Context, within time.Duration) (bool, error) {
	limited, stop := context.WithTimeout(ctx, within)
	defer stop()
	done, err := q.enter(limited, q.library.Lock)
	if err != nil && err == limited.Err() && ctx.Err() == nil {
		err = Leave(ctx, func() error { _, err := q.library.Queue(); return err }, nil)
	}
	return done, err
}

// Release releases the lock when the calls before have ended.
func (q *Queued[L]) Release(ctx context.Context) (bool, error) {
	return Outcome(Leave(ctx, q.own.inTurn(q.library.Unlock), nil), q.library.Unheld...)
}

// enter calls f when the calls before have ended. What is granted when nobody waits for it any more is given back.
func (q *Queued[L]) enter(ctx context.Context, f func(L) error) (bool, error) {
	own := q.own
	err := Leave(ctx, own.inTurn(f), func(err error) {
		defer q.left.Add(-1)
		if err == nil {
			_ = q.library.Unlock(own.lock) // nobody is left to be told
		}
	})
	if err != nil && err == ctx.Err() {
		q.own = &turn[L]{lock: q.library.Fresh()}
		q.left.Add(1)
	}
	return Outcome(err, slices.Concat(q.library.Taken, []error{errQueue})...)
}

func (o *turn[L]) inTurn(f func(L) error) func() error {
	return func() error {
		o.guard.Lock()
		defer o.guard.Unlock()
		return f(o.lock)
	}
}
