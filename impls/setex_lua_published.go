package impls

import (
	"context"
	"time"
)

func setexLuaPublished() Spec {
	all := []Bug{
		wallClockBug(),
		{Name: bugSwallowed, What: "a failed release returns no: its caller cannot know that the lock may still exist"},
	}
	return Spec{
		Card: Card{
			Name:     "setex-lua-published",
			Idea:     "SET NX EX with a token; a script compares and deletes in one step; as published in C#",
			Source:   "article 001, A4, published code",
			Bug:      "a client measures its wait by its wall clock; an error of the release is swallowed",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SET"}, []string{"EVAL"}),
			Clocks:   []Clock{WallClock},
		},
		New: func(env Env, opts Options) Lock {
			l := &setexLuaPublishedLock{env: env, opts: opts, bugs: shownBy(opts, all)}
			if l.bugs.has(bugWallClock) {
				return &struct {
					*setexLuaPublishedLock
					wallClock
				}{l, wallClock{env}}
			}
			return l
		},
	}
}

type setexLuaPublishedLock struct {
	env   Env
	opts  Options
	bugs  bugs
	token string // of our last hold
}

func (l *setexLuaPublishedLock) TryAcquire(ctx context.Context) (bool, error) {
	token := l.env.Token()
	held, err := stored(l.env.Server().Do(ctx, "SET", l.opts.Key, token, "NX", "EX", wholeSeconds(l.opts.Lease)))
	if held {
		l.token = token
	}
	return held, err
}

func (l *setexLuaPublishedLock) Release(ctx context.Context) (bool, error) {
	removed, err := applied(l.env.Server().Eval(ctx, &Script{Source: compareAndDelete}, []string{l.opts.Key}, l.token))
	if l.bugs.has(bugSwallowed) {
		return removed, nil // the bug
	}
	return removed, err
}

// Pause is that of the published code.
func (l *setexLuaPublishedLock) Pause(time.Duration) time.Duration { return 50 * time.Millisecond }
