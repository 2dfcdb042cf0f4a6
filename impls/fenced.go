package impls

import "context"

func fenced() Spec {
	return Spec{
		Card: Card{
			Name:     "fenced",
			Idea:     "setpx-lua that issues a fencing token with each grant; the resource rejects smaller ones than it has seen",
			Source:   "article 003, A4, with the fence that this lab adds",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime, Fencing},
			Needs:    OneServer,
			Sends:    sends([]string{"EVAL"}, []string{"EVAL"}),
		},
		New: func(env Env, opts Options) Lock {
			return &fencedLock{setpxLuaLock: setpxLuaLock{env: env, opts: opts}}
		},
	}
}

type fencedLock struct {
	setpxLuaLock
	fence int64 // of our last hold
}

// setAndCount takes the lock and counts the grant in one step: a client paused between two steps could get a fence above that of a later
// grant. The counter never expires.
const setAndCount = `if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
	return redis.call("INCR", KEYS[2])
end
return 0`

func (l *fencedLock) TryAcquire(ctx context.Context) (bool, error) {
	token := l.env.Token()
	keys := []string{l.opts.Key, l.opts.Key + ":fence"}
	fence, err := number(l.env.Server().Eval(ctx, &Script{Source: setAndCount}, keys, token, l.opts.Lease.Milliseconds()))
	if err != nil || fence == 0 {
		return false, err
	}
	l.token, l.fence = token, fence
	return true, nil
}

func (l *fencedLock) Fence() int64 { return l.fence }
