package waiting

import (
	"context"
	"time"

	"github.com/locklab/locklab/impls"
)

// pauses is a Waiter that sleeps for next(waited) by the client's monotonic clock; waited is the time since the wait began.
type pauses struct {
	env   impls.Env
	next  func(waited time.Duration) time.Duration
	began time.Duration
}

func (p *pauses) Wait(ctx context.Context) error {
	pause := p.next(p.env.Monotonic() - p.began)
	if pause == impls.NoPause {
		return ctx.Err()
	}
	return p.env.Sleep(ctx, pause)
}

func (p *pauses) End() {}

func pausing(next func(waited time.Duration) time.Duration) Way {
	return func(env impls.Env, _ impls.Lock) Waiter { return &pauses{env: env, next: next, began: env.Monotonic()} }
}

// Spin tries again at once.
func Spin() Way { return Sleep(impls.NoPause) }

// Yield lets others run, and tries again.
func Yield() Way { return Sleep(0) }

// Sleep tries again every d.
func Sleep(d time.Duration) Way {
	return pausing(func(time.Duration) time.Duration { return d })
}

// SpinThenYield spins for first, then yields: article 000, W2, 1.
func SpinThenYield(first time.Duration) Way { return change(first, impls.NoPause, 0) }

// YieldThenSleep yields for first, then sleeps for d between tries: article 000, W2, 2.
func YieldThenSleep(first, d time.Duration) Way { return change(first, 0, d) }

func change(after, first, then time.Duration) Way {
	return pausing(func(waited time.Duration) time.Duration {
		if waited < after {
			return first
		}
		return then
	})
}

// Published pauses as the lock's source does, or waits in the default way if the source names no pause.
func Published(env impls.Env, lock impls.Lock) Waiter {
	way := Default(lock)
	if paced, ok := lock.(impls.Paced); ok {
		way = pausing(paced.Pause)
	}
	return way(env, lock)
}

// BackOff sleeps a random part, at least half, of a time that begins at first and doubles up to limit. The seed determines the sleeps.
func BackOff(first, limit time.Duration, seed uint64) Way {
	return func(env impls.Env, lock impls.Lock) Waiter {
		random, pause := source(seed), first
		return pausing(func(time.Duration) time.Duration {
			now := min(pause, limit)
			pause = min(2*now, limit)
			return now/2 + time.Duration(random.next()%uint64(now-now/2+1))
		})(env, lock)
	}
}

// source is splitmix64: locks must not use a source of randomness that the model does not control.
type source uint64

func (s *source) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
