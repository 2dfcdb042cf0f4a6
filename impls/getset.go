package impls

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

func getset() Spec {
	return Spec{
		Card: Card{
			Name:     "getset",
			Idea:     "the value says when the lease ends; a client that finds it expired takes over with GETSET",
			Source:   "article 000 v1, A3",
			Bug:      "GETSET overwrites before it returns the owner, and each client judges expiry by its own clock",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety},
			Needs:    OneServer,
			Sends:    sends([]string{"SETNX", "GET", "GETSET"}, []string{"GET", "DEL"}),
			Clocks:   []Clock{WallClock},
		},
		New: func(env Env, opts Options) Lock { return &getsetLock{env: env, opts: opts} },
	}
}

// getsetNilExpired is way (2) of the article, whose author does not know whether it can deadlock.
func getsetNilExpired() Spec {
	spec := getset()
	spec.Name = "getset-nil-expired"
	spec.Idea = "getset that treats a lock released between SETNX and GET as expired"
	spec.Source = "article 000 v1, A3, nil from GET, way (2)"
	spec.Bug = "after nil from GET it sends GETSET, which overwrites the lock of a client that acquired in between"
	spec.New = func(env Env, opts Options) Lock { return &getsetLock{env: env, opts: opts, nilIsExpired: true} }
	return spec
}

// The bugs of getset-nil-lost.
const (
	bugNilLost    = "nil-lost"
	bugNilExpired = "nil-expired"
)

// getsetNilLost only compares the reply of GETSET with that of GET. With both bugs a ghost lock can be overwritten by another one.
func getsetNilLost() Spec {
	all := []Bug{
		{Name: bugNilLost, What: "nil from GETSET counts as refused although the lock was granted"},
		{Name: bugNilExpired, What: "nil from GET is followed by GETSET, which overwrites whatever is there by then", Apart: true},
	}
	spec := getset()
	spec.Name = "getset-nil-lost"
	spec.Idea = "getset that counts as granted only if GETSET returns the value that GET returned"
	spec.Source = "article 000 v1, A3, nil from GETSET"
	spec.Bug = "nil from GETSET counts as refused although the lock was granted: a ghost lock, for which everybody waits"
	spec.Bugs = all
	spec.New = func(env Env, opts Options) Lock {
		bugs := shownBy(opts, all)
		return &getsetLock{env: env, opts: opts, nilIsLost: bugs.has(bugNilLost), nilIsExpired: bugs.has(bugNilExpired)}
	}
	return spec
}

type getsetLock struct {
	env  Env
	opts Options
	own  string // the value of our last hold

	nilIsExpired bool // the bug of getset-nil-expired: nil from GET is followed by GETSET
	nilIsLost    bool // the bug of getset-nil-lost: nil from GETSET is not our lock
}

func (l *getsetLock) TryAcquire(ctx context.Context) (bool, error) {
	server := l.env.Server()
	for {
		mine := l.stamp()
		created, err := applied(server.Do(ctx, "SETNX", l.opts.Key, mine))
		if err != nil {
			return false, err
		}
		if created {
			l.own = mine
			return true, nil
		}
		seen, found, err := value(server.Do(ctx, "GET", l.opts.Key))
		if err != nil {
			return false, err
		}
		if !found && !l.nilIsExpired { // released between SETNX and GET: article 000, "nil from GET", way (1)
			continue
		}
		if found {
			expired, err := expired(l.now(), l.opts.Key, seen)
			if err != nil || !expired {
				return false, err
			}
		}
		return l.takeOver(ctx, seen)
	}
}

// takeOver replaces the expired value that was read by ours. The bug: GETSET replaces the value even if it has changed since.
func (l *getsetLock) takeOver(ctx context.Context, seen string) (bool, error) {
	mine := l.stamp()
	replaced, found, err := value(l.env.Server().Do(ctx, "GETSET", l.opts.Key, mine))
	if err != nil {
		return false, err
	}
	if found && replaced != seen {
		return false, nil // another client was faster
	}
	if !found && l.nilIsLost {
		return false, nil
	}
	l.own = mine // also after nil: article 000, "nil from GETSET"
	return true, nil
}

// Release deletes the lock if it still has our value. Between GET and DEL the lease can end and another client take over.
func (l *getsetLock) Release(ctx context.Context) (bool, error) {
	held, err := l.Held(ctx)
	if err != nil || !held {
		return false, err
	}
	return applied(l.env.Server().Do(ctx, "DEL", l.opts.Key))
}

// Held reads the lock again, as the article suggests before a critical step.
func (l *getsetLock) Held(ctx context.Context) (bool, error) {
	seen, found, err := value(l.env.Server().Do(ctx, "GET", l.opts.Key))
	return found && seen == l.own, err
}

// stamp is the value of the lock's key.
type stamp struct {
	Expires int64  `json:"expires"` // when the holder's lease ends, by its own clock, in milliseconds
	Token   string `json:"token,omitempty"`
}

// stamp is a value for a lease that starts now.
func (l *getsetLock) stamp() string { return newStamp(l.now()+l.opts.Lease, l.env.Token()) }

func (l *getsetLock) now() time.Duration { return time.Duration(l.env.Now().UnixNano()) }

func newStamp(expires time.Duration, token string) string {
	text, _ := json.Marshal(stamp{Expires: expires.Milliseconds(), Token: token}) // cannot fail
	return string(text)
}

// expired says whether the lease in the value of a key has ended, now by our clock.
func expired(now time.Duration, key, text string) (bool, error) {
	var s stamp
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return false, fmt.Errorf("the value of %s is no time stamp: %w", key, err)
	}
	return now.Milliseconds() > s.Expires, nil
}

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
	return static(l.env, "getset-published token of thread "+l.env.Thread(), zero[localToken])
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
