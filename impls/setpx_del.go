package impls

import "context"

func setpxDel() Spec {
	return Spec{
		Card: Card{
			Name:     "setpx-del",
			Idea:     "SET NX PX acquires with a lease in one command, DEL releases",
			Source:   "articles 000 and 001, on the way to A4",
			Bug:      "DEL does not check the owner",
			Promises: []Promise{MutualExclusion, CrashSafety, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SET"}, []string{"DEL"}),
		},
		New: func(env Env, opts Options) Lock { return &setpxDelLock{env, opts} },
	}
}

type setpxDelLock struct {
	env  Env
	opts Options
}

func (l *setpxDelLock) TryAcquire(ctx context.Context) (bool, error) {
	return stored(l.env.Server().Do(ctx, "SET", l.opts.Key, "locked", "NX", "PX", l.opts.Lease.Milliseconds()))
}

func (l *setpxDelLock) Release(ctx context.Context) (bool, error) {
	return applied(l.env.Server().Do(ctx, "DEL", l.opts.Key)) // the bug: whoever has the lock by now
}
