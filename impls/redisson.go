package impls

import (
	"context"
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
