package impls

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
)

// bugStaleEntry is redisson/redisson#3194.
const bugStaleEntry = "stale-entry"

func redisson() Spec {
	all := []Bug{
		{Name: bugStaleEntry, What: "a failed renewal stays registered: the next hold of the same thread is not renewed", Apart: true},
		{Name: bugPublishedFirst, What: "a release publishes before it deletes, and waiters sleep until they are woken: whoever is woken finds the lock there and sleeps on", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "redisson",
			Idea:   "reentrant: a hash counts the acquires of its holder; a release wakes waiters by PUBLISH",
			Source: "article 003, A9; the release and the waiting from Redisson's published source",
			Bug: "one renewal per client and lock name; the first failed one is the last, and no loss is reported: " +
				"where another thread of the client lost the lock before, the new holder is not renewed",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety, IgnoresClientTime, Reentrance},
			Needs:    OneServer,
			Sends:    sends([]string{"EVAL"}, []string{"EVAL"}),
			Contract: history.Contract{Renews: true},
		},
		New: func(env Env, opts Options) Lock {
			lock := redissonLock{env: env, opts: opts, bugs: shownBy(opts, all)}
			if lock.bugs.has(bugPublishedFirst) {
				return &redissonSleeper{lock}
			}
			return &lock
		},
	}
}

// redissonLock is one thread's view of the lock.
type redissonLock struct {
	env  Env
	opts Options
	bugs bugs
	left time.Duration
	// leaseTime is what the published code keeps in a field of the lock object, in milliseconds; nil: the lease never changes.
	leaseTime *atomic.Int64
	shared    *redissonClient // nil before the first operation
}

// countIn takes the lock, once more if it is ours. Otherwise it returns the rest of the holder's lease.
const countIn = `if redis.call("EXISTS", KEYS[1]) == 0 or redis.call("HEXISTS", KEYS[1], ARGV[2]) == 1 then
	redis.call("HINCRBY", KEYS[1], ARGV[2], 1)
	redis.call("PEXPIRE", KEYS[1], ARGV[1])
	return nil
end
return redis.call("PTTL", KEYS[1])`

// countOut releases the lock once; the last release wakes the waiters. It returns nil if the lock is not ours, 1 if it is free.
const countOut = `if redis.call("HEXISTS", KEYS[1], ARGV[2]) == 0 then
	return nil
end
if redis.call("HINCRBY", KEYS[1], ARGV[2], -1) > 0 then
	redis.call("PEXPIRE", KEYS[1], ARGV[1])
	return 0
end
redis.call("DEL", KEYS[1])
redis.call("PUBLISH", KEYS[2], "0")
return 1`

// expireCounted starts the lease anew if the lock is ours.
const expireCounted = `if redis.call("HEXISTS", KEYS[1], ARGV[2]) == 1 then
	redis.call("PEXPIRE", KEYS[1], ARGV[1])
	return 1
end
return 0`

func (l *redissonLock) TryAcquire(ctx context.Context) (bool, error) {
	return l.renewed(l.try(ctx))
}

func (l *redissonLock) Release(ctx context.Context) (bool, error) {
	return l.released(l.giveBack(ctx, countOut))
}

func (l *redissonLock) try(ctx context.Context) (bool, error) {
	script := &Script{Source: countIn}
	return l.granted(l.env.Server().Eval(ctx, script, []string{l.opts.Key}, l.lease(), l.name()))
}

// giveBack runs a script that releases the lock once.
func (l *redissonLock) giveBack(ctx context.Context, source string) (any, error) {
	return l.env.Server().Eval(ctx, &Script{Source: source}, []string{l.opts.Key, l.channel()}, l.lease(), l.name())
}

// renewed has a granted lock renewed.
func (l *redissonLock) renewed(held bool, err error) (bool, error) {
	if held {
		l.client().renewals.add(l)
	}
	return held, err
}

// granted reads the reply to a try: nil is a grant, a number the rest of the holder's lease.
func (l *redissonLock) granted(reply any, err error) (bool, error) {
	l.left = 0
	if err != nil {
		return false, err
	}
	if reply == nil {
		return true, nil
	}
	ms, err := number(reply, nil)
	if ms >= 0 { // less than a millisecond counts as one: zero would mean to wait for a release, which may never come
		l.left = time.Duration(max(ms, 1)) * time.Millisecond
	}
	return false, err
}

// released ends the renewal, whatever the reply to the release.
func (l *redissonLock) released(reply any, err error) (bool, error) {
	l.client().renewals.remove(l)
	return counted(reply, err)
}

// counted reads the reply to a release: nil means that the lock is another's, a number that it was ours.
func counted(reply any, err error) (bool, error) {
	if err != nil || reply == nil {
		return false, err
	}
	_, err = number(reply, nil)
	return err == nil, err
}

func (l *redissonLock) renew(ctx context.Context, thread string) (bool, error) {
	script := &Script{Source: expireCounted}
	return applied(l.env.Server().Eval(ctx, script, []string{l.opts.Key}, l.lease(), thread))
}

// RetryAfter is the rest of the holder's lease.
func (l *redissonLock) RetryAfter() time.Duration { return l.left }

func (l *redissonLock) Wakeups(ctx context.Context) (Subscription, error) {
	return l.env.Server().Subscribe(ctx, l.channel())
}

func (l *redissonLock) channel() string { return l.opts.Key + ":channel" }

func (l *redissonLock) lease() int64 {
	if l.leaseTime != nil {
		return l.leaseTime.Load()
	}
	return l.opts.Lease.Milliseconds()
}

func (l *redissonLock) client() *redissonClient {
	if l.shared == nil {
		l.shared = static(l.env, "redisson", func() *redissonClient {
			return &redissonClient{id: l.env.Token(), renewals: renewals{entries: map[string]*renewal{}}}
		})
	}
	return l.shared
}

// name is the field of the hash: "client:thread".
func (l *redissonLock) name() string { return l.client().id + ":" + l.env.Thread() }

// redissonClient is the state that the locks of a process share.
type redissonClient struct {
	id       string
	renewals renewals
}

// renewals are registered per lock name.
type renewals struct {
	mu      sync.Mutex
	entries map[string]*renewal
}

// renewal prolongs one lock for the client's threads that have taken it, in that order. A reentrant thread is listed once per acquire.
type renewal struct {
	threads []string
	stop    func()
}

// add has the lock renewed for its thread. The bug: an existing entry, even of a thread that has lost the lock, starts no renewal, and it
// renews for its first thread only.
func (r *renewals) add(l *redissonLock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, thread := l.opts.Key, l.name()
	if entry := r.entries[key]; entry != nil {
		entry.threads = append(entry.threads, thread)
		return
	}
	entry := &renewal{threads: []string{thread}}
	r.entries[key] = entry
	entry.stop = l.env.Go(func(ctx context.Context) {
		renewUntilFailure(ctx, l.env, l.opts.Lease, func(ctx context.Context) (bool, error) {
			first, ok := r.first(entry)
			if !ok {
				return false, nil
			}
			return l.renew(ctx, first)
		})
		if !l.bugs.has(bugStaleEntry) {
			r.drop(key, entry)
		}
	})
}

// remove removes one hold of the lock's thread, and ends the renewal with the last.
func (r *renewals) remove(l *redissonLock) {
	if stop := r.takeOff(l.opts.Key, l.name()); stop != nil {
		stop()
	}
}

func (r *renewals) takeOff(key, thread string) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.entries[key]
	if entry == nil {
		return nil
	}
	if i := slices.Index(entry.threads, thread); i >= 0 {
		entry.threads = slices.Delete(entry.threads, i, i+1)
	}
	if len(entry.threads) > 0 {
		return nil
	}
	delete(r.entries, key)
	return entry.stop
}

func (r *renewals) first(entry *renewal) (thread string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(entry.threads) == 0 {
		return "", false
	}
	return entry.threads[0], true
}

// drop removes an entry whose renewal has ended.
func (r *renewals) drop(key string, entry *renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[key] == entry {
		delete(r.entries, key)
	}
}

func redissonLease() Spec {
	return Spec{
		Card: Card{
			Name:     "redisson-lease",
			Idea:     "redisson with a lease that its caller names: no watchdog renews it",
			Source:   "article 003, A8, published code: leaseTime != -1; the release and the waiting from Redisson's published source",
			Bug:      "nothing renews the lease and nothing ends the hold: work that takes longer is unprotected, and its client is not told",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety, IgnoresClientTime, Reentrance},
			Needs:    OneServer,
			Sends:    sends([]string{"EVAL"}, []string{"EVAL"}),
		},
		New: func(env Env, opts Options) Lock {
			return &redissonLeaseLock{redissonLock: redissonLock{env: env, opts: opts}}
		},
	}
}

// redissonLeaseLock is the lock without the renewal.
type redissonLeaseLock struct{ redissonLock }

func (l *redissonLeaseLock) TryAcquire(ctx context.Context) (bool, error) { return l.try(ctx) }

func (l *redissonLeaseLock) Release(ctx context.Context) (bool, error) {
	return counted(l.giveBack(ctx, countOut))
}

// bugPublishedFirst is the wrong order of two steps that Redisson's release takes in one script.
const bugPublishedFirst = "published-first"

// redissonSleeper publishes before it deletes, and waits for nothing but to be woken: whoever is woken finds the lock there and sleeps on.
type redissonSleeper struct{ redissonLock }

// countOutSilently is countOut without what wakes the waiters.
var countOutSilently = strings.Replace(countOut, `redis.call("PUBLISH", KEYS[2], "0")`+"\n", "", 1)

// Acquire tries when it is woken, and at no other time.
func (l *redissonSleeper) Acquire(ctx, patience context.Context) (bool, error) {
	releases, err := l.Wakeups(patience)
	if err != nil {
		return false, err
	}
	defer releases.Close()
	for {
		held, err := l.TryAcquire(ctx)
		if held || err != nil {
			return held, err
		}
		if _, err := releases.Receive(patience); patience.Err() != nil {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
}

// Release publishes first.
func (l *redissonSleeper) Release(ctx context.Context) (bool, error) {
	if _, err := l.env.Server().Do(ctx, "PUBLISH", l.channel(), "0"); err != nil {
		return l.released(nil, err)
	}
	return l.released(l.giveBack(ctx, countOutSilently))
}

func redissonWatchdog() Spec {
	return Spec{
		Card: Card{
			Name:     "redisson-watchdog",
			Idea:     "setpx-lua renewed every third of its lease, as Redisson does it",
			Source:   "article 003, A8",
			Bug:      "the first failed renewal is the last: the lease expires while the client holds the lock, and it is not told",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SET"}, []string{"EVAL"}),
			Contract: history.Contract{Renews: true},
		},
		New: func(env Env, opts Options) Lock {
			return &redissonWatchdogLock{setpxLuaLock: setpxLuaLock{env: env, opts: opts}}
		},
	}
}

type redissonWatchdogLock struct {
	setpxLuaLock
	stop func() // ends the renewal of the last hold; nil: there is none
}

func (l *redissonWatchdogLock) TryAcquire(ctx context.Context) (bool, error) {
	held, err := l.setpxLuaLock.TryAcquire(ctx)
	if !held {
		return false, err
	}
	l.halt() // of a hold that was lost
	token, script := l.token, &Script{Source: compareAndExpire}
	l.stop = l.env.Go(func(ctx context.Context) {
		renewUntilFailure(ctx, l.env, l.opts.Lease, func(ctx context.Context) (bool, error) {
			return applied(l.env.Server().Eval(ctx, script, []string{l.opts.Key}, token, l.opts.Lease.Milliseconds()))
		})
	})
	return true, nil
}

func (l *redissonWatchdogLock) Release(ctx context.Context) (bool, error) {
	removed, err := l.setpxLuaLock.Release(ctx)
	l.halt()
	return removed, err
}

func (l *redissonWatchdogLock) halt() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// renewUntilFailure renews every third of the lease, until ctx ends, the lock is another's, or a renewal fails or is not answered before
// the next is due. It reports nothing.
func renewUntilFailure(ctx context.Context, env Env, lease time.Duration, renew func(context.Context) (bool, error)) {
	for env.Sleep(ctx, lease/3) == nil {
		attempt, cancel := env.WithTimeout(ctx, lease/3)
		owner, err := renew(attempt)
		cancel()
		if err != nil || !owner {
			return // the bug: the first failed renewal is the last
		}
	}
}
