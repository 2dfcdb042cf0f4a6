package explore

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// scripted is a stranger that is written where it is listed. It keeps the number of its code, since a search does not look into functions.
type scripted struct {
	plain
	code int
	n    int
	t    time.Time
}

const (
	compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`
	compareAndExpire = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`
)

func (l *scripted) do(ctx context.Context, args ...any) (any, error) {
	return l.env.Server().Do(ctx, args...)
}

// step is an operation of a scripted lock.
type step = func(l *scripted, ctx context.Context) (bool, error)

// numbered has the functions that locks know by a number. A test may add one while others search.
type numbered[T any] struct {
	mu  sync.Mutex
	all []T
}

func (n *numbered[T]) add(f T) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, f)
	return len(n.all) - 1
}

func (n *numbered[T]) at(i int) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[i]
}

// scripts are the acquires and releases of scripted locks; nil: those of plain.
var scripts numbered[[2]step]

func (l *scripted) TryAcquire(ctx context.Context) (bool, error) {
	if try := scripts.at(l.code)[0]; try != nil {
		return try(l, ctx)
	}
	return l.plain.TryAcquire(ctx)
}

func (l *scripted) Release(ctx context.Context) (bool, error) {
	if release := scripts.at(l.code)[1]; release != nil {
		return release(l, ctx)
	}
	return l.plain.Release(ctx)
}

func script(try, release step) func(plain) impls.Lock {
	code := scripts.add([2]step{try, release})
	return func(p plain) impls.Lock { return &scripted{plain: p, code: code} }
}

func (l *plain) del(ctx context.Context) (bool, error) {
	n, err := l.env.Server().Do(ctx, "DEL", learn.LockKey)
	return n == int64(1), err
}

// between says whether a time is between two parts of the lease.
func (l *scripted) between(d time.Duration, from, to float64) bool {
	return d >= time.Duration(from*float64(l.lease)) && d <= time.Duration(to*float64(l.lease))
}

var scriptedStrangers = []strange{
	{name: "times a step, and decides one step later", faults: []faults.Kind{faults.Pause, faults.Pause}, only: overwrites, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if ok || err != nil {
			return ok, err
		}
		a := l.env.Now()
		if _, err := l.env.Server().Do(ctx, "GET", learn.LockKey); err != nil {
			return false, err
		}
		b := l.env.Now()
		if _, err := l.env.Server().Do(ctx, "PING"); err != nil {
			return false, err
		}
		if l.between(b.Sub(a), .3, .5) {
			return l.take(ctx, l.env.Token())
		}
		return false, nil
	}, nil)},
	{name: "its release reads the clock first, and acts later", faults: []faults.Kind{faults.Pause}, only: []checker.Name{checker.WrongfulDelete}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if ok {
			l.t = l.env.Now()
		}
		return ok, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		late := l.between(l.env.Now().Sub(l.t), 1.4, 1.6)
		v, err := l.env.Server().Do(ctx, "GET", learn.LockKey)
		if err != nil {
			return false, err
		}
		if v == l.value || late {
			return l.del(ctx)
		}
		return false, nil
	})},
	{name: "deletes once more, a while after its release", rounds: 1, clients: 3, faults: []faults.Kind{}, only: []checker.Name{checker.WrongfulDelete}, made: script(nil, func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.Release(ctx)
		l.env.Go(func(ctx context.Context) {
			if l.env.Sleep(ctx, l.lease/7) == nil {
				_, _ = l.del(ctx)
			}
		})
		return ok, err
	})},
	{name: "a queue in a sorted set, whose ties tokens decide", ordered: true, clients: 2, faults: []faults.Kind{faults.ClockAhead}, only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		l.value = mine
		if _, err := l.env.Server().Do(ctx, "ZADD", learn.LockKey, l.env.Now().UnixMilli(), mine); err != nil {
			return false, err
		}
		r, err := l.env.Server().Do(ctx, "ZRANK", learn.LockKey, mine)
		if r == int64(0) {
			return true, nil
		}
		if err == nil {
			_, err = l.env.Server().Do(ctx, "ZREM", learn.LockKey, mine)
		}
		return false, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "ZREM", learn.LockKey, l.value)
		return n == int64(1), err
	})},
	{name: "a script gives it to the smaller token", ordered: true, faults: []faults.Kind{}, only: overwrites, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		n, err := l.env.Server().Eval(ctx, &impls.Script{Source: `local v = redis.call("GET", KEYS[1]); if not v or ARGV[1] < v then redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) return 1 end return 0`}, []string{learn.LockKey}, mine, l.lease.Milliseconds())
		if n == int64(1) {
			l.value = mine
		}
		return n == int64(1), err
	}, nil)},
	{name: "the ninth attempt that the server counts is by force", rounds: 3, only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "INCR", "attempts")
		if err != nil {
			return false, err
		}
		if n.(int64) == 9 {
			return l.take(ctx, l.env.Token())
		}
		return l.plain.TryAcquire(ctx)
	}, nil)},
	{name: "takes over while half of the lease is left", faults: []faults.Kind{faults.Pause}, only: overwrites, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if ok || err != nil {
			return ok, err
		}
		n, err := l.env.Server().Do(ctx, "PTTL", learn.LockKey)
		if err != nil {
			return false, err
		}
		if ttl := time.Duration(n.(int64)) * time.Millisecond; l.between(ttl, .4, .6) {
			return l.take(ctx, l.env.Token())
		}
		return false, nil
	}, nil)},
	{name: "takes over by a stamp under another key", faults: []faults.Kind{faults.Pause}, only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		now := l.env.Now().UnixMilli()
		v, err := l.env.Server().Do(ctx, "GET", "stamp")
		if err != nil {
			return false, err
		}
		if s, ok := v.(string); ok {
			if at, _ := strconv.ParseInt(s, 10, 64); now-at > 300 && now-at < 500 {
				return l.take(ctx, mine)
			}
		}
		ok, err := l.try(ctx, mine)
		if ok {
			_, err = l.env.Server().Do(ctx, "SET", "stamp", now)
		}
		return ok, err
	}, nil)},
	{name: "sets, waits, and looks again, and a client pauses", faults: []faults.Kind{faults.Pause}, only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		v, err := l.env.Server().Do(ctx, "GET", learn.LockKey)
		if err != nil || v != nil {
			return false, err
		}
		mine := l.env.Token()
		if _, err := l.set(ctx, l.env.Server(), learn.LockKey, mine); err != nil {
			return false, err
		}
		if err := l.env.Sleep(ctx, l.lease/12); err != nil {
			return false, err
		}
		v, err = l.env.Server().Do(ctx, "GET", learn.LockKey)
		return v == mine, err
	}, nil)},
	{name: "goes on after its release, until the lease ends", rounds: 2, only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		if !l.t.IsZero() && l.env.Now().Before(l.t) {
			return true, nil
		}
		ok, err := l.plain.TryAcquire(ctx)
		if ok {
			l.t = l.env.Now().Add(l.lease)
		}
		return ok, err
	}, nil)},
	{name: "watches another key", faults: []faults.Kind{}, only: holders, made: script(func(l *scripted, ctx context.Context) (held bool, err error) {
		mine := l.env.Token()
		err = l.env.Server().Watch(ctx, []string{"other"}, func(tx impls.Tx) error {
			v, err := tx.Do(ctx, "GET", learn.LockKey)
			if err != nil || v != nil {
				return err
			}
			_, held, err = tx.Exec(ctx, impls.Command{"SET", learn.LockKey, mine, "PX", l.lease.Milliseconds()})
			return err
		})
		if held {
			l.value = mine
		}
		return held, err
	}, nil)},
	{name: "deletes the field of a hash, whoever's it is", faults: []faults.Kind{faults.Pause}, only: []checker.Name{checker.WrongfulDelete, checker.DoubleHolder}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		n, err := l.env.Server().Do(ctx, "HSETNX", learn.LockKey, "owner", mine)
		if n == int64(1) {
			l.value = mine
			_, err = l.env.Server().Do(ctx, "PEXPIRE", learn.LockKey, l.lease.Milliseconds())
		}
		return n == int64(1), err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "HDEL", learn.LockKey, "owner")
		return n == int64(1), err
	})},
	{name: "takes over after two lost replies", rounds: 1, faults: []faults.Kind{faults.ReplyLost, faults.ReplyLost}, only: overwrites, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		if l.n >= 2 {
			return l.take(ctx, l.env.Token())
		}
		ok, err := l.plain.TryAcquire(ctx)
		if err != nil {
			l.n++
		}
		return ok, err
	}, nil)},
	{name: "renews whatever it finds", rounds: 1, faults: []faults.Kind{faults.Pause}, only: renewals, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if ok {
			l.env.Go(func(ctx context.Context) {
				for range 2 {
					if l.env.Sleep(ctx, l.lease/3) != nil {
						return
					}
					_, _ = l.env.Server().Do(ctx, "PEXPIRE", learn.LockKey, l.lease.Milliseconds())
				}
			})
		}
		return ok, err
	}, nil)},
	{name: "replaces the value, and puts it back", faults: []faults.Kind{}, only: []checker.Name{checker.Overwrite, checker.DoubleHolder, checker.WrongfulDelete}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		v, err := l.env.Server().Do(ctx, "GETSET", learn.LockKey, mine)
		if err != nil {
			return false, err
		}
		if v == nil {
			l.value = mine
			return true, nil
		}
		_, err = l.env.Server().Do(ctx, "SET", learn.LockKey, v)
		return false, err
	}, nil)},
	{name: "a bit, and requests come twice", faults: []faults.Kind{faults.Duplicate}, rounds: 2, only: []checker.Name{checker.WrongfulDelete, checker.DoubleHolder, checker.Overwrite}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "SETBIT", learn.LockKey, 0, 1)
		return n == int64(0), err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "SETBIT", learn.LockKey, 0, 0)
		return n == int64(1), err
	})},
	{name: "sets, waits, and looks again", holds: true, faults: []faults.Kind{}, only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		v, err := l.env.Server().Do(ctx, "GET", learn.LockKey)
		if err != nil || v != nil {
			return false, err
		}
		mine := l.env.Token()
		if _, err := l.set(ctx, l.env.Server(), learn.LockKey, mine); err != nil {
			return false, err
		}
		if err := l.env.Sleep(ctx, l.lease/12); err != nil {
			return false, err
		}
		v, err = l.env.Server().Do(ctx, "GET", learn.LockKey)
		return v == mine, err
	}, nil)},
	{name: "counts up and down", holds: true, faults: []faults.Kind{}, only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "INCR", learn.LockKey)
		if err != nil || n == int64(1) {
			return err == nil, err
		}
		_, err = l.env.Server().Do(ctx, "DECR", learn.LockKey)
		return false, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		_, err := l.env.Server().Do(ctx, "DECR", learn.LockKey)
		return err == nil, err
	})},
	{name: "the only member of a set", faults: []faults.Kind{}, only: holders, holds: true, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		l.value = mine
		if _, err := l.env.Server().Do(ctx, "SADD", learn.LockKey, mine); err != nil {
			return false, err
		}
		n, err := l.env.Server().Do(ctx, "SCARD", learn.LockKey)
		if n == int64(1) {
			return true, nil
		}
		if err == nil {
			_, err = l.env.Server().Do(ctx, "SREM", learn.LockKey, mine)
		}
		return false, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "SREM", learn.LockKey, l.value)
		return n == int64(1), err
	})},
	{name: "watches its key", holds: true, faults: []faults.Kind{faults.Crash}, made: script(func(l *scripted, ctx context.Context) (held bool, err error) {
		mine := l.env.Token()
		err = l.env.Server().Watch(ctx, []string{learn.LockKey}, func(tx impls.Tx) error {
			v, err := tx.Do(ctx, "GET", learn.LockKey)
			if err != nil || v != nil {
				return err
			}
			_, held, err = tx.Exec(ctx, impls.Command{"SET", learn.LockKey, mine, "PX", l.lease.Milliseconds()})
			return err
		})
		if held {
			l.value = mine
		}
		return held, err
	}, nil)},
	{name: "the only element of a list", faults: []faults.Kind{}, only: holders, holds: true, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		l.value = mine
		n, err := l.env.Server().Do(ctx, "RPUSH", learn.LockKey, mine)
		if err != nil || n == int64(1) {
			return err == nil, err
		}
		_, err = l.env.Server().Do(ctx, "LREM", learn.LockKey, 1, mine)
		return false, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "LREM", learn.LockKey, 1, l.value)
		return n == int64(1), err
	})},
	{name: "sleeps between three tries", holds: true, faults: []faults.Kind{faults.Crash}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		for range 3 {
			ok, err := l.plain.TryAcquire(ctx)
			if ok || err != nil {
				return ok, err
			}
			if err := l.env.Sleep(ctx, l.lease/5); err != nil {
				return false, err
			}
		}
		return false, nil
	}, nil)},
	{name: "does not release what may have ended", holds: true, faults: []faults.Kind{faults.Pause}, only: strays, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		l.t = l.env.Now()
		return l.plain.TryAcquire(ctx)
	}, func(l *scripted, ctx context.Context) (bool, error) {
		if l.env.Now().Sub(l.t) > l.lease*9/10 {
			return false, nil
		}
		return l.plain.Release(ctx)
	})},
	{name: "compares and deletes", holds: true, faults: []faults.Kind{faults.Crash, faults.ReplyLost}, only: strays, rounds: 2, made: script(nil, nil)},
}
