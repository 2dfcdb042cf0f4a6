package impls

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
)

func watchdog() Spec {
	return Spec{
		Card: Card{
			Name:   "watchdog",
			Idea:   "setpx-lua that renews its lease while it is held and reports a loss",
			Source: "article 003, A8, with the repairs of this lab",
			Promises: []Promise{
				MutualExclusion, ExclusionOnPause, ReleaseByOwner, RenewByOwner, CrashSafety, KnowsLoss,
			},
			Needs:  OneServer,
			Sends:  sends([]string{"SET", "EVAL"}, []string{"EVAL"}),
			Renews: true,
		},
		New: func(env Env, opts Options) Lock { return &watchdogLock{env: env, opts: opts} },
	}
}

type watchdogLock struct {
	env   Env
	opts  Options
	token string // of our last hold
	stop  func() // ends the renewal and waits for it; nil: it does not run

	// expires is the last confirmed end of the lease by our clock, in nanoseconds since 1970. The renewal moves it while the
	// lock's user reads it.
	expires atomic.Int64
}

// TryAcquire counts the lease from before the command is sent: the server's lease cannot end earlier than ours. After an unknown
// outcome it tries once to take back what it may have got.
func (l *watchdogLock) TryAcquire(ctx context.Context) (bool, error) {
	l.halt()
	token, expires := l.env.Token(), l.env.Now().Add(l.opts.Lease)
	held, err := stored(l.env.Server().Do(ctx, "SET", l.opts.Key, token, "NX", "PX", l.opts.Lease.Milliseconds()))
	if Classify(err) == history.Unknown {
		_, _ = l.takeBack(ctx, token) // the outcome stays unknown: the SET may still be on its way
		return false, err
	}
	if !held {
		return false, err
	}
	if !l.env.Now().Before(expires) { // granted, but over before we knew
		_, err := l.takeBack(ctx, token)
		return false, err
	}
	l.token = token
	l.expires.Store(expires.UnixNano())
	l.stop = l.env.Go(func(ctx context.Context) { l.guard(ctx, token, expires) })
	return true, nil
}

// Release ends the renewal before it lets go of the lock, so that no renewal of ours is sent afterwards.
func (l *watchdogLock) Release(ctx context.Context) (bool, error) {
	l.halt()
	return l.remove(ctx, l.token)
}

// Valid is the time left until the last confirmed end of the lease.
func (l *watchdogLock) Valid() time.Duration {
	return time.Duration(l.expires.Load() - l.env.Now().UnixNano())
}

// guard renews the lease every third of it, until ctx ends or the lock is lost. A hold that has ended does not come back: a
// renewal that is confirmed after the last confirmed end is too late.
func (l *watchdogLock) guard(ctx context.Context, token string, expires time.Time) {
	for l.env.Sleep(ctx, l.patience()) == nil {
		renewed, owner, err := l.renew(ctx, token, expires)
		if ctx.Err() != nil {
			return
		}
		if !owner || !l.env.Now().Before(expires) {
			l.expires.Store(0)
			l.env.Lost(lossOf(owner, err))
			return
		}
		expires = renewed
		l.expires.Store(expires.UnixNano())
		l.env.Renewed(expires.Sub(l.env.Now()))
	}
}

// renew tries to start the lease anew until it is told whether the lock is ours, or until the lease has ended by our account.
// It returns the confirmed end of the lease.
func (l *watchdogLock) renew(ctx context.Context, token string, expires time.Time) (_ time.Time, owner bool, err error) {
	script := &Script{Source: compareAndExpire}
	keys := []string{l.opts.Key}
	for {
		began := l.env.Now()
		left := expires.Sub(began)
		if left <= 0 || ctx.Err() != nil {
			return expires, true, err
		}
		attempt, cancel := l.env.WithTimeout(ctx, min(left, l.patience()))
		owner, err = applied(l.env.Server().Eval(attempt, script, keys, token, l.opts.Lease.Milliseconds()))
		cancel()
		if err == nil {
			return began.Add(l.opts.Lease), owner, nil
		}
		_ = l.env.Sleep(ctx, min(expires.Sub(l.env.Now()), l.patience()/4)) // ctx is looked at above
	}
}

// takeBack removes what an acquire that is not to succeed may have got, also if the acquire itself has been given up.
func (l *watchdogLock) takeBack(ctx context.Context, token string) (bool, error) {
	ctx, cancel := l.env.WithTimeout(context.WithoutCancel(ctx), l.patience())
	defer cancel()
	return l.remove(ctx, token)
}

func (l *watchdogLock) remove(ctx context.Context, token string) (bool, error) {
	script := &Script{Source: compareAndDelete}
	return applied(l.env.Server().Eval(ctx, script, []string{l.opts.Key}, token))
}

// halt ends the renewal of the last hold.
func (l *watchdogLock) halt() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	l.expires.Store(0)
}

// patience is the time between two renewals, and how long one command in the background is waited for.
func (l *watchdogLock) patience() time.Duration { return l.opts.Lease / 3 }

func lossOf(owner bool, err error) string {
	switch {
	case !owner:
		return "the renewal found that the lock is no longer ours"
	case err != nil:
		return fmt.Sprintf("no renewal was confirmed before the lease ended: %v", err)
	}
	return "the lease had ended before it could be renewed"
}
