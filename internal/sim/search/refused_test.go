package search

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// Nothing is said of a lock that the model cannot have, that is not a function of what its Env gives it, or that does more than a search follows.
func TestWhatIsNotShown(t *testing.T) {
	t.Parallel()
	names := map[string]int{}
	for i := range 12 {
		names[fmt.Sprint(i)] = i
	}
	var uses, firstUses atomic.Int64
	var first atomic.Pointer[made]
	does := map[string]does{
		// A real server may know what the model does not.
		"cjson":  asking(func(l *made, ctx context.Context) (any, error) { return l.eval(ctx, `return cjson.encode({})`) }),
		"time":   asking(func(l *made, ctx context.Context) (any, error) { return l.eval(ctx, `return redis.call("TIME")`) }),
		"object": asking(func(l *made, ctx context.Context) (any, error) { return l.do(ctx, "OBJECT", l.key) }),
		"error": asking(func(l *made, ctx context.Context) (any, error) {
			return l.eval(ctx, `return redis.error_reply("NO luck")`)
		}),

		"real-clock": {try: func(l *made, ctx context.Context) (bool, error) {
			return l.set(ctx, fmt.Sprint(time.Now().UnixNano()), "NX")
		}},
		"hidden-variable": {try: func(l *made, ctx context.Context) (bool, error) { return l.set(ctx, fmt.Sprint(uses.Add(1)), "NX") }},
		"map-order": {try: func(l *made, ctx context.Context) (bool, error) {
			order := ""
			for name := range names {
				order += name
			}
			return l.set(ctx, order, "NX")
		}},
		"channel": {try: func(*made, context.Context) (bool, error) { <-make(chan int); return false, nil }},
		"panic":   {try: func(*made, context.Context) (bool, error) { panic("oh") }},
		"goroutine": {try: func(l *made, ctx context.Context) (bool, error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = l.env.Sleep(ctx, time.Second)
			}()
			<-done
			return l.plain(ctx)
		}},
		"first-use": {try: func(l *made, ctx context.Context) (bool, error) {
			if firstUses.Add(1) == 1 {
				return l.force(ctx)
			}
			return l.plain(ctx)
		}},
		"first-lock": {try: func(l *made, ctx context.Context) (bool, error) {
			if first.CompareAndSwap(nil, l); first.Load() == l {
				return l.force(ctx)
			}
			return l.plain(ctx)
		}},
		// They remember a real time, and take the lock by force later.
		"remembers-a-number": orElse(func(l *made, ctx context.Context) (bool, error) {
			now := int(time.Now().UnixNano())
			if l.n > 0 && now-l.n > int(time.Second) {
				return l.force(ctx)
			}
			l.n = now
			return false, nil
		}),
		"remembers-a-time": orElse(func(l *made, ctx context.Context) (bool, error) {
			switch {
			case l.at.IsZero():
				l.at = time.Now()
			case time.Since(l.at) > l.lease/2:
				return l.force(ctx)
			}
			return false, nil
		}),

		// A user may give its acquire a deadline or none. A search gives none.
		"asks-deadline": deadline(func(_ *made, ctx context.Context) (context.Context, func()) { return ctx, func() {} }),
		"asks-its-own": deadline(func(l *made, ctx context.Context) (context.Context, func()) {
			ctx, cancel := l.env.WithTimeout(ctx, l.lease)
			return ctx, cancel
		}),
		"asks-through": deadline(func(_ *made, ctx context.Context) (context.Context, func()) {
			return context.WithCancel(context.WithValue(ctx, through("k"), "v"))
		}),
	}
	types := map[string]func(made) impls.Lock{
		"new-panics": func(made) impls.Lock { panic("oh") },
		"new-is-nil": func(made) impls.Lock { return nil },
		"new-asks":   func(l made) impls.Lock { _, _ = l.do(context.Background(), "PING"); return &l },
		"new-sleeps": func(l made) impls.Lock { _ = l.env.Sleep(context.Background(), time.Second); return &l },
		"no-state":   func(l made) impls.Lock { return struct{ impls.Lock }{&l} },
	}
	answers(t, `
cjson               2x1                        refuses: does not know cjson in a script
time                2x1                        refuses: does not know TIME
object              2x1                        refuses: does not know OBJECT k
new-panics          2x1                        refuses: panicked: oh
new-is-nil          2x1                        refuses: has made no lock
new-asks            2x1                        refuses: New asks a server
new-sleeps          2x1                        refuses: sleeps or waits

real-clock          2x2                        refuses: did not do the same twice
hidden-variable     2x2                        refuses: did not do the same twice
map-order           2x2                        refuses: did not do the same twice
~channel            1x1                        refuses: does not come back
panic               2x1                        refuses: panicked: oh
goroutine           1x1                        refuses: a goroutine of its own
first-use           2x1                        refuses overwrite: did not do the same twice
first-lock          2x1                        refuses overwrite: did not do the same twice
remembers-a-number  2x1                        refuses: did not do the same twice
remembers-a-time    2x1                        refuses: it keeps a time of the real clock

no-state            2x1                        doubts: it declares no State
asks-deadline       2x1                        doubts overwrite: deadline
asks-its-own        2x1                        doubts overwrite: deadline
asks-through        2x1                        doubts overwrite: deadline
`, func(_ *testing.T, name string) impls.Spec {
		if made, found := types[name]; found {
			return strangers(made)
		}
		return stranger(does[name])
	})
}

// asking asks the server something before it takes the lock.
func asking(ask func(l *made, ctx context.Context) (any, error)) does {
	return does{try: func(l *made, ctx context.Context) (bool, error) {
		if _, err := ask(l, ctx); err != nil {
			return false, err
		}
		return l.plain(ctx)
	}}
}

type through string

// deadline asks for that of its context, and does something else at one that no search has.
func deadline(within func(*made, context.Context) (context.Context, func())) does {
	return does{try: func(l *made, ctx context.Context) (bool, error) {
		ctx, done := within(l, ctx)
		defer done()
		if at, limited := ctx.Deadline(); limited && at.Minute() == 59 {
			return l.force(ctx)
		}
		return l.plain(ctx)
	}}
}

// A lock whose card does not say how it compares tokens is searched with clients told apart: what it does is found, and not shown to be absent.
func TestTokensComparedByOrder(t *testing.T) {
	t.Parallel()
	byOrder := func(try operation) impls.Spec {
		spec := stranger(does{try: try})
		spec.EqualTokens = false
		return spec
	}
	for name, try := range map[string]operation{
		"greater wins": func(l *made, ctx context.Context) (bool, error) {
			mine := l.env.Token()
			if held, err := l.set(ctx, mine, "NX"); held || err != nil {
				return held, err
			}
			v, err := l.do(ctx, "GET", l.key)
			if theirs, there := v.(string); err != nil || !there || theirs > mine {
				return false, err
			}
			return l.set(ctx, mine)
		},
		"smaller wins in a script": func(l *made, ctx context.Context) (bool, error) {
			mine := l.env.Token()
			n, err := l.eval(ctx, `local v = redis.call("GET", KEYS[1])
if not v or ARGV[1] < v then redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) return 1 end return 0`, mine, l.lease.Milliseconds())
			if n == 1 {
				l.value = mine
			}
			return n == 1, err
		},
	} {
		r := searched(t, Config{Lock: byOrder(try), Clients: 3, Budget: Budget{}, Only: []checker.Name{checker.Overwrite}}.Usual())
		require.NotNil(t, r.Found, name)
		assert.False(t, r.Symmetric, name)
	}
	// A queue in a sorted set, whose ties tokens decide.
	queue := byOrder(func(l *made, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		if _, err := l.do(ctx, "ZADD", l.key, l.env.Now().UnixMilli(), l.value); err != nil {
			return false, err
		}
		rank, err := l.do(ctx, "ZRANK", l.key, l.value)
		if rank != int64(0) && err == nil {
			_, err = l.do(ctx, "ZREM", l.key, l.value)
		}
		return rank == int64(0), err
	})
	r := searched(t, Config{Lock: queue, Clients: 2, Budget: Budget{faults.ClockAhead: 1}, Only: []checker.Name{checker.DoubleHolder}}.Usual())
	assert.NotNil(t, r.Found)
	plain := searched(t, Config{Lock: byOrder(nil), Clients: 2, Budget: Budget{}}.Usual())
	assert.Nil(t, plain.Found)
	assert.False(t, plain.Complete())
	assert.Contains(t, plain.Doubt, "EqualTokens")
}
