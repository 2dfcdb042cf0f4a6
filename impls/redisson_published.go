package impls

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/history"
)

// bugOverwrittenLease is one of the listing of article 003.
const bugOverwrittenLease = "overwritten-lease"

func redissonPublished() Spec {
	all := []Bug{
		{Name: bugOverwrittenLease, What: "a re-entrant acquire with a lease of its own, here a quarter, overwrites that of the lock object: it shortens a hold that is renewed", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "redisson-published",
			Idea:   "redisson as article 003 lists it: a timer for each renewal, registered in expirationRenewalMap",
			Source: "article 003, A8 and A9, published code; the release and the waiting from Redisson's published source, 3.9.1",
			Bug: "one renewal per client and lock name, and the first failed one is the last; a renewal that is answered after the release " +
				"registers itself again, and then the next thread of the client is not renewed; on request, an inner acquire shortens the lease",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety, IgnoresClientTime, Reentrance},
			Needs:    OneServer,
			Sends:    sends([]string{"EVAL"}, []string{"EVAL"}),
			Contract: history.Contract{Renews: true},
			Clocks:   []Clock{MonotonicClock},
		},
		New: func(env Env, opts Options) Lock {
			return &redissonPublishedLock{redissonLock: redissonLock{env: env, opts: opts, bugs: shownBy(opts, all)}}
		},
	}
}

type redissonPublishedLock struct {
	redissonLock
	holds int // of its thread, to tell an inner acquire; only with the bug overwritten-lease
}

// countOutGone is countOut as of 3.9.1: an absent lock counts as released.
const countOutGone = `if redis.call("EXISTS", KEYS[1]) == 0 then
	redis.call("PUBLISH", KEYS[2], "0")
	return 1
end
` + countOut

// TryAcquire writes the lease that its caller names, or else the watchdog's, into the field of the lock object, as tryLockInnerAsync does. The bug:
// release and renewal use the field, whatever the hold was granted for. A lease that is named is not renewed.
func (l *redissonPublishedLock) TryAcquire(ctx context.Context) (bool, error) {
	inner := l.bugs.has(bugOverwrittenLease) && l.overwrite()
	held, err := l.try(ctx)
	if held && l.bugs.has(bugOverwrittenLease) {
		l.holds++
	}
	if held && !inner {
		l.timers().schedule(l)
	}
	return held, err
}

// overwrite writes the lease of this acquire into internalLockLeaseTime, and says whether it is an inner one. The published lock object has one name.
func (l *redissonPublishedLock) overwrite() (inner bool) {
	l.keepLease()
	lease := l.opts.Lease
	if inner = l.holds > 0; inner {
		lease /= 4
	}
	l.leaseTime.Store(lease.Milliseconds())
	return inner
}

// keepLease has this lock use the field of its object, which the constructor sets to the watchdog's lease.
func (l *redissonPublishedLock) keepLease() {
	l.leaseTime = field(l.env, "redisson lease of "+l.opts.Key, func() *atomic.Int64 {
		lease := new(atomic.Int64)
		lease.Store(l.opts.Lease.Milliseconds())
		return lease
	})
}

// Release cancels the renewal of whichever thread is registered if the lock is free now, its own after an error, and otherwise none.
func (l *redissonPublishedLock) Release(ctx context.Context) (bool, error) {
	l.holds = max(0, l.holds-1)
	if l.bugs.has(bugOverwrittenLease) {
		l.keepLease()
	}
	reply, err := l.giveBack(ctx, countOutGone)
	switch {
	case err != nil:
		l.timers().cancel(l.opts.Key, l.name())
	case reply == int64(1):
		l.timers().cancel(l.opts.Key, "")
	}
	return counted(reply, err)
}

func (l *redissonPublishedLock) nextRenewal() time.Duration {
	return l.env.Monotonic() + time.Duration(l.lease())*time.Millisecond/3
}

func (l *redissonPublishedLock) timers() *expirationRenewalMap {
	return static(l.env, "redisson timers", func() *expirationRenewalMap {
		return &expirationRenewalMap{entries: map[string]*expirationEntry{}}
	})
}

// expirationRenewalMap has a client's renewals by the name of their lock.
type expirationRenewalMap struct {
	mu      sync.Mutex
	entries map[string]*expirationEntry
}

// expirationEntry is the timer of one renewal.
type expirationEntry struct {
	thread string
	due    time.Duration // as the published timer has it: a reading of the clock when it is set
	fired  bool          // its renewal has been sent: too late to cancel it
	stop   func()        // stops the timer
}

// schedule has the lock renewed after a third of its lease. The bug: an existing entry, of whichever thread, is enough.
func (m *expirationRenewalMap) schedule(l *redissonPublishedLock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[l.opts.Key] != nil {
		return
	}
	entry := &expirationEntry{thread: l.name(), due: l.nextRenewal()}
	m.entries[l.opts.Key] = entry
	entry.stop = l.env.Go(func(ctx context.Context) { m.run(ctx, l, entry) })
}

func (m *expirationRenewalMap) run(ctx context.Context, l *redissonPublishedLock, entry *expirationEntry) {
	for l.env.Sleep(ctx, entry.due-l.env.Monotonic()) == nil {
		m.fire(entry)
		attempt, cancel := l.env.WithTimeout(ctx, l.opts.Lease/3)
		owner, err := l.renew(attempt, entry.thread)
		cancel()
		if !m.answered(l, entry, owner && err == nil) {
			return
		}
	}
}

func (m *expirationRenewalMap) fire(entry *expirationEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry.fired = true
}

// answered removes the entry of the lock, of whichever thread, and registers the next renewal if this one has succeeded. The bug: it does
// not notice that the lock has been released.
func (m *expirationRenewalMap) answered(l *redissonPublishedLock, entry *expirationEntry, again bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, l.opts.Key)
	if again {
		entry.fired, entry.due = false, l.nextRenewal()
		m.entries[l.opts.Key] = entry
	}
	return again
}

// cancel removes the entry of the lock if it is the thread's, or of any thread if none is named.
func (m *expirationRenewalMap) cancel(key, thread string) {
	if entry := m.remove(key, thread); entry != nil {
		entry.stop()
	}
}

// remove returns the entry if its timer can still be stopped.
func (m *expirationRenewalMap) remove(key, thread string) *expirationEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := m.entries[key]
	if entry == nil || thread != "" && entry.thread != thread {
		return nil
	}
	delete(m.entries, key)
	if entry.fired {
		return nil
	}
	return entry
}
