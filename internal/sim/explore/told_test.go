package explore

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// These leave it to the server to compare times. The key has no end: its value is a stamp, and who finds an old one takes over.

const (
	takeStamped = `local v = redis.call("GET", KEYS[1])
if v and now - tonumber(string.match(v, "^%d+")) < tonumber(ARGV[2]) then return 0 end
redis.call("SET", KEYS[1], string.format("%d:", now) .. ARGV[1])
return 1`
	clientsTime = "local now = tonumber(ARGV[3])\n"
	freeStamped = `local v = redis.call("GET", KEYS[1])
if v and string.match(v, ":(.*)$") == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0`
)

func stampedFor(leases float64) func(plain) impls.Lock {
	return script(func(l *scripted, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		args := []any{l.value, int64(leases * float64(l.lease.Milliseconds())), l.env.Now().UnixMilli()}
		n, err := l.env.Server().Eval(ctx, &impls.Script{Source: clientsTime + takeStamped}, []string{learn.LockKey}, args...)
		return n == int64(1), err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Eval(ctx, &impls.Script{Source: freeStamped}, []string{learn.LockKey}, l.value)
		return n == int64(1), err
	})
}

var toldTheTime = []strange{
	{name: "a stamp of one and a half leases", only: holders, faults: pauses(1), made: stampedFor(1.5)},
	{name: "a stamp of ten leases", only: holders, faults: pauses(1), made: stampedFor(10)},
	{name: "a stamp of an hour", only: holders, faults: pauses(1), made: stampedFor(3000)},
	{name: "a stamp, and a client crashes", faults: []faults.Kind{faults.Crash}, holds: true, made: stampedFor(1.5)},
	{name: "a limit of a sorted set", only: holders, faults: pauses(1), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		n, err := l.env.Server().Eval(ctx, &impls.Script{Source: `for i, m in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do
if tonumber(redis.call("ZSCORE", KEYS[1], m)) < tonumber(ARGV[1]) then redis.call("ZREM", KEYS[1], m) end end
if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
return redis.call("ZADD", KEYS[1], ARGV[2], ARGV[3])`}, []string{learn.LockKey}, l.env.Now().Add(-3*l.lease).UnixMilli(), l.env.Now().UnixMilli(), l.value)
		return n == int64(1), err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.env.Server().Do(ctx, "ZREM", learn.LockKey, l.value)
		return n == int64(1), err
	})},
}

func TestWhatIsToldTheTimeIsFollowed(t *testing.T) {
	t.Parallel()
	for _, s := range toldTheTime[:needs.Count(t, "locks", 1, len(toldTheTime))] {
		t.Run(s.name, func(t *testing.T) {
			result := s.explore(t)
			assert.Equal(t, !s.holds, result.Found != nil)
			assert.True(t, result.Complete(), "%s %s", result.Limit, result.Doubt)
		})
	}
}

// usurper renews its lock for as long as it is held, and takes another's by force ten leases after its first refusal.
type usurper struct {
	plain
	stop    func()
	refused time.Duration
}

func (l *usurper) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	if now := l.env.Monotonic(); !ok && err == nil {
		switch {
		case l.refused == 0:
			l.refused = now
		case now-l.refused > 10*l.lease:
			ok, err = l.take(ctx, l.env.Token())
		}
	}
	if ok {
		l.refused = 0
		l.stop = l.env.Go(func(ctx context.Context) {
			for l.env.Sleep(ctx, l.lease/3) == nil {
				_, _ = l.env.Server().Do(ctx, "PEXPIRE", learn.LockKey, l.lease.Milliseconds())
			}
		})
	}
	return ok, err
}

func (l *usurper) Release(ctx context.Context) (bool, error) {
	l.stop()
	return l.plain.Release(ctx)
}

// Where something ends over and over, time is followed for four leases only. What a lock compares with longer times is noticed.
func TestLongerTimesAreNoticed(t *testing.T) {
	t.Parallel()
	needs.Long(t, "a long search")
	s := strange{only: overwrites, faults: []faults.Kind{faults.LongHold}, made: func(p plain) impls.Lock { return &usurper{plain: p} }}
	result := s.explore(t)
	assert.Nil(t, result.Found)
	assert.Contains(t, result.Doubt, "compared with a longer time")
}

// A user may give its acquire a deadline or none. A search gives none.
func TestDeadlinesAreNoticed(t *testing.T) {
	t.Parallel()
	for name, through := range map[string]func(*scripted, context.Context) (context.Context, func()){
		"of the user": func(_ *scripted, ctx context.Context) (context.Context, func()) { return ctx, func() {} },
		"of its own": func(l *scripted, ctx context.Context) (context.Context, func()) {
			ctx, cancel := l.env.WithTimeout(ctx, l.lease)
			return ctx, cancel
		},
		"within another context": func(_ *scripted, ctx context.Context) (context.Context, func()) {
			return context.WithCancel(context.WithValue(ctx, through("k"), "v"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := strange{only: overwrites, made: script(func(l *scripted, ctx context.Context) (bool, error) {
				ctx, done := through(l, ctx)
				defer done()
				if at, limited := ctx.Deadline(); limited && at.Minute() == 59 {
					return l.take(ctx, l.env.Token())
				}
				return l.plain.TryAcquire(ctx)
			}, nil)}
			result := s.explore(t)
			assert.Nil(t, result.Found)
			assert.Contains(t, result.Doubt, "deadline")
			assert.False(t, result.Complete())
		})
	}
}

type through string

// Who waits in a queue asks again before the queue forgets it: no living client loses its turn by doing nothing.
func TestWaitersInAQueueAskInTime(t *testing.T) {
	t.Parallel()
	config := Config{Lock: lock(t, "redisson-fair"), Clients: 2, Only: []checker.Name{checker.Unfair}, Budget: spend()}
	result, err := Explore(t.Context(), config.Usual())
	assert.NoError(t, err)
	assert.Nil(t, result.Found)
	assert.True(t, slices.Contains(result.Coverage, "handed over"))
}
