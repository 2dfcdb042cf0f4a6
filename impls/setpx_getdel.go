package impls

import "context"

func setpxGetdel() Spec {
	return Spec{
		Card: Card{
			Name:     "setpx-getdel",
			Idea:     "SET NX PX with a token; the release reads the lock, compares, and deletes it",
			Source:   "articles 000 and 003, on the way to A4",
			Bug:      "between GET and DEL the lease can expire and another client acquire",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SET"}, []string{"GET", "DEL"}),
		},
		New: func(env Env, opts Options) Lock { return &setpxGetdelLock{env: env, opts: opts} },
	}
}

type setpxGetdelLock struct {
	env   Env
	opts  Options
	token string // of our last hold
}

func (l *setpxGetdelLock) TryAcquire(ctx context.Context) (bool, error) {
	token := l.env.Token()
	held, err := stored(l.env.Server().Do(ctx, "SET", l.opts.Key, token, "NX", "PX", l.opts.Lease.Milliseconds()))
	if held {
		l.token = token
	}
	return held, err
}

func (l *setpxGetdelLock) Release(ctx context.Context) (bool, error) {
	seen, found, err := value(l.env.Server().Do(ctx, "GET", l.opts.Key))
	if err != nil || !found || seen != l.token {
		return false, err
	}
	return applied(l.env.Server().Do(ctx, "DEL", l.opts.Key)) // the bug: the lock may have changed since GET
}
