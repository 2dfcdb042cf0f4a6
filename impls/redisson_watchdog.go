package impls

import (
	"context"
	"time"

	"github.com/locklab/locklab/history"
)

func redissonWatchdog() Spec {
	return Spec{
		Card: Card{
			Name:     "redisson-watchdog",
			Idea:     "setpx-lua renewed every third of its lease, as Redisson does it",
			Source:   "article 003, A8",
			Bug:      "the first failed renewal is the last: the lease expires while the client holds the lock, and it is not told",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SET"}, []string{"EVAL"}),
			Contract: history.Contract{Renews: true},
		},
		New: func(env Env, opts Options) Lock {
			return &redissonWatchdogLock{setpxLuaLock: setpxLuaLock{env: env, opts: opts}}
		},
	}
}

type redissonWatchdogLock struct {
	setpxLuaLock
	stop func() // ends the renewal of the last hold; nil: there is none
}

func (l *redissonWatchdogLock) TryAcquire(ctx context.Context) (bool, error) {
	held, err := l.setpxLuaLock.TryAcquire(ctx)
	if !held {
		return false, err
	}
	l.halt() // of a hold that was lost
	token, script := l.token, &Script{Source: compareAndExpire}
	l.stop = l.env.Go(func(ctx context.Context) {
		renewUntilFailure(ctx, l.env, l.opts.Lease, func(ctx context.Context) (bool, error) {
			return applied(l.env.Server().Eval(ctx, script, []string{l.opts.Key}, token, l.opts.Lease.Milliseconds()))
		})
	})
	return true, nil
}

func (l *redissonWatchdogLock) Release(ctx context.Context) (bool, error) {
	removed, err := l.setpxLuaLock.Release(ctx)
	l.halt()
	return removed, err
}

func (l *redissonWatchdogLock) halt() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// renewUntilFailure renews every third of the lease, until ctx ends, the lock is another's, or a renewal fails or is not answered before
// the next is due. It reports nothing.
func renewUntilFailure(ctx context.Context, env Env, lease time.Duration, renew func(context.Context) (bool, error)) {
	for env.Sleep(ctx, lease/3) == nil {
		attempt, cancel := env.WithTimeout(ctx, lease/3)
		owner, err := renew(attempt)
		cancel()
		if err != nil || !owner {
			return // the bug: the first failed renewal is the last
		}
	}
}
