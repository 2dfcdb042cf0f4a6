package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// What people write who know their Redis, and their client library.

const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`

func (l *scripted) do(ctx context.Context, args ...any) (any, error) {
	return l.env.Server().Do(ctx, args...)
}

// forcesAfter takes the lock by force after an error of some kind.
func forcesAfter(kind func(error) bool) func(plain) impls.Lock {
	return script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if err != nil && kind(err) {
			return l.take(ctx, l.env.Token())
		}
		return ok, err
	}, nil)
}

// errorKeeper remembers its last error, and asks nothing of it.
type errorKeeper struct {
	plain
	last error
}

func (l *errorKeeper) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	l.last = err
	return ok, err
}

// What these do depends on how a client library reports a loss.
var lossReaders = []strange{
	{name: "by force when the connection was closed", faults: []faults.Kind{faults.ReplyLost}, only: overwrites, made: forcesAfter(func(err error) bool { return errors.Is(err, io.EOF) })},
	{name: "by force after a time-out of the library", faults: []faults.Kind{faults.LateRequest}, only: overwrites, made: forcesAfter(func(err error) bool {
		var n net.Error
		return errors.As(err, &n) && n.Timeout()
	})},
	{name: "by force after an error whose text it knows", faults: []faults.Kind{faults.ReplyLost}, only: overwrites, made: forcesAfter(func(err error) bool { return strings.Contains(err.Error(), "i/o timeout") })},
	{name: "deletes after a time-out of its own", faults: []faults.Kind{faults.ReplyLost}, only: strays, made: script(nil, func(l *scripted, ctx context.Context) (bool, error) {
		short, cancel := l.env.WithTimeout(ctx, l.lease/4)
		defer cancel()
		ok, err := l.plain.Release(short)
		if errors.Is(err, context.DeadlineExceeded) {
			return l.del(ctx)
		}
		return ok, err
	})},
}

var knowledgeable = []strange{
	{name: "wraps its errors", holds: true, faults: []faults.Kind{faults.ReplyLost}, only: strays, rounds: 2, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if err != nil {
			return false, fmt.Errorf("acquire: %w", err)
		}
		return ok, err
	}, nil)},
	{name: "keeps its last error", holds: true, faults: []faults.Kind{faults.ReplyLost}, only: strays, rounds: 2, made: func(p plain) impls.Lock { return &errorKeeper{plain: p} }},
	{name: "asks whether it was cancelled", holds: true, faults: []faults.Kind{faults.ReplyLost}, only: strays, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			_, _ = l.del(ctx)
		}
		return ok, err
	}, nil)},
	{name: "retries with the same token and looks", holds: true, faults: []faults.Kind{faults.ReplyLost}, only: strays, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		ok, err := l.try(ctx, mine)
		if err == nil {
			return ok, nil
		}
		v, err := l.do(ctx, "GET", lockKey)
		if v == mine {
			l.value = mine
		}
		return v == mine, err
	}, nil)},
	{name: "SET NX GET", holds: true, faults: []faults.Kind{faults.Crash}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		v, err := l.do(ctx, "SET", lockKey, mine, "NX", "GET", "PX", l.lease.Milliseconds())
		if err == nil && v == nil {
			l.value = mine
			return true, nil
		}
		return false, err
	}, nil)},
	{name: "owner and count in a hash", holds: true, rounds: 2, faults: []faults.Kind{faults.Crash}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		n, err := l.env.Server().Eval(ctx, &impls.Script{Source: `if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end redis.call("HSET", KEYS[1], "o", ARGV[1], "n", 1) redis.call("PEXPIRE", KEYS[1], ARGV[2]) return 1`}, []string{lockKey}, mine, l.lease.Milliseconds())
		l.value = mine
		return n == int64(1), err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Eval(ctx, &impls.Script{Source: `if redis.call("HGET", KEYS[1], "o") == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`}, []string{lockKey}, l.value)
		return n == int64(1), err
	})},
	{name: "counts its grants", holds: true, rounds: 2, only: holders, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		n, err := l.env.Server().Eval(ctx, &impls.Script{Source: `if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("INCR", KEYS[2]) end return 0`}, []string{lockKey, "gen"}, mine, l.lease.Milliseconds())
		if err != nil || n == int64(0) {
			return false, err
		}
		l.value = mine
		return true, nil
	}, nil)},
	{name: "keeps what it could not release", rounds: 2, only: holders, faults: []faults.Kind{faults.ReplyLost}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		if l.n == 1 {
			return true, nil
		}
		ok, err := l.plain.TryAcquire(ctx)
		if ok {
			l.n = 1
		}
		return ok, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.Release(ctx)
		if err == nil {
			l.n = 0
		}
		return ok, err
	})},
	{name: "one token for ever", rounds: 2, only: holders, faults: []faults.Kind{faults.LateRequest}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		if l.value == "" {
			l.value = l.env.Token()
		}
		return l.try(ctx, l.value)
	}, nil)},
	{name: "the time is its token", only: strays, faults: []faults.Kind{faults.Pause, faults.Pause}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		return l.try(ctx, strconv.FormatInt(l.env.Now().UnixMilli(), 10))
	}, nil)},
	{name: "renews with SET XX", only: overwrites, faults: []faults.Kind{faults.Pause}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if ok {
			l.env.Go(func(ctx context.Context) {
				for l.env.Sleep(ctx, l.lease/2) == nil && l.n < 2 {
					l.n++
					_, _ = l.set(ctx, l.env.Server(), lockKey, l.value, "XX")
				}
			})
		}
		return ok, err
	}, nil)},
	{name: "releases by a short lease", only: holders, rounds: 2, faults: []faults.Kind{faults.Pause}, made: script(nil, func(l *scripted, ctx context.Context) (bool, error) {
		v, err := l.do(ctx, "GET", lockKey)
		if err != nil || v != l.value {
			return false, err
		}
		n, err := l.do(ctx, "PEXPIRE", lockKey, 10)
		return n == int64(1), err
	})},
	{name: "asks for the lease, and sets", made: script(func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "PTTL", lockKey)
		if err != nil || n != int64(-2) {
			return false, err
		}
		return l.take(ctx, l.env.Token())
	}, nil)},
	{name: "a script that a restarted server does not know", faults: []faults.Kind{faults.Restart}, only: []checker.Name{checker.Unreleasable}, rounds: 2, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		if l.n == 0 {
			if _, err := l.do(ctx, "SCRIPT", "LOAD", compareAndDelete); err != nil {
				return false, err
			}
			l.n = 1
		}
		return l.plain.TryAcquire(ctx)
	}, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "EVALSHA", (&impls.Script{Source: compareAndDelete}).SHA(), 1, lockKey, l.value)
		if err != nil {
			return false, nil
		}
		return n == int64(1), err
	})},
	{name: "marks it as released", rounds: 2, only: strays, faults: []faults.Kind{faults.Pause}, made: script(nil, func(l *scripted, ctx context.Context) (bool, error) {
		v, err := l.do(ctx, "SET", lockKey, "released", "XX", "KEEPTTL", "GET")
		if err != nil {
			return false, err
		}
		return v == l.value, nil
	})},
	{name: "puts back what it has removed", rounds: 2, only: []checker.Name{checker.WrongfulDelete, checker.DoubleHolder}, faults: []faults.Kind{faults.Pause}, made: script(nil, func(l *scripted, ctx context.Context) (bool, error) {
		v, err := l.do(ctx, "GETDEL", lockKey)
		if err != nil || v == l.value || v == nil {
			return v == l.value, err
		}
		_, err = l.do(ctx, "SET", lockKey, v, "NX", "PX", l.lease.Milliseconds())
		return false, err
	})},
	{name: "makes its lease endless", only: []checker.Name{checker.StuckLock}, faults: []faults.Kind{faults.Crash}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if ok {
			_, err = l.do(ctx, "PERSIST", lockKey)
		}
		return ok, err
	}, nil)},
	{name: "tickets", only: []checker.Name{checker.StuckLock}, faults: []faults.Kind{faults.Crash}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		if l.n == 0 {
			n, err := l.do(ctx, "INCR", "next")
			if err != nil {
				return false, err
			}
			l.n = int(n.(int64))
		}
		v, err := l.do(ctx, "GET", lockKey)
		if err != nil {
			return false, err
		}
		serving := 0
		if s, ok := v.(string); ok {
			serving, _ = strconv.Atoi(s)
		}
		return serving == l.n-1, nil
	}, func(l *scripted, ctx context.Context) (bool, error) {
		l.n = 0
		_, err := l.do(ctx, "INCR", lockKey)
		return err == nil, err
	})},
}
