package impls

import (
	"context"
	"math"
	"sync"
	"time"
)

// The bugs of the code published with article 000 v2.
const (
	bugUnsavedToken  = "unsaved-token"
	bugEndlessUnlock = "endless-release"
	bugStarvingPool  = "starving-pool"
)

func setpxLuaPublished() Spec {
	all := []Bug{
		{Name: bugUnsavedToken, What: "the token is saved after the reply to SET: if the reply is lost, nobody can release the lock"},
		{Name: bugStarvingPool, What: "a waiter keeps its connection, of two, and a client that waits for one blocks the others from returning theirs"},
		{Name: bugEndlessUnlock, What: "a release that does not find its token retries every 200 ms, for 24.9 days", Apart: true},
	}
	return Spec{
		Card: Card{
			Name:   "setpx-lua-published",
			Idea:   "setpx-lua as its code was published",
			Source: "article 000 v2, A4, published code",
			Bug: "waiters leave the holder no connection to release with; a lost reply leaves the token unsaved; " +
				"on request, a release after the lease that never ends",
			Bugs:     all,
			Promises: []Promise{MutualExclusion, ReleaseByOwner, CrashSafety, IgnoresClientTime},
			Needs:    OneServer,
			Sends:    sends([]string{"SET"}, []string{"EVAL"}),
		},
		New: func(env Env, opts Options) Lock {
			return &setpxLuaPublishedLock{env: env, opts: opts, bugs: shownBy(opts, all)}
		},
	}
}

type setpxLuaPublishedLock struct {
	env     Env
	opts    Options
	bugs    bugs
	token   string
	waiting bool // its client waits, and keeps a connection
}

func (l *setpxLuaPublishedLock) TryAcquire(ctx context.Context) (bool, error) {
	giveBack, err := l.borrow(ctx)
	if err != nil {
		return false, err
	}
	token := l.env.Token()
	if !l.bugs.has(bugUnsavedToken) {
		l.token = token
	}
	held, err := stored(l.env.Server().Do(ctx, "SET", l.opts.Key, token, "NX", "PX", l.opts.Lease.Milliseconds()))
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

// remove retries until it succeeds or its time is over. The bug: it retries even though the lock is no longer ours.
func (l *setpxLuaPublishedLock) remove(ctx context.Context) (bool, error) {
	const pause = 200 * time.Millisecond
	script := &Script{Source: compareAndDelete}
	for over := l.env.Now().Add(l.releaseTime()); ; {
		removed, err := applied(l.env.Server().Eval(ctx, script, []string{l.opts.Key}, l.token))
		if removed || err != nil || !l.env.Now().Before(over) {
			return removed, err
		}
		if err := l.env.Sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}

// releaseTime is how long a release retries: as published, 2³¹−1 ms.
func (l *setpxLuaPublishedLock) releaseTime() time.Duration {
	if l.bugs.has(bugEndlessUnlock) {
		return math.MaxInt32 * time.Millisecond
	}
	return 0
}

// Enter takes the connection that is kept until Leave.
func (l *setpxLuaPublishedLock) Enter(ctx context.Context) error {
	if !l.bugs.has(bugStarvingPool) {
		return nil
	}
	err := l.pool().take(ctx, l.env)
	l.waiting = err == nil
	return err
}

// Leave returns the connection.
func (l *setpxLuaPublishedLock) Leave(ctx context.Context, _ bool) {
	if !l.waiting {
		return
	}
	l.waiting = false
	_ = l.pool().giveBack(ctx, l.env) // the only error is the end of ctx
}

// borrow takes a connection for one command, unless the lock has one already.
func (l *setpxLuaPublishedLock) borrow(ctx context.Context) (giveBack func(context.Context) error, _ error) {
	if l.waiting || !l.bugs.has(bugStarvingPool) {
		return func(context.Context) error { return nil }, nil
	}
	pool := l.pool()
	return func(ctx context.Context) error { return pool.giveBack(ctx, l.env) }, pool.take(ctx, l.env)
}

// pool is shared by all locks of the process.
func (l *setpxLuaPublishedLock) pool() *monitoredPool {
	return l.env.Shared("setpx-lua-published", func() any { return &monitoredPool{free: 2} }).(*monitoredPool)
}

// monitoredPool is a bounded pool of connections behind one monitor: a client that waits in it for a connection blocks those that would
// return one.
type monitoredPool struct {
	mu       sync.Mutex
	occupied bool // a client is in the monitor
	free     int
}

// poolPoll is the polling interval of a wait.
const poolPoll = 5 * time.Millisecond

func (p *monitoredPool) take(ctx context.Context, env Env) error {
	if err := p.until(ctx, env, p.enter); err != nil {
		return err
	}
	err := p.until(ctx, env, func() bool {
		if p.free == 0 {
			return false
		}
		p.free--
		return true
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.occupied = false
	return err
}

// giveBack returns a connection. If ctx ends first, it is returned outside the monitor, as at the end of a thread.
func (p *monitoredPool) giveBack(ctx context.Context, env Env) error {
	err := p.until(ctx, env, p.enter)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
	if err == nil {
		p.occupied = false
	}
	return err
}

func (p *monitoredPool) enter() bool {
	if p.occupied {
		return false
	}
	p.occupied = true
	return true
}

// until polls step, under the pool's mutex, until it returns true.
func (p *monitoredPool) until(ctx context.Context, env Env, step func() bool) error {
	for {
		p.mu.Lock()
		done := step()
		p.mu.Unlock()
		if done {
			return nil
		}
		if err := env.Sleep(ctx, poolPoll); err != nil {
			return err
		}
	}
}
