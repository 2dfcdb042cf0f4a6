package impls

import (
	"context"
	"time"
)

func setpxLuaWait() Spec {
	return Spec{
		Card: Card{
			Name:     "setpx-lua-wait",
			Idea:     "setpx-lua that is granted only once a replica has acknowledged it (WAIT); otherwise it takes the lock back",
			Source:   "article 003, A16, with the command WAIT as its documentation describes it; redis.io/WAIT",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime},
			Needs:    Replicas,
			Sends:    sends([]string{"SET", "EVAL"}, []string{"EVAL"}),
		},
		New: func(env Env, opts Options) Lock {
			return &setpxLuaWaitLock{setpxLuaLock{env: env, opts: opts}}
		},
	}
}

type setpxLuaWaitLock struct{ setpxLuaLock }

// waitFraction is the share of the lease for which the lock waits for a replica.
const waitFraction = 20

// TryAcquire sends SET and WAIT on one connection: WAIT is about what its own connection has written.
func (l *setpxLuaWaitLock) TryAcquire(ctx context.Context) (bool, error) {
	token := l.env.Token()
	var granted, replicated bool
	err := l.env.Server().Watch(ctx, nil, func(conn Tx) (err error) {
		granted, err = stored(conn.Do(ctx, "SET", l.opts.Key, token, "NX", "PX", l.opts.Lease.Milliseconds()))
		if err != nil || !granted {
			return err
		}
		patience := max(l.opts.Lease/waitFraction, time.Millisecond)
		replicated, err = applied(conn.Do(ctx, "WAIT", 1, patience.Milliseconds()))
		return err
	})
	if granted && !replicated {
		_, _ = l.env.Server().Eval(ctx, &Script{Source: compareAndDelete}, []string{l.opts.Key}, token) // else it ends with its lease
	}
	if err != nil || !replicated {
		return false, err
	}
	l.token = token
	return true, nil
}
