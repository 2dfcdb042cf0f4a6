package search

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// counter is a lock by INCR, which grants it if it is answered 1. A refused try has counted, too, and may prolong the lease.
type counter struct {
	env      impls.Env
	key      string
	prolongs bool
	sets     bool // refused tries do not count, but write the next number
	granted  bool
}

func (l *counter) TryAcquire(ctx context.Context) (bool, error) {
	if l.sets {
		return l.set(ctx)
	}
	source := `local n = redis.call("INCR", KEYS[1]) if n == 1 or ARGV[2] == "yes" then redis.call("PEXPIRE", KEYS[1], ARGV[1]) end return n`
	prolongs := map[bool]string{true: "yes", false: "no"}[l.prolongs]
	n, err := l.env.Server().Eval(ctx, &impls.Script{Source: source}, []string{l.key}, lease.Milliseconds(), prolongs)
	l.granted = n == int64(1)
	return l.granted, err
}

func (l *counter) set(ctx context.Context) (bool, error) {
	s := l.env.Server()
	reply, err := s.Do(ctx, "SET", l.key, 1, "NX", "PX", lease.Milliseconds())
	if l.granted = reply == "OK"; !l.granted && err == nil {
		_, err = s.Do(ctx, "SET", l.key, 2, "XX", "KEEPTTL")
	}
	return l.granted, err
}

func (l *counter) Release(ctx context.Context) (bool, error) {
	if !l.granted {
		return false, nil
	}
	n, err := l.env.Server().Do(ctx, "DEL", l.key)
	return n == int64(1), err
}

// A refused try that counts is no overwrite. One that prolongs the lock is a renewal.
func TestCounting(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind     faults.Kind
		prolongs bool
		sets     bool
		want     []checker.Name
	}{
		{},
		{kind: faults.Crash},
		{prolongs: true, want: []checker.Name{checker.StuckLock, checker.WrongfulRenew}, kind: faults.Crash},
		{sets: true, want: []checker.Name{checker.Overwrite}},
		{kind: faults.Pause, want: []checker.Name{checker.DoubleHolder, checker.LostUpdate, checker.StaleWrite, checker.WrongfulDelete}},
	}
	for _, test := range tests[:needs.Count(t, "searches", 2, len(tests))] {
		c := config(t, "setpx-lua", test.kind)
		c.Tries = 2
		c.Lock.New = func(env impls.Env, opts impls.Options) impls.Lock {
			return &counter{env: env, key: opts.Key, prolongs: test.prolongs, sets: test.sets}
		}
		r := searched(t, c)
		assert.Empty(t, r.Limit)
		assert.Equal(t, test.want, names(r), "%+v", test)
	}
}
