package impls

import (
	"context"
	"encoding/json"
	"fmt"
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
