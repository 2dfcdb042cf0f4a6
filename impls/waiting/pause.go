package waiting

import (
	"context"
	"time"

	"github.com/locklab/locklab/impls"
)

// pauses is a Waiter that sleeps, by the client's clock, for as long as next says. waited is how long it has waited so far.
type pauses struct {
	env   impls.Env
	next  func(waited time.Duration) time.Duration
	began time.Time
}

func (p *pauses) Wait(ctx context.Context) error {
	pause := p.next(p.env.Now().Sub(p.began))
	if pause == spinning {
		return ctx.Err()
	}
	return p.env.Sleep(ctx, pause)
}

func (p *pauses) End() {}

// spinning is the pause of a client that does not even yield.
const spinning = time.Duration(-1)

func pausing(next func(waited time.Duration) time.Duration) Way {
	return func(env impls.Env, _ impls.Lock) Waiter { return &pauses{env: env, next: next, began: env.Now()} }
}

// Spin tries again at once.
func Spin() Way { return Sleep(spinning) }

// Yield lets others run, and tries again.
func Yield() Way { return Sleep(0) }

// Sleep tries again every d.
func Sleep(d time.Duration) Way {
	return pausing(func(time.Duration) time.Duration { return d })
}

// SpinThenYield spins for some time, then yields: article 000, W2, 1.
func SpinThenYield(first time.Duration) Way { return change(first, spinning, 0) }

// YieldThenSleep yields for some time, then sleeps: article 000, W2, 2.
func YieldThenSleep(first, d time.Duration) Way { return change(first, 0, d) }

func change(after, first, then time.Duration) Way {
	return pausing(func(waited time.Duration) time.Duration {
		if waited < after {
			return first
		}
		return then
	})
}

// BackOff sleeps a random part, at least half, of a time that begins at first and doubles with each try up to limit. The same
// seed gives the same sleeps.
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

// source is the generator of numbers called splitmix64. Locks and what is around them draw from nothing that the model does not
// own.
type source uint64

func (s *source) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
