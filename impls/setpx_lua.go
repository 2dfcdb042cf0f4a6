package impls

import (
	"context"
	"time"
)

func setpxLua() Spec {
	return Spec{
		Card: Card{
			Name:     "setpx-lua",
			Idea:     "SET NX PX with a token; a script compares and deletes in one step",
			Source:   "articles 000 v2, 001 and 003, A4",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SET"}, []string{"EVAL"}),
		},
		New: func(env Env, opts Options) Lock { return &setpxLuaLock{env: env, opts: opts} },
	}
}

type setpxLuaLock struct {
	env   Env
	opts  Options
	token string // of our last hold
}

// TryAcquire keeps the token only after a grant, as the article does: if the reply is lost, no client can release the lock before its lease
// ends.
func (l *setpxLuaLock) TryAcquire(ctx context.Context) (bool, error) {
	token := l.env.Token()
	held, err := stored(l.env.Server().Do(ctx, "SET", l.opts.Key, token, "NX", "PX", l.opts.Lease.Milliseconds()))
	if held {
		l.token = token
	}
	return held, err
}

func (l *setpxLuaLock) Release(ctx context.Context) (bool, error) {
	script := &Script{Source: compareAndDelete}
	return applied(l.env.Server().Eval(ctx, script, []string{l.opts.Key}, l.token))
}

func (l *setpxLuaLock) Held(ctx context.Context) (bool, error) {
	seen, found, err := value(l.env.Server().Do(ctx, "GET", l.opts.Key))
	return found && seen == l.token, err
}

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
