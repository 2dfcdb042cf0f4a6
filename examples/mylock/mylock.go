// Package mylock is a lock that does not come with the lab, in a module of its own. Its author believes that only its owner can release
// it; the tests show that this is not so.
package mylock

import (
	"context"

	"github.com/locklab/locklab/impls"
)

// Spec is the lock as the lab takes it: a card, and how to make one.
func Spec() impls.Spec {
	return impls.Spec{
		Card: impls.Card{
			Name:     "mylock",
			Idea:     "SET NX PX acquires, DEL releases",
			Promises: []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner, impls.CrashSafety, impls.IgnoresClientTime},
			Needs:    impls.OneServer,
			// It compares no tokens at all.
			EqualTokens: true,
		},
		New: func(env impls.Env, opts impls.Options) impls.Lock { return &lock{env: env, opts: opts} },
	}
}

type lock struct {
	env   impls.Env
	opts  impls.Options
	taken bool
}

// State is what the lock keeps between two operations.
func (l *lock) State() any { return l.taken }

func (l *lock) TryAcquire(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "SET", l.opts.Key, l.env.Token(), "NX", "PX", l.opts.Lease.Milliseconds())
	l.taken = reply == "OK"
	return l.taken, err
}

func (l *lock) Release(ctx context.Context) (bool, error) {
	if !l.taken {
		return false, nil
	}
	reply, err := l.env.Server().Do(ctx, "DEL", l.opts.Key)
	return reply == int64(1), err
}
