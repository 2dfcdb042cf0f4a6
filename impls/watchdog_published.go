package impls

import (
	"context"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
)

// The bugs of the code published with article 002.
const (
	bugBlindRenewal    = "blind-renewal"
	bugSharedFlag      = "shared-flag"
	bugUnclearedFlag   = "uncleared-flag"
	bugStaticMonitor   = "static-monitor"
	bugSurvivor        = "surviving-watchdog"
	bugOverwritten     = "overwritten-token"
	bugSpentRetries    = "spent-retries"
	bugSilentEnd       = "silent-end"
	bugRetriesBlindly  = "retried-set"
	bugForeignEncoding = "foreign-encoding"
	bugLongSleep       = "long-sleep"
	bugLateStart       = "late-start"
	bugNoWatchdog      = "unstarted-watchdog"
)

func watchdogPublished() Spec {
	all := []Bug{
		{Name: bugBlindRenewal, What: "the renewal does not check the owner"},
		{Name: bugSharedFlag, What: "one flag for all keys of a lock object: any release stops every watchdog, any acquire starts them"},
		{Name: bugUnclearedFlag, What: "a failed release does not clear the flag: the watchdog goes on, whoever owns the lock"},
		{Name: bugStaticMonitor, What: "watchdogs synchronise on a static object: one runs at a time, the next may be too late"},
		{Name: bugSurvivor, What: "the flag is not read during a sleep: cleared and set again meanwhile, it keeps the old watchdog running"},
		{Name: bugOverwritten, What: "any acquire by the same thread and lock object overwrites the token: the lock held before cannot be released"},
		{Name: bugSpentRetries, What: "the three retries belong to the object, not to one acquire"},
		{Name: bugSilentEnd, What: "an error in the renewal ends the watchdog silently"},
		{Name: bugLateStart, What: "the watchdog counts from the reply to SET: after a slow reply its first renewal comes too late"},
		{Name: bugSwallowed, What: "every error is caught: a release whose reply is lost answers no, and so does a SET that the server may have executed"},
		{Name: bugRetriesBlindly, What: "a SET whose reply is lost is retried with a new token and refused by its own ghost lock"},
		{Name: bugForeignEncoding, What: "the renewal encodes the key differently from SET: it renews a key that does not exist", Apart: true},
		{Name: bugLongSleep, What: "the sleep after a renewal is always 3 s: a lease of 2 s expires meanwhile", Apart: true},
		{Name: bugNoWatchdog, What: "a watchdog that cannot be started is caught and logged: acquire says yes, and nothing renews the lock", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "watchdog-published",
			Idea:   "SET NX PX with a token, and a thread that renews the lease after two thirds of it, as published; it polls where the published one spins",
			Source: "article 002, A7",
			Bug: "the renewal is blind; flag, token, monitor and retries are shared by unrelated locks; " +
				"a watchdog counts from the reply to SET, and can outlive its lock; errors are caught and become no",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety},
			Needs:    OneServer,
			Sends:    sends([]string{"SET"}, []string{"EVAL"}),
			Clocks:   []Clock{WallClock},
			Contract: history.Contract{Renews: true},
		},
		New: func(env Env, opts Options) Lock {
			return &watchdogPublishedLock{env: env, opts: opts, bugs: shownBy(opts, all)}
		},
	}
}

type watchdogPublishedLock struct {
	env  Env
	opts Options
	bugs bugs
	own  watchdogObject // unless the bug is that all keys and threads of a lock object have one
	hold localToken     // unless the bug is that the thread has one for all keys
}

const publishedRetries = 3

// TryAcquire retries at once after a refusal or an error, as long as it has retries left. The published lock() cannot tell the two apart,
// because setRedis catches every exception and returns false.
func (l *watchdogPublishedLock) TryAcquire(ctx context.Context) (bool, error) {
	if !l.bugs.has(bugSpentRetries) {
		l.object().restoreRetries()
	}
	for {
		token := l.env.Token()
		if l.bugs.has(bugOverwritten) {
			l.token().set(token)
		}
		if l.bugs.has(bugSharedFlag) {
			l.flag().set()
		}
		began := l.env.Now()
		held, err := stored(l.env.Server().Do(ctx, "SET", l.opts.Key, token, "NX", "PX", l.opts.Lease.Milliseconds()))
		if held {
			l.token().set(token)
			l.flag().set()
			if !l.bugs.has(bugNoWatchdog) {
				l.env.Go(func(ctx context.Context) { l.guard(ctx, token, began) })
			}
			return true, nil
		}
		if ctx.Err() != nil || err != nil && !l.bugs.has(bugRetriesBlindly) || !l.object().retry() {
			return false, l.caught(err)
		}
	}
}

// caught is what becomes of an error in setRedis or releaseLock, which log each exception and return false.
func (l *watchdogPublishedLock) caught(err error) error {
	if l.bugs.has(bugSwallowed) {
		return nil
	}
	return err
}

// Release deletes the lock and then clears the flag, which it leaves set after an exception. It does not wait for the watchdog.
func (l *watchdogPublishedLock) Release(ctx context.Context) (bool, error) {
	script := &Script{Source: compareAndDelete}
	removed, err := applied(l.env.Server().Eval(ctx, script, []string{l.opts.Key}, l.token().get()))
	if removed || !l.bugs.has(bugUnclearedFlag) {
		l.flag().clear()
	}
	return removed, l.caught(err)
}

// guard is the watchdog. The published code sleeps 3 s after a renewal of a lease of 20 s, or of 2 s. Until the next renewal is due it spins
// and keeps a core busy. Here it polls, because a busy core is no anomaly and a model's time must pass. The spinning loop sees each clearing
// of the flag; the flag counts its clearings, so that the polling one does, too.
func (l *watchdogPublishedLock) guard(ctx context.Context, token string, renewed time.Time) {
	if l.bugs.has(bugLateStart) {
		renewed = l.env.Now()
	}
	step, sleep := l.opts.Lease/30, l.opts.Lease*3/20
	if l.bugs.has(bugLongSleep) {
		sleep = l.opts.Lease * 3 / 2
	}
	if l.bugs.has(bugStaticMonitor) {
		monitor := static(l.env, watchdogMonitorName, zero[watchdogMonitor])
		for !monitor.enter() {
			if l.env.Sleep(ctx, step) != nil {
				return
			}
		}
		defer monitor.leave()
	}
	flag := l.flag()
	cleared := flag.clearings()
	for flag.keeps(cleared) {
		if wait := renewed.Add(l.opts.Lease * 2 / 3).Sub(l.env.Now()); wait > 0 {
			if l.env.Sleep(ctx, min(wait, step)) != nil {
				return
			}
			continue
		}
		if !l.renew(ctx, token) {
			return
		}
		renewed = l.env.Now()
		if l.env.Sleep(ctx, sleep) != nil {
			return
		}
		if l.bugs.has(bugSurvivor) {
			cleared = flag.clearings()
		}
	}
}

// renew says whether the watchdog goes on. It ignores the reply of PEXPIRE.
func (l *watchdogPublishedLock) renew(ctx context.Context, token string) bool {
	key, lease, server := l.opts.Key, l.opts.Lease.Milliseconds(), l.env.Server()
	if l.bugs.has(bugForeignEncoding) {
		key = `"` + key + `"`
	}
	owner, err := true, error(nil)
	if l.bugs.has(bugBlindRenewal) {
		_, err = server.Do(ctx, "PEXPIRE", key, lease)
	} else {
		owner, err = applied(server.Eval(ctx, &Script{Source: compareAndExpire}, []string{key}, token, lease))
	}
	if err != nil {
		return !l.bugs.has(bugSilentEnd)
	}
	return owner
}

// object is what the published lock object keeps in its fields.
func (l *watchdogPublishedLock) object() *watchdogObject {
	return field(l.env, "watchdog-published", zero[watchdogObject])
}

// flag holds this lock's flag.
func (l *watchdogPublishedLock) flag() *watchdogObject {
	if l.bugs.has(bugSharedFlag) {
		return l.object()
	}
	return &l.own
}

// token holds this lock's token: as published, in a thread-local of the lock object, which has one for all keys.
func (l *watchdogPublishedLock) token() *localToken {
	if l.bugs.has(bugOverwritten) {
		return field(l.env, "watchdog-published token of thread "+l.env.Thread(), zero[localToken])
	}
	return &l.hold
}

// watchdogObject is what the published lock object keeps in its fields. Each method is one atomic step, for locks and watchdogs that run
// concurrently.
type watchdogObject struct {
	mu      sync.Mutex
	on      bool // the flag that keeps watchdogs going
	cleared int  // how often it was cleared
	spent   int  // retries used up
}

// watchdogMonitorName is what the locks of a process know the monitor by.
const watchdogMonitorName = "watchdog-published monitor"

// watchdogMonitor is the static object on which watchdogs synchronise.
type watchdogMonitor struct {
	mu      sync.Mutex
	entered bool
}

func (s *watchdogObject) set() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = true
}

func (s *watchdogObject) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = false
	s.cleared++
}

func (s *watchdogObject) clearings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cleared
}

// keeps says whether the flag is on and was not cleared since: a watchdog that waits busily notices every clearing.
func (s *watchdogObject) keeps(cleared int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on && s.cleared == cleared
}

// retry uses a retry, if one is left.
func (s *watchdogObject) retry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent == publishedRetries {
		return false
	}
	s.spent++
	return true
}

func (s *watchdogObject) restoreRetries() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = 0
}

// enter enters the monitor, unless another watchdog is in it.
func (m *watchdogMonitor) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entered {
		return false
	}
	m.entered = true
	return true
}

func (m *watchdogMonitor) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entered = false
}
