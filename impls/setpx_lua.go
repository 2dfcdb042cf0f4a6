package impls

import "context"

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
