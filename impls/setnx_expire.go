package impls

import (
	"context"
	"fmt"
	"time"
)

// The bugs of the code published with article 004.
const (
	bugLongLease = "long-lease"
	bugAborted   = "aborted-release"
)

func setnxExpire() Spec {
	return Spec{
		Card: Card{
			Name:     "setnx-expire",
			Idea:     "SETNX, then EXPIRE; a refused client sets a missing expiry",
			Source:   "article 004, A5",
			Bug:      "between SETNX and EXPIRE, and between TTL and the repair, the lock can change owner",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SETNX", "EXPIRE", "TTL"}, []string{"WATCH", "GET", "DEL", "EXEC"}),
		},
		New: func(env Env, opts Options) Lock {
			return &setnxExpireLock{env: env, opts: opts, repairs: true, remove: watchedDelete}
		},
	}
}

func setnxExpireNorepair() Spec {
	spec := setnxExpire()
	spec.Name = "setnx-expire-norepair"
	spec.Idea = "SETNX, then EXPIRE"
	spec.Source = "articles 000 and 003, on the way to A5"
	spec.Bug = "a crash between SETNX and EXPIRE leaves a lock that never expires"
	spec.New = func(env Env, opts Options) Lock {
		return &setnxExpireLock{env: env, opts: opts, remove: watchedDelete}
	}
	return spec
}

func setnxExpirePublished() Spec {
	all := []Bug{
		{Name: bugLongLease, What: "the lease in ms is passed to a call that takes seconds: it ends 1,000 times too late"},
		{Name: bugAborted, What: "an aborted EXEC counts as success: release returns ok, and the lock stays"},
		wallClockBug(),
	}
	spec := setnxExpire()
	spec.Name = "setnx-expire-published"
	spec.Idea = "setnx-expire as its code was published"
	spec.Source = "article 004, A5, published code"
	spec.Bug = "the lease of 20,000 ms is passed as seconds (5 h 33 min), an aborted EXEC counts as a release, a wait is measured by the wall clock"
	spec.Bugs = all
	spec.Clocks = []Clock{WallClock}
	spec.New = func(env Env, opts Options) Lock {
		bugs := shownBy(opts, all)
		l := &setnxExpireLock{env: env, opts: opts, repairs: true, remove: bugs.remove()}
		if bugs.has(bugLongLease) {
			l.opts.Lease *= 1000
		}
		return spinning(l, env, bugs)
	}
	return spec
}

type setnxExpireLock struct {
	env     Env
	opts    Options
	token   string // of our last hold
	repairs bool
	remove  func(ctx context.Context, server Server, key, token string) (bool, error)
}

// TryAcquire ignores the reply to EXPIRE. The bug: a client paused before EXPIRE prolongs the lock of the present holder, and counts itself
// as the holder.
func (l *setnxExpireLock) TryAcquire(ctx context.Context) (bool, error) {
	token := l.env.Token()
	created, err := applied(l.env.Server().Do(ctx, "SETNX", l.opts.Key, token))
	if err != nil {
		return false, err
	}
	if !created {
		return false, l.repair(ctx)
	}
	l.token = token
	if err := l.expire(ctx); err != nil { // the bug of setnx-expire-norepair: after a crash before it the lock never expires
		return false, fmt.Errorf("the lock is taken, and has perhaps no expiry: %v", err) // not known to have failed
	}
	return true, nil
}

// repair gives the lock an expiry if it has none. The bug of setnx-expire: the lock may have changed owner since TTL.
func (l *setnxExpireLock) repair(ctx context.Context) error {
	if !l.repairs {
		return nil
	}
	left, err := number(l.env.Server().Do(ctx, "TTL", l.opts.Key))
	if err != nil || left != -1 {
		return err
	}
	return l.expire(ctx)
}

func (l *setnxExpireLock) Release(ctx context.Context) (bool, error) {
	return l.remove(ctx, l.env.Server(), l.opts.Key, l.token)
}

func (l *setnxExpireLock) expire(ctx context.Context) error {
	_, err := l.env.Server().Do(ctx, "EXPIRE", l.opts.Key, wholeSeconds(l.opts.Lease))
	return err
}

// wholeSeconds is a lease in seconds, rounded up.
func wholeSeconds(lease time.Duration) int64 { return int64((lease + time.Second - 1) / time.Second) }
