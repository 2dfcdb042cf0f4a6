package impls

import (
	"context"
	"sync"
	"time"
)

// The bugs of the code published with article 000 v1.
const (
	bugShortLease   = "short-lease"
	bugLostRetry    = "lost-retry"
	bugSharedToken  = "shared-token"
	bugLocalCheck   = "local-check"
	bugForgetsFirst = "forgets-first"
	bugStaleStamp   = "stale-stamp"
	bugEqualStamps  = "equal-stamps"
)

func getsetPublished() Spec {
	all := []Bug{
		{Name: bugSharedToken, What: "the token is a static variable of the thread: a second lock overwrites the first one's"},
		{Name: bugLocalCheck, What: "isLocked reads local memory and the client's clock only: it does not notice that another client has the lock"},
		{Name: bugForgetsFirst, What: "release forgets the token between GET and DEL and has no result: after a lost DEL nobody can release"},
		{Name: bugStaleStamp, What: "GETSET writes the value computed before SETNX: a try that takes long writes a lease that has ended"},
		wallClockBug(),
		{Name: bugShortLease, What: "the lease in ms is multiplied by 1,000 and used as ns: it ends 1,000 times too early", Apart: true},
		{Name: bugLostRetry, What: "after nil from GET it retries, discards the result and throws a null pointer: the wait is over, and the lock may be taken", Apart: true},
		{Name: bugEqualStamps, What: "two locks that end at the same time are equal: a client deletes another's for its own", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "getset-published",
			Idea:   "getset as its code was published; its clock is nanoTime, which starts at boot",
			Source: "article 000 v1, A3, published code",
			Bug: "expiry by clocks that cannot be compared, one token for all locks of a thread, a check that asks no server, " +
				"a release that clears the token before DEL, a lease counted from before SETNX, a wait measured by the wall clock; on request, a lease much too short, a retry whose result is lost and stamps that are equal",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety},
			Needs:    OneServer,
			Sends:    sends([]string{"SETNX", "GET", "GETSET"}, []string{"GET", "DEL"}),
			Clocks:   []Clock{MonotonicClock, WallClock},
		},
		New: func(env Env, opts Options) Lock {
			l := &getsetPublishedLock{env: env, opts: opts, bugs: shownBy(opts, all)}
			if l.bugs.has(bugWallClock) {
				return &struct {
					*getsetPublishedLock
					wallClock
				}{l, wallClock{env}}
			}
			return l
		},
	}
}

// tick is by how much the clock advances at a time with the bug equal-stamps. The published stamps are equal if two clients read the same nanosecond,
// or a clock of less precision the same tick; here it is so long that they always do. Without the bug a token tells stamps apart.
const tick = time.Hour

// getsetPublishedLock reads Env.Monotonic where the published code reads nanoTime: the offset between two clients' clocks stands for the
// difference in their machines' uptimes.
type getsetPublishedLock struct {
	env  Env
	opts Options
	bugs bugs
	own  localToken // unless the token is shared
}

// localToken is the value of the last hold, if it has not been released.
type localToken struct {
	mu    sync.Mutex
	value string
}

func (t *localToken) get() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value
}

func (t *localToken) set(value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.value = value
}

// errNullPointer: the published code parses the nil that it read before its retry, and throws out of acquire().
const errNullPointer = Exception("null pointer: the value of the lock, which was nil, is asked whether it has expired")

func (l *getsetPublishedLock) TryAcquire(ctx context.Context) (bool, error) {
	server := l.env.Server()
	mine := l.stamp()
	created, err := applied(server.Do(ctx, "SETNX", l.opts.Key, mine))
	if err != nil {
		return false, err
	}
	if created {
		l.token().set(mine)
		return true, nil
	}
	seen, found, err := value(server.Do(ctx, "GET", l.opts.Key))
	if err != nil {
		return false, err
	}
	if !found {
		held, err := l.TryAcquire(ctx)
		if err == nil && l.bugs.has(bugLostRetry) {
			return false, errNullPointer // even if held
		}
		return held, err
	}
	expired, err := expired(l.env.Monotonic(), l.opts.Key, seen)
	if err != nil || !expired {
		return false, err
	}
	if !l.bugs.has(bugStaleStamp) {
		mine = l.stamp()
	}
	replaced, found, err := value(server.Do(ctx, "GETSET", l.opts.Key, mine))
	if err != nil || found && replaced != seen {
		return false, err
	}
	l.token().set(mine)
	return true, nil
}

// Release with the bug forgets-first answers ok whenever it returns without an error: the published method has no result.
func (l *getsetPublishedLock) Release(ctx context.Context) (bool, error) {
	own := l.token().get()
	forgets := l.bugs.has(bugForgetsFirst)
	if own == "" {
		return forgets, nil
	}
	seen, found, err := value(l.env.Server().Do(ctx, "GET", l.opts.Key))
	if err != nil {
		return false, err
	}
	if !found || seen != own {
		return forgets, nil
	}
	if forgets {
		l.token().set("")
	}
	removed, err := applied(l.env.Server().Do(ctx, "DEL", l.opts.Key))
	if err == nil {
		l.token().set("")
	}
	return removed || forgets, err
}

// Held with the bug local-check is the published isLocked: the last hold's value, unless it has expired by the client's own clock.
func (l *getsetPublishedLock) Held(ctx context.Context) (bool, error) {
	own := l.token().get()
	if own == "" {
		return false, nil
	}
	if l.bugs.has(bugLocalCheck) {
		over, err := expired(l.env.Monotonic(), l.opts.Key, own)
		return err == nil && !over, err
	}
	seen, found, err := value(l.env.Server().Do(ctx, "GET", l.opts.Key))
	return found && seen == own, err
}

// Pause is that of the published code: it spins for three seconds, then it yields.
func (l *getsetPublishedLock) Pause(waited time.Duration) time.Duration {
	if waited < 3*time.Second {
		return NoPause
	}
	return 0
}

// token is the published thread-local in a static variable: a thread has one for all its lock objects.
func (l *getsetPublishedLock) token() *localToken {
	if !l.bugs.has(bugSharedToken) {
		return &l.own
	}
	return threadLocal(l.env, "getset-published token", zero[localToken])
}

func (l *getsetPublishedLock) stamp() string {
	lease := l.opts.Lease
	if l.bugs.has(bugShortLease) {
		lease = time.Duration(lease.Milliseconds() * 1000)
	}
	expires := l.env.Monotonic() + lease
	if l.bugs.has(bugEqualStamps) {
		return newStamp(expires.Truncate(tick)+tick, "")
	}
	return newStamp(expires, l.env.Token())
}
