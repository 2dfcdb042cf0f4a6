package waiting

import (
	"context"
	"time"

	"github.com/locklab/locklab/impls"
)

// Wake waits until the lock's release wakes it, at most until the end of the holder's lease if the lock knows it. Without a subscription
// it sleeps for fallback between tries. The lock must be a Waker.
func Wake(fallback time.Duration) Way {
	return func(env impls.Env, lock impls.Lock) Waiter { return &woken{env: env, lock: lock, fallback: fallback} }
}

type woken struct {
	env      impls.Env
	lock     impls.Lock
	fallback time.Duration
	wakeups  impls.Subscription // nil before the first wait
	broken   bool
}

// Wait subscribes the first time and returns at once: the lock may have been released before the subscription.
func (w *woken) Wait(ctx context.Context) error {
	if w.broken {
		return w.env.Sleep(ctx, w.fallback)
	}
	if w.wakeups == nil {
		return w.subscribe(ctx)
	}
	call, cancel := w.alarm(ctx)
	defer cancel()
	if _, err := w.wakeups.Receive(call); err != nil && call.Err() == nil {
		w.broken = true
	}
	return ctx.Err()
}

func (w *woken) subscribe(ctx context.Context) error {
	wakeups, err := w.lock.(impls.Waker).Wakeups(ctx)
	if err != nil {
		w.broken = true
		return ctx.Err()
	}
	w.wakeups = wakeups
	return nil
}

// alarm ends with the holder's lease, if the lock knows its end.
func (w *woken) alarm(ctx context.Context) (context.Context, context.CancelFunc) {
	if hinter, ok := w.lock.(impls.Hinter); ok && hinter.RetryAfter() > 0 {
		return w.env.WithTimeout(ctx, hinter.RetryAfter())
	}
	return context.WithCancel(ctx)
}

func (w *woken) End() {
	if w.wakeups != nil {
		w.wakeups.Close()
	}
}
