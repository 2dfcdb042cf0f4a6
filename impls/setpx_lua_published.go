package impls

import (
	"context"
	"math"
	"sync"
	"time"
)

// The bugs of the code published with article 000 v2.
const (
	bugEndlessUnlock = "endless-release"
	bugStarvingPool  = "starving-pool"
	bugEndlessLease  = "endless-lease"
)

func setpxLuaPublished() Spec {
	all := []Bug{
		{Name: bugStarvingPool, What: "a waiter keeps its connection, of two, and a thread that waits for one blocks the others of its lock from returning theirs"},
		wallClockBug(),
		{Name: bugEndlessUnlock, What: "a release that does not find its token retries every 200 ms, for 24.9 days", Apart: true},
		{Name: bugEndlessLease, What: "the constructor without a lease, which the sale uses, takes 2³¹−1 ms: a crashed holder stops everybody for 24.9 days", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "setpx-lua-published",
			Idea:   "setpx-lua as its code was published",
			Source: "article 000 v2, A4, published code",
			Bug: "waiters leave the holder no connection to release with; a lost reply leaves the token unsaved; a wait is measured by the wall clock; " +
				"on request, a release after the lease that never ends, and a lease that does not, either",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SET"}, []string{"EVAL"}),
			Clocks:   []Clock{WallClock},
		},
		New: func(env Env, opts Options) Lock {
			l := &setpxLuaPublishedLock{env: env, opts: opts, bugs: shownBy(opts, all)}
			if l.bugs.has(bugWallClock) {
				return &struct {
					*setpxLuaPublishedLock
					wallClock
				}{l, wallClock{env}}
			}
			return l
		},
	}
}

type setpxLuaPublishedLock struct {
	env     Env
	opts    Options
	bugs    bugs
	token   string // the published thread-local, which each lock object has; removed by a successful release only
	waiting bool   // its client waits, and keeps a connection
}

func (l *setpxLuaPublishedLock) TryAcquire(ctx context.Context) (bool, error) {
	giveBack, err := l.borrow(ctx)
	if err != nil {
		return false, err
	}
	token := l.env.Token()
	held, err := stored(l.env.Server().Do(ctx, "SET", l.opts.Key, token, "NX", "PX", l.lease().Milliseconds()))
	if held {
		l.token = token
	}
	if back := giveBack(ctx); err == nil {
		err = back
	}
	return held, err
}

func (l *setpxLuaPublishedLock) Release(ctx context.Context) (bool, error) {
	giveBack, err := l.borrow(ctx)
	if err != nil {
		return false, err
	}
	removed, err := l.remove(ctx)
	if back := giveBack(ctx); err == nil {
		err = back
	}
	return removed, err
}

// remove retries until it succeeds or its time is over, 2³¹−1 ms. The bug: it retries even though the lock is no longer ours. Without a token the published
// release prints "lock is null!" and returns false.
func (l *setpxLuaPublishedLock) remove(ctx context.Context) (bool, error) {
	if l.token == "" {
		return false, nil
	}
	const pause = 200 * time.Millisecond
	script := &Script{Source: compareAndDelete}
	for over := l.env.Now().Add(forEver); !l.env.Now().After(over); {
		removed, err := applied(l.env.Server().Eval(ctx, script, []string{l.opts.Key}, l.token))
		if removed {
			l.token = "" // lockThreadLocal.remove()
			return true, nil
		}
		if err != nil || !l.bugs.has(bugEndlessUnlock) {
			return false, err
		}
		if err := l.env.Sleep(ctx, pause); err != nil {
			return false, err
		}
	}
	return false, nil
}

// forEver is Integer.MAX_VALUE, the published default of both leases and releases.
const forEver = math.MaxInt32 * time.Millisecond

func (l *setpxLuaPublishedLock) lease() time.Duration {
	if l.bugs.has(bugEndlessLease) {
		return forEver
	}
	return l.opts.Lease
}

// Pause is that of the published code.
func (l *setpxLuaPublishedLock) Pause(time.Duration) time.Duration { return 200 * time.Millisecond }

// Enter takes the connection that is kept until Leave.
func (l *setpxLuaPublishedLock) Enter(ctx context.Context) error {
	if !l.bugs.has(bugStarvingPool) {
		return nil
	}
	err := l.getClient(ctx)
	l.waiting = err == nil
	return err
}

// Leave returns the connection.
func (l *setpxLuaPublishedLock) Leave(ctx context.Context, _ bool) error {
	if !l.waiting {
		return nil
	}
	l.waiting = false
	_ = l.closeClient(ctx) // the only error is the end of ctx, and the connection has nothing to do with the answer
	return nil
}

// borrow takes a connection for one command, unless the lock has one already.
func (l *setpxLuaPublishedLock) borrow(ctx context.Context) (giveBack func(context.Context) error, _ error) {
	if l.waiting || !l.bugs.has(bugStarvingPool) {
		return func(context.Context) error { return nil }, nil
	}
	return l.closeClient, l.getClient(ctx)
}

// getClient is the published synchronized method: it waits for a connection inside the monitor of its lock object.
func (l *setpxLuaPublishedLock) getClient(ctx context.Context) error {
	monitor, connections := l.monitor(), l.connections()
	if err := l.until(ctx, monitor.take); err != nil {
		return err
	}
	defer monitor.giveBack()
	return l.until(ctx, connections.take)
}

// closeClient is synchronized, too. If ctx ends first, the connection is returned outside the monitor, as at the end of a thread.
func (l *setpxLuaPublishedLock) closeClient(ctx context.Context) error {
	monitor := l.monitor()
	err := l.until(ctx, monitor.take)
	if err == nil {
		defer monitor.giveBack()
	}
	l.connections().giveBack()
	return err
}

// connections are the pool of the process.
func (l *setpxLuaPublishedLock) connections() *permits {
	return static(l.env, "setpx-lua-published pool", func() *permits { return &permits{free: 2} })
}

// monitor is that of the published lock object, which has one key.
func (l *setpxLuaPublishedLock) monitor() *permits {
	return field(l.env, "setpx-lua-published monitor "+l.opts.Key, func() *permits { return &permits{free: 1} })
}

// until polls step until it returns true.
func (l *setpxLuaPublishedLock) until(ctx context.Context, step func() bool) error {
	const poll = 5 * time.Millisecond
	for !step() {
		if err := l.env.Sleep(ctx, poll); err != nil {
			return err
		}
	}
	return nil
}

// permits counts what can be taken.
type permits struct {
	mu   sync.Mutex
	free int
}

func (p *permits) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == 0 {
		return false
	}
	p.free--
	return true
}

func (p *permits) giveBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
}
