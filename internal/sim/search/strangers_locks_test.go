package search

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/locklab/locklab/impls"
)

var byFunctions = map[string]does{
	"plain": {},
	// Refused three times, it deletes the lock.
	"quitter": orElse(func(l *made, ctx context.Context) (bool, error) {
		if l.n++; l.n < 3 {
			return false, nil
		}
		_, err := l.del(ctx)
		return false, err
	}),
	// It takes the lock, and then once more, which is refused. Nobody is told that they have it, but nobody is kept waiting either.
	"twicer": {try: func(l *made, ctx context.Context) (bool, error) {
		if held, err := l.plain(ctx); !held || err != nil {
			return false, err
		}
		return l.plain(ctx)
	}},
	// All write the same value, and take what has it. So nothing shows who took it last but who was told last.
	"shared": {try: func(l *made, ctx context.Context) (bool, error) {
		if held, err := l.set(ctx, "x", "NX"); held || err != nil {
			return held, err
		}
		return l.set(ctx, "x")
	}},
	"forgetter": {release: func(*made, context.Context) (bool, error) { return true, nil }},
	// It takes the lock whoever has it. If it crashes before it is told, the lock is still not its former owner's.
	"forcer": {try: func(l *made, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		if held, err := l.set(ctx, mine, "NX"); held || err != nil {
			return held, err
		}
		return l.set(ctx, mine)
	}},
	// It sets the key in any case. A release removes what its client has set, and nothing else.
	"setter": {try: func(l *made, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		if _, err := l.set(ctx, mine, "NX"); err != nil {
			return false, err
		}
		return l.set(ctx, mine)
	}},
	"put-back": {try: func(l *made, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		v, err := l.do(ctx, "GETSET", l.key, mine)
		if err != nil {
			return false, err
		}
		if v == nil {
			l.value = mine
			return true, nil
		}
		_, err = l.do(ctx, "SET", l.key, v)
		return false, err
	}},
	"hash-field": {func(l *made, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "HSETNX", l.key, "owner", l.env.Token())
		if n == int64(1) {
			err = l.prolong(ctx)
		}
		return n == int64(1), err
	}, func(l *made, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "HDEL", l.key, "owner")
		return n == int64(1), err
	}},
	"bit": {func(l *made, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "SETBIT", l.key, 0, 1)
		return n == int64(0), err
	}, func(l *made, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "SETBIT", l.key, 0, 0)
		return n == int64(1), err
	}},
	"deletes-again": {release: func(l *made, ctx context.Context) (bool, error) {
		ok, err := l.free(ctx)
		l.env.Go(func(ctx context.Context) {
			if l.env.Sleep(ctx, l.lease/7) == nil {
				_, _ = l.del(ctx)
			}
		})
		return ok, err
	}},
	"after-two-losses": {try: func(l *made, ctx context.Context) (bool, error) {
		if l.n >= 2 {
			return l.force(ctx)
		}
		held, err := l.plain(ctx)
		if err != nil {
			l.n++
		}
		return held, err
	}},
	"renews-any": watched(func(l *made, ctx context.Context, _ string) {
		for range 2 {
			if l.env.Sleep(ctx, l.lease/3) != nil {
				return
			}
			_ = l.prolong(ctx)
		}
	}),
	"reads-other-key": {try: watching("other")},
	"watcher": {try: watching("k"), release: func(l *made, ctx context.Context) (bool, error) {
		return l.change(ctx, l.key, l.value, "DEL", l.key)
	}},
	"ninth-by-force": {try: func(l *made, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "INCR", "attempts")
		if err != nil {
			return false, err
		}
		if n == int64(9) {
			return l.force(ctx)
		}
		return l.plain(ctx)
	}},
	// It takes the lock, and then has it if its ticket is an odd one. So a client that was refused may be told what another should be.
	"ticketer": {try: func(l *made, ctx context.Context) (bool, error) {
		if _, err := l.plain(ctx); err != nil {
			return false, err
		}
		n, err := l.do(ctx, "INCR", "tickets")
		if err != nil {
			return false, err
		}
		return n.(int64)%2 == 1, nil
	}},
	"up-and-down": {func(l *made, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "INCR", l.key)
		if err != nil || n == int64(1) {
			return err == nil, err
		}
		_, err = l.do(ctx, "DECR", l.key)
		return false, err
	}, func(l *made, ctx context.Context) (bool, error) {
		_, err := l.do(ctx, "DECR", l.key)
		return err == nil, err
	}},
	"set-member": {func(l *made, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		if _, err := l.do(ctx, "SADD", l.key, l.value); err != nil {
			return false, err
		}
		n, err := l.do(ctx, "SCARD", l.key)
		if n != int64(1) && err == nil {
			_, err = l.do(ctx, "SREM", l.key, l.value)
		}
		return n == int64(1), err
	}, removing("SREM")},
	"list-element": {func(l *made, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		n, err := l.do(ctx, "RPUSH", l.key, l.value)
		if n != int64(1) && err == nil {
			_, err = l.do(ctx, "LREM", l.key, 1, l.value)
		}
		return n == int64(1), err
	}, func(l *made, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "LREM", l.key, 1, l.value)
		return n == int64(1), err
	}},
	"sleeps-three-times": {try: func(l *made, ctx context.Context) (bool, error) {
		for range 3 {
			if held, err := l.plain(ctx); held || err != nil {
				return held, err
			}
			if err := l.env.Sleep(ctx, l.lease/5); err != nil {
				return false, err
			}
		}
		return false, nil
	}},
	"gives-up-in-time": {dated, func(l *made, ctx context.Context) (bool, error) {
		if l.env.Now().Sub(l.at) > l.lease*9/10 {
			return false, nil
		}
		return l.free(ctx)
	}},
	"late-after-a-sleep": {try: func(l *made, ctx context.Context) (bool, error) {
		if err := l.env.Sleep(ctx, l.lease/2); err != nil {
			return false, err
		}
		n, err := l.do(ctx, "SETNX", l.key, l.env.Token())
		if n == int64(1) || err != nil {
			return err == nil, err
		}
		return false, l.env.Sleep(ctx, l.lease/2)
	}},
	"looks-again": {try: func(l *made, ctx context.Context) (bool, error) {
		v, err := l.do(ctx, "GET", l.key)
		if err != nil || v != nil {
			return false, err
		}
		mine := l.env.Token()
		if _, err := l.set(ctx, mine); err != nil {
			return false, err
		}
		if err := l.env.Sleep(ctx, l.lease/12); err != nil {
			return false, err
		}
		v, err = l.do(ctx, "GET", l.key)
		return v == mine, err
	}},

	// What a lock does at some times only.
	"late-release": {dated, func(l *made, ctx context.Context) (bool, error) {
		late := l.between(l.env.Now().Sub(l.at), 1.4, 1.6)
		v, err := l.do(ctx, "GET", l.key)
		if err == nil && (v == l.value || late) {
			return l.del(ctx)
		}
		return false, err
	}},
	"times-a-step": orElse(func(l *made, ctx context.Context) (bool, error) {
		began := l.env.Now()
		if _, err := l.do(ctx, "GET", l.key); err != nil {
			return false, err
		}
		took := l.env.Now().Sub(began)
		if _, err := l.do(ctx, "PING"); err != nil || !l.between(took, .3, .5) {
			return false, err
		}
		return l.force(ctx)
	}),
	"hasty":               hasty(13./12, 3000, "NX", "PX", 1200),
	"hasty-in-the-middle": hasty(1./4, 3./4, "NX", "PX", 1200),
	// It takes over by a stamp under another key.
	"stamped": {try: func(l *made, ctx context.Context) (bool, error) {
		now := l.env.Now().UnixMilli()
		v, err := l.do(ctx, "GET", "stamp")
		if err != nil {
			return false, err
		}
		if s, ok := v.(string); ok {
			if at, _ := strconv.ParseInt(s, 10, 64); now-at > 300 && now-at < 500 {
				return l.force(ctx)
			}
		}
		held, err := l.plain(ctx)
		if held {
			_, err = l.do(ctx, "SET", "stamp", now)
		}
		return held, err
	}},
	// It goes on after its release, until the lease ends.
	"stays-until-its-end": {try: func(l *made, ctx context.Context) (bool, error) {
		if !l.at.IsZero() && l.env.Now().Before(l.at) {
			return true, nil
		}
		held, err := l.plain(ctx)
		if held {
			l.at = l.env.Now().Add(l.lease)
		}
		return held, err
	}},
	// It waits for as long as the lock lives, and then takes it by force. By then somebody else may have taken it again.
	"sleeper": orElse(func(l *made, ctx context.Context) (bool, error) {
		left, err := l.left(ctx, "PTTL", time.Millisecond)
		if err != nil || left < 0 {
			return false, err
		}
		if err := l.env.Sleep(ctx, left); err != nil {
			return false, err
		}
		return l.force(ctx)
	}),
	"half-left":           leftBetween("PTTL", time.Millisecond, .4, .6),
	"third-left":          leftBetween("PTTL", time.Millisecond, .37, .6),
	"at-no-second":        leftBetween("TTL", time.Second, 0, 1./3),
	"never-left":          leftBetween("PTTL", time.Millisecond, 2, 3),
	"third-left-scripted": leftBetweenScripted(.37, .6),
	"never-left-scripted": leftBetweenScripted(2, 3),
	"scripted-stamp-1.5":  scriptedStamp(1.5),
	"limit-of-a-set": {func(l *made, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		now := l.env.Now()
		n, err := l.eval(ctx, `for i, m in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do
if tonumber(redis.call("ZSCORE", KEYS[1], m)) < tonumber(ARGV[1]) then redis.call("ZREM", KEYS[1], m) end end
if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
return redis.call("ZADD", KEYS[1], ARGV[2], ARGV[3])`, now.Add(-2*l.lease).UnixMilli(), now.UnixMilli(), l.value)
		return n == 1, err
	}, removing("ZREM")},
	"counts-refusals-1": countsRefusals(1),
	"counts-refusals-2": countsRefusals(2),
	"counts-refusals-3": countsRefusals(3),
	"counts-refusals-9": countsRefusals(9),

	// A request that has timed out may be executed after it was looked for.
	"looks-after-timeout": {try: func(l *made, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		within, cancel := l.env.WithTimeout(ctx, l.lease/4)
		defer cancel()
		held, err := l.set(within, mine, "NX")
		if !errors.Is(err, context.DeadlineExceeded) {
			return held, err
		}
		v, err := l.do(ctx, "GET", l.key)
		l.value = mine
		return v == mine, err
	}},
	// It releases nothing a lease after it has called, though the server's lease may have begun later.
	"keeps-to-its-lease": {dated, func(l *made, ctx context.Context) (bool, error) {
		if l.env.Now().Sub(l.at) >= l.lease {
			return false, nil
		}
		return l.del(ctx)
	}},
	"twofold": {try: func(l *made, ctx context.Context) (bool, error) {
		if held, err := l.plain(ctx); !held || err != nil {
			return false, err
		}
		reply, err := l.do(ctx, "SET", l.key+":2", l.value, "NX", "PX", l.lease.Milliseconds())
		return reply == "OK", err
	}},

	// By counting.
	"incr":              counter("", false),
	"incr-prolongs":     counter("", true),
	"incr-scripted":     counter("no", false),
	"incr-prolongs-scr": counter("yes", false),
	"permit":            permit("k"),
	// A refused try writes the next number in the place of the owner's.
	"number": {func(l *made, ctx context.Context) (bool, error) {
		if held, err := l.set(ctx, "1", "NX"); held || err != nil {
			l.n = 1
			return held, err
		}
		n, err := l.do(ctx, "GET", l.key)
		if err != nil || n == nil {
			return false, err
		}
		next, err := strconv.Atoi(n.(string))
		if err == nil {
			_, err = l.do(ctx, "SET", l.key, next+1, "XX", "KEEPTTL")
		}
		return false, err
	}, deleteIfFirst},
	"number-scripted": {func(l *made, ctx context.Context) (bool, error) {
		n, err := l.eval(ctx, `local n = tonumber(redis.call("GET", KEYS[1]) or 0) redis.call("SET", KEYS[1], n + 1, "KEEPTTL")
			if n == 0 then redis.call("PEXPIRE", KEYS[1], ARGV[1]) end return n + 1`, l.lease.Milliseconds())
		l.n = int(n)
		return n == 1, err
	}, deleteIfFirst},

	// These are stuck, or look as if they were.
	"prolongs-any": orElse(prolongs),
	"prolongs-any-twice": {try: func(l *made, ctx context.Context) (bool, error) {
		held, err := orElse(prolongs).try(l, ctx)
		if !held || err != nil {
			return false, err
		}
		return orElse(prolongs).try(l, ctx)
	}},
	// It gives what it finds a lease. Once refused, it takes the lock twice, so it is refused by itself.
	"settler": {try: func(l *made, ctx context.Context) (bool, error) {
		held, err := l.plain(ctx)
		if err != nil {
			return false, err
		}
		if err := l.prolong(ctx); err != nil {
			return false, err
		}
		if l.n > 0 {
			held, err = l.plain(ctx)
		}
		if !held {
			l.n = 1
		}
		return held, err
	}},
	// Its watchdog, which nobody stops, makes the key anew when it is missing.
	"remakes": watched(func(l *made, ctx context.Context, mine string) {
		for l.env.Sleep(ctx, l.lease/3) == nil {
			_, _ = l.eval(ctx, `if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
				if redis.call("GET", KEYS[1]) == ARGV[1] then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`, mine, l.lease.Milliseconds())
		}
	}),
	"keeps":              keeping(func(*made, context.Context) (bool, error) { return false, nil }),
	"keeps-and-sleeps":   keeping(func(l *made, ctx context.Context) (bool, error) { return false, l.env.Sleep(ctx, l.lease/12) }),
	"keeps-and-sleeps-2": keeping(func(l *made, ctx context.Context) (bool, error) { return false, l.env.Sleep(ctx, 2*l.lease) }),
	"keeps-and-dates": keeping(func(l *made, ctx context.Context) (bool, error) {
		l.at = l.env.Now()
		return false, l.env.Sleep(ctx, l.lease)
	}),
	"keeps-and-writes": keeping(func(l *made, ctx context.Context) (bool, error) {
		_, err := l.do(ctx, "SET", "here", l.env.Token())
		return false, err
	}),
	"keeps-and-polls":   keeping(polls(true)),
	"keeps-and-spins":   keeping(polls(false)),
	"second-try":        forcesAtTry(2),
	"fourth-try":        forcesAtTry(4),
	"fifth-try":         forcesAtTry(5),
	"gate":              gated(),
	"gate-with-a-lease": gated("PX", Lease.Milliseconds()),
	// It takes a permit under another key before it takes the lock. After a lost reply the permit is gone.
	"guarded": {func(l *made, ctx context.Context) (bool, error) {
		if permitted, err := permit("permits").try(l, ctx); !permitted || err != nil {
			return false, err
		}
		l.value = l.env.Token()
		n, err := l.do(ctx, "SETNX", l.key, l.value)
		return n == int64(1), err
	}, func(l *made, ctx context.Context) (bool, error) {
		if freed, err := l.free(ctx); !freed || err != nil {
			return false, err
		}
		return permit("permits").release(l, ctx)
	}},
}

// dated is the usual acquire, of which it keeps when it was called.
func dated(l *made, ctx context.Context) (bool, error) {
	l.at = l.env.Now()
	return l.plain(ctx)
}

func prolongs(l *made, ctx context.Context) (bool, error) { return false, l.prolong(ctx) }

// change writes by a transaction that watches a key, if the lock's has a value; nil: is free.
func (l *made) change(ctx context.Context, watched string, found any, command ...any) (done bool, err error) {
	err = l.env.Server().Watch(ctx, []string{watched}, func(tx impls.Tx) error {
		v, err := tx.Do(ctx, "GET", l.key)
		if err == nil && v == found {
			_, done, err = tx.Exec(ctx, command)
		}
		return err
	})
	return done, err
}

func watching(key string) operation {
	return func(l *made, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		held, err := l.change(ctx, key, nil, "SET", l.key, mine, "PX", l.lease.Milliseconds())
		if held {
			l.value = mine
		}
		return held, err
	}
}

func removing(command string) operation {
	return func(l *made, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, command, l.key, l.value)
		return n == int64(1), err
	}
}

// hasty takes the lock by force if its try took between so many leases: the lease must be over, it thinks.
func hasty(from, to float64, options ...any) does {
	return does{try: func(l *made, ctx context.Context) (bool, error) {
		mine, began := l.env.Token(), l.env.Now()
		reply, err := l.do(ctx, append([]any{"SET", l.key, mine}, options...)...)
		if reply == "OK" {
			l.value = mine
			return true, nil
		}
		if err != nil || !l.between(l.env.Now().Sub(began), from, to) {
			return false, err
		}
		return l.set(ctx, mine)
	}}
}

// left is for how long the key lives.
func (l *made) left(ctx context.Context, command string, unit time.Duration) (time.Duration, error) {
	n, err := l.do(ctx, command, l.key)
	if err != nil {
		return 0, err
	}
	return time.Duration(n.(int64)) * unit, nil
}

// leftBetween takes the lock by force if between so many leases of it are left.
func leftBetween(command string, unit time.Duration, from, to float64) does {
	return orElse(func(l *made, ctx context.Context) (bool, error) {
		if left, err := l.left(ctx, command, unit); err != nil || !l.between(left, from, to) {
			return false, err
		}
		return l.force(ctx)
	})
}

func leftBetweenScripted(from, to float64) does {
	return does{try: func(l *made, ctx context.Context) (bool, error) {
		mine, lease := l.env.Token(), float64(l.lease.Milliseconds())
		n, err := l.eval(ctx, `local left = redis.call("PTTL", KEYS[1])
if left >= 0 and (left < tonumber(ARGV[3]) or left >= tonumber(ARGV[4])) then return 0 end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`, mine, l.lease.Milliseconds(), int64(from*lease), int64(to*lease))
		if n == 1 {
			l.value = mine
		}
		return n == 1, err
	}}
}

// scriptedStamp has a key without an end, whose value is a stamp. Who finds one that is so many leases old takes over.
func scriptedStamp(leases float64) does {
	return does{func(l *made, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		n, err := l.eval(ctx, `local now, v = tonumber(ARGV[3]), redis.call("GET", KEYS[1])
if v and now - tonumber(string.match(v, "^%d+")) < tonumber(ARGV[2]) then return 0 end
redis.call("SET", KEYS[1], string.format("%d:", now) .. ARGV[1])
return 1`, l.value, int64(leases*float64(l.lease.Milliseconds())), l.env.Now().UnixMilli())
		return n == 1, err
	}, func(l *made, ctx context.Context) (bool, error) {
		n, err := l.eval(ctx, `local v = redis.call("GET", KEYS[1])
if v and string.match(v, ":(.*)$") == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0`, l.value)
		return n == 1, err
	}}
}

// countsRefusals counts them on the server, and takes the lock by force after so many.
func countsRefusals(most int64) does {
	return orElse(func(l *made, ctx context.Context) (bool, error) {
		if refused, err := l.do(ctx, "INCR", "refused"); err != nil || refused != most {
			return false, err
		}
		return l.force(ctx)
	})
}

// counter is a lock by INCR, which grants it if it is answered 1. By a script it gives the lease in the same step, to each try or not.
func counter(scripted string, prolongs bool) does {
	return does{func(l *made, ctx context.Context) (bool, error) {
		if scripted != "" {
			n, err := l.eval(ctx, `local n = redis.call("INCR", KEYS[1]) if n == 1 or ARGV[2] == "yes" then redis.call("PEXPIRE", KEYS[1], ARGV[1]) end return n`,
				l.lease.Milliseconds(), scripted)
			l.n = int(n)
			return n == 1, err
		}
		n, err := l.do(ctx, "INCR", l.key)
		if err != nil {
			l.n = 0
			return false, err
		}
		if l.n = int(n.(int64)); prolongs || l.n == 1 {
			err = l.prolong(ctx)
		}
		return l.n == 1, err
	}, deleteIfFirst}
}

func deleteIfFirst(l *made, ctx context.Context) (bool, error) {
	if l.n != 1 {
		return false, nil
	}
	return l.del(ctx)
}

// permit is a number that is 1 while the lock is free. A refused try takes back what it has counted.
func permit(key string) does {
	return does{func(l *made, ctx context.Context) (bool, error) {
		if _, err := l.do(ctx, "SETNX", key, 1); err != nil {
			return false, err
		}
		n, err := l.do(ctx, "DECR", key)
		if err != nil || n.(int64) >= 0 {
			return err == nil, err
		}
		_, err = l.do(ctx, "INCR", key)
		return false, err
	}, func(l *made, ctx context.Context) (bool, error) {
		_, err := l.do(ctx, "INCR", key)
		return err == nil, err
	}}
}

// keeping takes a lock without a lease, and never gives it back.
func keeping(refused operation) does {
	return does{func(l *made, ctx context.Context) (bool, error) {
		n, err := l.do(ctx, "SETNX", l.key, l.env.Token())
		if n == int64(1) || err != nil {
			return err == nil, err
		}
		return refused(l, ctx)
	}, func(*made, context.Context) (bool, error) { return false, nil }}
}

// polls asks until the lock is free, and sleeps in between or not.
func polls(sleeps bool) operation {
	return func(l *made, ctx context.Context) (bool, error) {
		for {
			if v, err := l.do(ctx, "GET", l.key); v == nil || err != nil {
				return false, err
			}
			if !sleeps {
				continue
			}
			if err := l.env.Sleep(ctx, l.lease/4); err != nil {
				return false, err
			}
		}
	}
}

// forcesAtTry takes what has the same value at so many tries, a lease and a quarter apart.
func forcesAtTry(tries int) does {
	return keeping(func(l *made, ctx context.Context) (bool, error) {
		v, err := l.do(ctx, "GET", l.key)
		if err != nil {
			return false, err
		}
		if v != l.value {
			l.value, l.n = v.(string), 0
		}
		if l.n++; l.n == tries {
			return l.force(ctx)
		}
		return false, l.env.Sleep(ctx, l.lease*5/4)
	})
}

// gated takes the lock behind a gate, a second key, so that nobody else is in between. The gate has a lease or none.
func gated(lease ...any) does {
	return does{try: func(l *made, ctx context.Context) (bool, error) {
		reply, err := l.do(ctx, append([]any{"SET", "gate", l.env.Token(), "NX"}, lease...)...)
		if reply != "OK" || err != nil {
			return false, err
		}
		held, err := l.plain(ctx)
		if err != nil {
			return false, err
		}
		_, err = l.do(ctx, "DEL", "gate")
		return held, err
	}}
}

// byTypes are locks that have more than two operations, or begin something when they are made.
var byTypes = map[string]func(made) impls.Lock{
	// It tells everybody that they have the lock. Whoever has not taken it has it for no time, and so does not work.
	"lender": func(l made) impls.Lock {
		l.does = does{func(l *made, ctx context.Context) (bool, error) {
			n, err := l.do(ctx, "SETNX", l.key, l.env.Token())
			if l.at = l.env.Now(); n == int64(1) {
				l.at = l.at.Add(l.lease)
			}
			return err == nil, err
		}, func(*made, context.Context) (bool, error) { return true, nil }}
		return &limited{l}
	},
	"valid-from-call": func(l made) impls.Lock {
		l.does.try = func(l *made, ctx context.Context) (bool, error) {
			l.at = l.env.Now().Add(l.lease)
			return l.plain(ctx)
		}
		return &limited{l}
	},
	"valid-from-reply": func(l made) impls.Lock {
		l.does.try = func(l *made, ctx context.Context) (bool, error) {
			held, err := l.plain(ctx)
			l.at = l.env.Now().Add(l.lease)
			return held, err
		}
		return &limited{l}
	},
	"measures-wall":      func(l made) impls.Lock { return &measuring{made: l, wall: true} },
	"measures-monotonic": func(l made) impls.Lock { return &measuring{made: l} },
	"fences-fall": func(l made) impls.Lock {
		return &fencing{l, func(n int64) int64 { return []int64{257, 200, 300, 400}[min(n, 4)-1] }}
	},
	"fences-by-hundreds": func(l made) impls.Lock { return &fencing{l, func(n int64) int64 { return 100 * n }} },
	"fences-of-a-clock":  func(l made) impls.Lock { return &fencing{l, func(n int64) int64 { return 1_700_000_000_000 + n }} },
	"fences-forgotten": func(l made) impls.Lock {
		l.does.try = func(l *made, ctx context.Context) (bool, error) {
			held, err := l.plain(ctx)
			if held {
				_, err = l.eval(ctx, `if redis.call("EXISTS", "fences") == 0 then redis.call("SET", "fences", 0, "PX", ARGV[1]) end return 1`, 2*l.lease.Milliseconds())
			}
			return held, err
		}
		return &fencing{l, func(n int64) int64 { return n }}
	},
	// It draws its fence before it has the lock. Another may be granted the lock, with a greater fence, meanwhile.
	"fences-drawn-first": func(l made) impls.Lock {
		l.does.try = func(l *made, ctx context.Context) (bool, error) {
			n, err := l.eval(ctx, `if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end return redis.call("INCR", "fences")`)
			if err != nil || n == 0 {
				return false, err
			}
			l.n = int(n)
			return l.plain(ctx)
		}
		return &drawn{l}
	},
	"fences-kept": func(l made) impls.Lock { return &again{fencing: fencing{l, func(n int64) int64 { return n }}} },
	"uncounted": func(l made) impls.Lock {
		return &again{fencing: fencing{l, func(n int64) int64 { return n }}, forgets: true}
	},
	"remakes-leaseless": func(l made) impls.Lock {
		l.does.try = func(l *made, ctx context.Context) (bool, error) {
			mine := l.env.Token()
			n, err := l.do(ctx, "SETNX", l.key, mine)
			if n == int64(1) {
				l.value = mine
				l.env.Go(func(ctx context.Context) {
					for l.env.Sleep(ctx, l.lease/3) == nil {
						_, _ = l.do(ctx, "SETNX", l.key, mine)
					}
				})
			}
			return n == int64(1), err
		}
		return &l
	},
	"task-of-new": func(l made) impls.Lock {
		l.env.Go(func(ctx context.Context) { _ = l.env.Sleep(ctx, 3*l.lease) })
		return &l
	},
	"too-many-tasks": func(l made) impls.Lock {
		for range 65 {
			l.env.Go(func(ctx context.Context) { _ = l.env.Sleep(ctx, 3*l.lease) })
		}
		return &l
	},
	"task-of-a-task": func(l made) impls.Lock {
		l.env.Go(func(context.Context) {
			l.env.Go(func(ctx context.Context) { _ = l.env.Sleep(ctx, 3*l.lease) })
		})
		return &l
	},
}

// drawn has its fence from its acquire.
type drawn struct{ made }

func (l *drawn) Fence() int64 { return int64(l.n) }

// measuring refuses a grant whose reply came after the lease, and ends its hold with the lease, by one clock or the other.
type measuring struct {
	made
	wall    bool
	expires time.Duration
}

func (l *measuring) now() time.Duration {
	if l.wall {
		return time.Duration(l.env.Now().UnixNano())
	}
	return l.env.Monotonic()
}

func (l *measuring) State() any { return impls.Reading(l.expires) }

func (l *measuring) Valid() time.Duration { return l.expires - l.now() }

func (l *measuring) TryAcquire(ctx context.Context) (bool, error) {
	expires := l.now() + l.lease
	held, err := l.plain(ctx)
	if err != nil || !held || l.now() >= expires {
		return false, err
	}
	l.expires = expires
	return true, nil
}

func (l *measuring) Release(context.Context) (bool, error) { return true, nil }

// again can be acquired again by its holder, who keeps its fence. It counts, or forgets that it has been.
type again struct {
	fencing
	held    int
	forgets bool
}

func (l *again) State() any {
	return struct {
		kept
		held int
	}{l.kept, l.held}
}

func (l *again) TryAcquire(ctx context.Context) (held bool, err error) {
	if held = l.held > 0; !held {
		held, err = l.fencing.TryAcquire(ctx)
	}
	if held && (l.held == 0 || !l.forgets) {
		l.held++
	}
	return held, err
}

func (l *again) Release(ctx context.Context) (bool, error) {
	if l.held--; l.held > 0 {
		return true, nil
	}
	return l.del(ctx)
}
