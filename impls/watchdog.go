package impls

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
)

// bugUncheckedGrant is what node-redlock does.
const bugUncheckedGrant = "unchecked-grant"

func watchdog() Spec {
	bugs := []Bug{
		wallLeaseBug(""),
		{Name: bugUncheckedGrant, What: "a grant is not compared with its lease: one whose reply comes later is answered ok", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "watchdog",
			Idea:   "setpx-lua that renews its lease while it is held and reports a loss",
			Source: "article 003, A8, with the repairs of this lab",
			Promises: []Promise{
				MutualExclusion, ExclusionOnPause, ReleaseByOwner, RenewByOwner, CrashSafety, KnowsLoss,
			},
			Needs:    OneServer,
			Sends:    sends([]string{"SET", "EVAL"}, []string{"EVAL"}),
			Contract: history.Contract{Renews: true},
			Bugs:     bugs,
			Clocks:   []Clock{MonotonicClock},
		},
		New: func(env Env, opts Options) Lock {
			return &watchdogLock{env: env, opts: opts, clock: leaseClock{env, shownBy(opts, bugs)}}
		},
	}
}

type watchdogLock struct {
	env   Env
	opts  Options
	clock leaseClock
	token string // of our last hold
	stop  func() // ends the renewal and waits for it; nil: none runs

	// expires is the last confirmed end of the lease by our clock, in nanoseconds. The renewal writes it while the client reads it.
	expires atomic.Int64
}

// TryAcquire counts the lease from before the command is sent, so that the server's lease cannot end before ours. After an unknown outcome
// it tries once to remove the lock that it may have.
func (l *watchdogLock) TryAcquire(ctx context.Context) (bool, error) {
	l.halt()
	token, expires := l.env.Token(), l.clock.now()+l.opts.Lease
	held, err := stored(l.env.Server().Do(ctx, "SET", l.opts.Key, token, "NX", "PX", l.opts.Lease.Milliseconds()))
	if Classify(err) == history.Unknown {
		_, _ = l.takeBack(ctx, token) // the outcome stays unknown: the SET may still be on its way
		return false, err
	}
	if !held {
		return false, err
	}
	if l.clock.now() >= expires && !l.clock.bugs.has(bugUncheckedGrant) { // granted, but the reply came after the lease
		_, err := l.takeBack(ctx, token)
		return false, err
	}
	l.token = token
	l.expires.Store(int64(expires))
	l.stop = l.env.Go(func(ctx context.Context) { l.guard(ctx, token, expires) })
	return true, nil
}

// Release ends the renewal before it releases the lock, so that no renewal is sent afterwards.
func (l *watchdogLock) Release(ctx context.Context) (bool, error) {
	l.halt()
	return l.remove(ctx, l.token)
}

// Valid is the time left until the last confirmed end of the lease.
func (l *watchdogLock) Valid() time.Duration {
	return time.Duration(l.expires.Load()) - l.clock.now()
}

// guard renews the lease every third of it, until ctx ends or the lock is lost. A renewal confirmed after the last confirmed end does not
// revive the hold.
func (l *watchdogLock) guard(ctx context.Context, token string, expires time.Duration) {
	for l.env.Sleep(ctx, l.patience()) == nil {
		renewed, owner, err := l.renew(ctx, token, expires)
		if ctx.Err() != nil {
			return
		}
		if !owner || l.clock.now() >= expires {
			l.expires.Store(0)
			l.env.Lost(lossOf(owner, err))
			return
		}
		expires = renewed
		l.expires.Store(int64(expires))
		l.env.Renewed(expires - l.clock.now())
	}
}

// renew tries to restart the lease until a reply says whether the lock is ours, or the lease has ended by our clock. It returns the
// confirmed end of the lease.
func (l *watchdogLock) renew(ctx context.Context, token string, expires time.Duration) (_ time.Duration, owner bool, err error) {
	script := &Script{Source: compareAndExpire}
	keys := []string{l.opts.Key}
	for {
		began := l.clock.now()
		left := expires - began
		if left <= 0 || ctx.Err() != nil {
			return expires, true, err
		}
		attempt, cancel := l.env.WithTimeout(ctx, min(left, l.patience()))
		owner, err = applied(l.env.Server().Eval(attempt, script, keys, token, l.opts.Lease.Milliseconds()))
		cancel()
		if err == nil {
			return began + l.opts.Lease, owner, nil
		}
		_ = l.env.Sleep(ctx, min(expires-l.clock.now(), l.patience()/4)) // ctx is checked above
	}
}

// takeBack removes the lock of an acquire that must not succeed, even if the acquire was cancelled.
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

// patience is the time between two renewals, and the bound of one background command.
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
