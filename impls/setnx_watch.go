package impls

import (
	"context"

	"github.com/locklab/locklab/history"
)

func setnxWatch() Spec {
	return Spec{
		Card: Card{
			Name:     "setnx-watch",
			Idea:     "SETNX with a token; the release compares and deletes under WATCH, MULTI and EXEC",
			Source:   "article 004, A6",
			Bug:      "SETNX sets no expiry: a holder that crashes, or loses the reply, blocks everybody for ever",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SETNX"}, []string{"WATCH", "GET", "DEL", "EXEC"}),
			Contract: history.Contract{Leaseless: true},
		},
		New: func(env Env, opts Options) Lock { return &setnxWatchLock{env: env, opts: opts, remove: watchedDelete} },
	}
}

func setnxWatchPublished() Spec {
	all := []Bug{
		{Name: bugAborted, What: "an aborted EXEC counts as success: release returns ok, and the lock stays"},
		wallClockBug(),
	}
	spec := setnxWatch()
	spec.Name = "setnx-watch-published"
	spec.Idea = "setnx-watch through the client library of its time"
	spec.Source = "article 004, A6, published code"
	spec.Bug = "an aborted EXEC is not tried again, and its empty list passes for success: release says yes, and the lock stays; " +
		"a wait is measured by the wall clock"
	spec.Bugs = all
	spec.Clocks = []Clock{WallClock}
	spec.New = func(env Env, opts Options) Lock {
		bugs := shownBy(opts, all)
		return spinning(&setnxWatchLock{env: env, opts: opts, remove: bugs.remove()}, env, bugs)
	}
	return spec
}

type setnxWatchLock struct {
	env    Env
	opts   Options
	token  string // of our last hold
	remove func(ctx context.Context, server Server, key, token string) (bool, error)
}

func (l *setnxWatchLock) TryAcquire(ctx context.Context) (bool, error) {
	token := l.env.Token()
	held, err := applied(l.env.Server().Do(ctx, "SETNX", l.opts.Key, token)) // the bug of setnx-watch: it never expires
	if held {
		l.token = token
	}
	return held, err
}

func (l *setnxWatchLock) Release(ctx context.Context) (bool, error) {
	return l.remove(ctx, l.env.Server(), l.opts.Key, l.token)
}

// watchedDelete removes the lock if it is ours, in a transaction that it retries after an abort.
func watchedDelete(ctx context.Context, server Server, key, token string) (bool, error) {
	for {
		removed, aborted, err := tryWatchedDelete(ctx, server, key, token)
		if err != nil || !aborted {
			return removed, err
		}
	}
}

// remove is how a lock with these bugs removes itself.
func (b bugs) remove() func(ctx context.Context, server Server, key, token string) (bool, error) {
	if b.has(bugAborted) {
		return watchedDeleteAsPublished
	}
	return watchedDelete
}

// watchedDeleteAsPublished has the bug: an aborted EXEC counts as successful.
func watchedDeleteAsPublished(ctx context.Context, server Server, key, token string) (bool, error) {
	removed, aborted, err := tryWatchedDelete(ctx, server, key, token)
	return removed || aborted, err
}

func tryWatchedDelete(ctx context.Context, server Server, key, token string) (removed, aborted bool, _ error) {
	err := server.Watch(ctx, []string{key}, func(tx Tx) error {
		seen, found, err := value(tx.Do(ctx, "GET", key))
		if err != nil || !found || seen != token {
			return err
		}
		replies, done, err := tx.Exec(ctx, Command{"DEL", key})
		if err != nil || !done {
			aborted = err == nil
			return err
		}
		removed, err = applied(first(replies), nil)
		return err
	})
	return removed, aborted, err
}
