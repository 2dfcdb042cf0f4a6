package search

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// Locks of tests. Each is written where it is searched: as one or two operations of a made lock.

const (
	compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`
	compareAndExpire = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`
)

// made is a lock of two functions. It declares all that they may keep.
type made struct {
	env   impls.Env
	key   string
	lease time.Duration
	does  does
	kept
}

// does are the operations of a made lock; nil: SET NX PX with a token, and compare and delete.
type does struct{ try, release operation }

type operation = func(l *made, ctx context.Context) (bool, error)

type kept struct {
	value string // of the last grant
	n     int
	at    time.Time
}

func (l *made) State() any { return l.kept }

func (l *made) do(ctx context.Context, args ...any) (any, error) {
	return l.env.Server().Do(ctx, args...)
}

func (l *made) eval(ctx context.Context, source string, args ...any) (int64, error) {
	reply, err := l.env.Server().Eval(ctx, &impls.Script{Source: source}, []string{l.key}, args...)
	n, _ := reply.(int64)
	return n, err
}

// set writes the key with a lease.
func (l *made) set(ctx context.Context, mine string, more ...any) (bool, error) {
	reply, err := l.do(ctx, append([]any{"SET", l.key, mine, "PX", l.lease.Milliseconds()}, more...)...)
	if reply == "OK" {
		l.value = mine
	}
	return reply == "OK", err
}

// plain takes a free lock, and force takes any.
func (l *made) plain(ctx context.Context) (bool, error) { return l.set(ctx, l.env.Token(), "NX") }

func (l *made) force(ctx context.Context) (bool, error) { return l.set(ctx, l.env.Token()) }

func (l *made) free(ctx context.Context) (bool, error) {
	n, err := l.eval(ctx, compareAndDelete, l.value)
	return n == 1, err
}

func (l *made) del(ctx context.Context) (bool, error) {
	n, err := l.do(ctx, "DEL", l.key)
	return n == int64(1), err
}

// prolong gives the key another lease, whoever's it is.
func (l *made) prolong(ctx context.Context) error {
	_, err := l.do(ctx, "PEXPIRE", l.key, l.lease.Milliseconds())
	return err
}

// between says whether a time is between two parts of the lease.
func (l *made) between(d time.Duration, from, to float64) bool {
	return d >= time.Duration(from*float64(l.lease)) && d <= time.Duration(to*float64(l.lease))
}

func (l *made) TryAcquire(ctx context.Context) (bool, error) {
	if l.does.try != nil {
		return l.does.try(l, ctx)
	}
	return l.plain(ctx)
}

func (l *made) Release(ctx context.Context) (bool, error) {
	if l.does.release != nil {
		return l.does.release(l, ctx)
	}
	return l.free(ctx)
}

// orElse tries to take a free lock, and does something else if that is refused.
func orElse(refused operation) does {
	return does{try: func(l *made, ctx context.Context) (bool, error) {
		if held, err := l.plain(ctx); held || err != nil {
			return held, err
		}
		return refused(l, ctx)
	}}
}

// watched has a background task after each grant.
func watched(task func(l *made, ctx context.Context, mine string)) does {
	return does{try: func(l *made, ctx context.Context) (bool, error) {
		held, err := l.plain(ctx)
		if mine := l.value; held {
			l.env.Go(func(ctx context.Context) { task(l, ctx, mine) })
		}
		return held, err
	}}
}

// fencing issues fencing tokens: what its function makes of the next number of a sequence on the server.
type fencing struct {
	made
	of func(n int64) int64
}

func (l *fencing) TryAcquire(ctx context.Context) (bool, error) {
	held, err := l.made.TryAcquire(ctx)
	if !held || err != nil {
		return false, err
	}
	n, err := l.do(ctx, "INCR", "fences")
	if err != nil {
		return false, err
	}
	l.n = int(l.of(n.(int64)))
	return true, nil
}

func (l *fencing) Fence() int64 { return int64(l.n) }

// limited declares for how long each grant is valid, by its wall clock.
type limited struct{ made }

func (l *limited) Valid() time.Duration { return l.at.Sub(l.env.Now()) }

// strangers are the specification of a lock that nobody here has seen before.
func strangers(wrap func(made) impls.Lock) impls.Spec {
	return impls.Spec{
		Card: impls.Card{Name: "stranger", Needs: impls.OneServer, Promises: []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner}, EqualTokens: true},
		New: func(env impls.Env, opts impls.Options) impls.Lock {
			return wrap(made{env: env, key: opts.Key, lease: opts.Lease})
		},
	}
}

func stranger(d does) impls.Spec {
	return strangers(func(l made) impls.Lock { l.does = d; return &l })
}

func lock(t *testing.T, name string) impls.Spec {
	t.Helper()
	spec, found := impls.Find(name)
	require.True(t, found, name)
	return spec
}

func only(names ...checker.Name) []checker.Name { return names }

func kinds(list ...faults.Kind) []faults.Kind { return list }
