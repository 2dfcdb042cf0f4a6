package explore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// Locks as the authors of libraries write them: with a watchdog, a pool, a back-off, a context for the lease.

const compareAndExpire = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`

// renewed has a watchdog. By default it ends with the release, and reports that the lock is gone.
type renewed struct {
	plain
	most     int  // renewals; 0: any number
	acquires bool // the watchdog goes by the context of its acquire
	ignores  bool // that the lock is gone
	recovers bool // from panics, in each turn
	byReply  bool // its interval is twice what was left of the lease
	late     bool // its interval is the lease
	valid    time.Duration
	lost     chan struct{}
	stop     func()
}

func (l *renewed) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	if !ok {
		return ok, err
	}
	l.lost = make(chan struct{})
	mine, lost, wait := l.value, l.lost, l.lease/3
	if l.late {
		wait = l.lease
	}
	l.stop = l.env.Go(func(task context.Context) {
		if l.acquires {
			task = ctx
		}
		for n := 0; task.Err() == nil && (l.most == 0 || n < l.most); n++ {
			var goesOn bool
			if wait, goesOn = l.turn(task, wait, mine); !goesOn && !l.ignores {
				if task.Err() == nil {
					l.env.Lost("it is another's")
					close(lost)
				}
				return
			}
		}
	})
	return true, nil
}

func (l *renewed) turn(ctx context.Context, wait time.Duration, mine string) (next time.Duration, goesOn bool) {
	if l.recovers {
		defer func() { _ = recover() }()
	}
	if l.env.Sleep(ctx, wait) != nil {
		return 0, false
	}
	at := l.env.Monotonic()
	left, err := l.env.Server().Do(ctx, "PTTL", lockKey)
	if err != nil {
		return wait, true
	}
	n, err := l.env.Server().Eval(ctx, &impls.Script{Source: compareAndExpire}, []string{lockKey}, mine, l.lease.Milliseconds())
	if err != nil || n != int64(1) && !l.ignores {
		return wait, err != nil
	}
	if l.valid > 0 {
		l.env.Renewed(l.lease - (l.env.Monotonic() - at))
	}
	if rest, _ := left.(int64); l.byReply {
		wait = 2 * time.Duration(rest) * time.Millisecond
	}
	return wait, true
}

func (l *renewed) Release(ctx context.Context) (bool, error) {
	l.stop()
	return l.plain.Release(ctx)
}

// limited says for how long it is valid, too.
type limited struct{ renewed }

func (l *limited) TryAcquire(ctx context.Context) (bool, error) {
	l.valid = l.lease
	at := l.env.Monotonic()
	ok, err := l.renewed.TryAcquire(ctx)
	l.valid = l.lease - (l.env.Monotonic() - at)
	return ok, err
}

func (l *limited) Valid() time.Duration { return l.valid }

// careless deletes the lock if its watchdog has lost it: then it is nobody's, it thinks.
type careless struct{ renewed }

func (l *careless) Release(ctx context.Context) (bool, error) {
	l.stop()
	select {
	case <-l.lost:
		return l.del(ctx)
	default:
		return l.plain.Release(ctx)
	}
}

// cacher asks how long the lock lives, and after that time takes it by force.
type cacher struct {
	plain
	until time.Time
}

func (l *cacher) TryAcquire(ctx context.Context) (bool, error) {
	if !l.until.IsZero() && l.env.Now().After(l.until) {
		l.until = time.Time{}
		return l.take(ctx, l.env.Token())
	}
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil || !l.until.IsZero() {
		return ok, err
	}
	left, err := l.env.Server().Do(ctx, "PTTL", lockKey)
	if n, _ := left.(int64); n > 0 {
		l.until = l.env.Now().Add(time.Duration(n) * time.Millisecond)
	}
	return false, err
}

// watcherOfTokens deletes a token that it has seen for three quarters of a lease.
type watcherOfTokens struct {
	plain
	seen  string
	since time.Time
}

func (l *watcherOfTokens) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil {
		return ok, err
	}
	v, err := l.env.Server().Do(ctx, "GET", lockKey)
	seen, _ := v.(string)
	switch now := l.env.Now(); {
	case err != nil || seen == "":
	case seen != l.seen:
		l.seen, l.since = seen, now
	case now.Sub(l.since) > l.lease*3/4:
		_, err = l.env.Server().Eval(ctx, &impls.Script{Source: compareAndDelete}, []string{lockKey}, seen)
	}
	return false, err
}

// inSeconds says EX, and rounds.
type inSeconds struct {
	certain
	up bool
}

func (l *inSeconds) TryAcquire(ctx context.Context) (bool, error) {
	seconds, at, mine := l.lease/time.Second, l.env.Monotonic(), l.env.Token()
	if l.up {
		seconds++
	}
	reply, err := l.env.Server().Do(ctx, "SET", lockKey, mine, "NX", "EX", int64(seconds))
	if reply == "OK" {
		l.value, l.valid = mine, l.lease-(l.env.Monotonic()-at)
	}
	return reply == "OK", err
}

// resterWhile waits twice as long after each refusal, and takes the lock by force when it can wait no longer.
type resterWhile struct {
	plain
	wait time.Duration
}

func (l *resterWhile) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil {
		return ok, err
	}
	if l.wait = min(max(2*l.wait, l.lease/24), l.lease/3); l.wait == l.lease/3 {
		return l.take(ctx, l.env.Token())
	}
	return false, l.env.Sleep(ctx, l.wait)
}

// builders are shared by all locks of the program, as pools are.
var builders = sync.Pool{New: func() any { return new(strings.Builder) }}

type pooled struct{ plain }

func (l *pooled) TryAcquire(ctx context.Context) (bool, error) {
	b := builders.Get().(*strings.Builder)
	defer builders.Put(b)
	b.Reset()
	b.WriteString("owner:")
	b.WriteString(l.env.Token())
	return l.try(ctx, b.String())
}

// ways are how a chained lock tries, one after the other.
type way func(context.Context, *chained) (bool, error)

type chained struct {
	plain
	ways []way
}

func byNX(ctx context.Context, l *chained) (bool, error)    { return l.plain.TryAcquire(ctx) }
func byForce(ctx context.Context, l *chained) (bool, error) { return l.take(ctx, l.env.Token()) }

func (l *chained) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.ways[0](ctx, l)
	if !ok && err == nil {
		l.ways = append(l.ways[1:], l.ways[0])
	}
	return ok, err
}

var longHolds = []faults.Kind{faults.LongHold}

var fromLibraries = []strange{
	{name: "a watchdog by its acquire's context", only: holders, faults: longHolds, made: func(p plain) impls.Lock { return &renewed{plain: p, acquires: true} }},
	{name: "a watchdog that renews three times", only: holders, faults: longHolds, made: func(p plain) impls.Lock { return &renewed{plain: p, most: 3} }},
	{name: "a watchdog that ignores a no", only: holders, faults: pauses(1), made: func(p plain) impls.Lock { return &limited{renewed{plain: p, ignores: true, most: 2}} }},
	{name: "a watchdog whose interval is a reply", only: holders, faults: longHolds, made: func(p plain) impls.Lock { return &renewed{plain: p, byReply: true, most: 3} }},
	{name: "a watchdog whose interval is the lease", only: holders, faults: longHolds, made: func(p plain) impls.Lock { return &renewed{plain: p, late: true} }},
	{name: "a watchdog that recovers", holds: true, only: strays[:1], faults: pauses(1), made: func(p plain) impls.Lock { return &renewed{plain: p, recovers: true} }},
	{name: "deletes what its watchdog has lost", only: strays, faults: pauses(1), made: func(p plain) impls.Lock { return &careless{renewed{plain: p, most: 2}} }},
	{name: "caches how long the lock lives", only: overwrites, rounds: 2, made: func(p plain) impls.Lock { return &cacher{plain: p} }},
	{name: "deletes a token that it has seen for long", only: strays, faults: pauses(1), made: func(p plain) impls.Lock { return &watcherOfTokens{plain: p} }},
	{name: "a lease in seconds, rounded down", only: holders, faults: pauses(1), made: func(p plain) impls.Lock { return &inSeconds{certain: certain{plain: p}} }},
	{name: "a lease in seconds, rounded up", holds: true, only: holders, made: func(p plain) impls.Lock { return &inSeconds{certain{plain: p}, true} }},
	{name: "a back-off that ends in force", only: overwrites, faults: pauses(1), made: func(p plain) impls.Lock { return &resterWhile{plain: p} }},
	{name: "a pool", holds: true, rounds: 2, faults: []faults.Kind{faults.Crash}, made: func(p plain) impls.Lock { return &pooled{p} }},
	{name: "the third way is force", only: overwrites, made: func(p plain) impls.Lock { return &chained{p, []way{byNX, byNX, byForce}} }},
	{name: "believes in an acquire that was over time", only: holders, faults: pauses(1), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ctx, cancel := l.env.WithTimeout(ctx, l.lease/4)
		defer cancel()
		if v, err := l.do(ctx, "GET", lockKey); err != nil || v != nil {
			return false, err
		}
		ok, err := l.plain.TryAcquire(ctx)
		return ok || errors.Is(err, context.DeadlineExceeded), nil
	}, nil)},
	{name: "RENAMENX", holds: true, rounds: 2, faults: []faults.Kind{faults.Crash}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		if _, err := l.set(ctx, l.env.Server(), "new:"+mine, mine); err != nil {
			return false, err
		}
		n, err := l.do(ctx, "RENAMENX", "new:"+mine, lockKey)
		if err == nil && n != int64(1) {
			_, err = l.do(ctx, "DEL", "new:"+mine)
		}
		return n == int64(1), err
	}, nil)},
	{name: "a list with one element, which two have put there", only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "EXISTS", "begun")
		if err == nil && n == int64(0) {
			if _, err = l.do(ctx, "SET", "begun", 1); err == nil {
				_, err = l.do(ctx, "RPUSH", lockKey, "free")
			}
		}
		if err != nil {
			return false, err
		}
		v, err := l.do(ctx, "LPOP", lockKey)
		return v == "free", err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		_, err := l.do(ctx, "RPUSH", lockKey, "free")
		return err == nil, err
	})},
	{name: "PXAT by its own clock", only: holders, faults: []faults.Kind{faults.ClockBehind}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		reply, err := l.do(ctx, "SET", lockKey, l.value, "NX", "PXAT", l.env.Now().Add(l.lease).UnixMilli())
		return reply == "OK", err
	}, nil)},
	{name: "takes it for ever after a crash", clients: 3, only: []checker.Name{checker.StuckLock}, faults: []faults.Kind{faults.Crash, faults.Crash}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "INCR", "inside")
		if err != nil {
			return false, err
		}
		ok, err := l.plain.TryAcquire(ctx)
		switch {
		case err != nil:
		case !ok:
			_, err = l.do(ctx, "DECR", "inside")
		case n != int64(1):
			_, err = l.do(ctx, "PERSIST", lockKey)
		}
		return ok && err == nil, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.Release(ctx)
		if err == nil {
			_, err = l.do(ctx, "DECR", "inside")
		}
		return ok, err
	})},
}

func TestLocksOfLibraries(t *testing.T) {
	t.Parallel()
	for _, s := range fromLibraries[:needs.Count(t, "locks", 4, len(fromLibraries))] {
		t.Run(s.name, func(t *testing.T) {
			result := s.explore(t)
			assert.Equal(t, s.holds, result.Found == nil)
			assert.True(t, !s.holds || result.Complete(), "%s %s", result.Limit, result.Doubt)
		})
	}
}
