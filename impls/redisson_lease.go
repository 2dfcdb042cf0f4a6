package impls

import "context"

func redissonLease() Spec {
	return Spec{
		Card: Card{
			Name:     "redisson-lease",
			Idea:     "redisson with a lease that its caller names: no watchdog renews it",
			Source:   "article 003, A8, published code: leaseTime != -1; the release and the waiting from Redisson's published source",
			Bug:      "nothing renews the lease and nothing ends the hold: work that takes longer is unprotected, and its client is not told",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety, IgnoresClientTime, Reentrance},
			Needs:    OneServer,
			Sends:    sends([]string{"EVAL"}, []string{"EVAL"}),
		},
		New: func(env Env, opts Options) Lock {
			return &redissonLeaseLock{redissonLock: redissonLock{env: env, opts: opts}}
		},
	}
}

// redissonLeaseLock is the lock without the renewal.
type redissonLeaseLock struct{ redissonLock }

func (l *redissonLeaseLock) TryAcquire(ctx context.Context) (bool, error) { return l.try(ctx) }

func (l *redissonLeaseLock) Release(ctx context.Context) (bool, error) {
	return counted(l.giveBack(ctx, countOut))
}
