package explore

import (
	"cmp"
	"context"
	"strconv"
	"testing"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// counter is a lock by INCR, which grants it if it is answered 1. A refused try has counted, too. With script it gives the lease in the same step; if it
// prolongs, refused tries do so as well.
type counter struct {
	plain
	script, prolongs bool
	granted          bool
}

func (l *counter) TryAcquire(ctx context.Context) (bool, error) {
	n, err := l.count(ctx)
	l.granted = err == nil && n == int64(1)
	return l.granted, err
}

func (l *counter) count(ctx context.Context) (n any, err error) {
	s := l.env.Server()
	if l.script {
		source := `local n = redis.call("INCR", KEYS[1]) if n == 1 or ARGV[2] == "yes" then redis.call("PEXPIRE", KEYS[1], ARGV[1]) end return n`
		if l.prolongs {
			return s.Eval(ctx, &impls.Script{Source: source}, []string{learn.LockKey}, l.lease.Milliseconds(), "yes")
		}
		return s.Eval(ctx, &impls.Script{Source: source}, []string{learn.LockKey}, l.lease.Milliseconds(), "no")
	}
	if n, err = s.Do(ctx, "INCR", learn.LockKey); err == nil && (l.prolongs || n == int64(1)) {
		_, err = s.Do(ctx, "PEXPIRE", learn.LockKey, l.lease.Milliseconds())
	}
	return n, err
}

func (l *counter) Release(ctx context.Context) (bool, error) {
	if !l.granted {
		return false, nil
	}
	n, err := l.env.Server().Do(ctx, "DEL", learn.LockKey)
	return n == int64(1), err
}

// permit is a lock by a number that is 1 while it is free. A refused try takes back what it has counted.
type permit struct {
	plain
	key string
}

func (l *permit) TryAcquire(ctx context.Context) (bool, error) {
	s := l.env.Server()
	if _, err := s.Do(ctx, "SETNX", l.key, 1); err != nil {
		return false, err
	}
	n, err := s.Do(ctx, "DECR", l.key)
	if err != nil || n.(int64) >= 0 {
		return err == nil, err
	}
	_, err = s.Do(ctx, "INCR", l.key)
	return false, err
}

func (l *permit) Release(ctx context.Context) (bool, error) {
	_, err := l.env.Server().Do(ctx, "INCR", l.key)
	return err == nil, err
}

// stepper is a lock by a number under the key. A refused try writes the next one there, in the place of the owner's.
type stepper struct {
	plain
	script  bool // in one step
	granted bool
}

func (l *stepper) TryAcquire(ctx context.Context) (bool, error) {
	s := l.env.Server()
	if l.script {
		source := `local n = tonumber(redis.call("GET", KEYS[1]) or 0) redis.call("SET", KEYS[1], n + 1, "KEEPTTL")
			if n == 0 then redis.call("PEXPIRE", KEYS[1], ARGV[1]) end return n`
		n, err := s.Eval(ctx, &impls.Script{Source: source}, []string{learn.LockKey}, l.lease.Milliseconds())
		l.granted = err == nil && n == int64(0)
		return l.granted, err
	}
	reply, err := s.Do(ctx, "SET", learn.LockKey, 1, "NX", "PX", l.lease.Milliseconds())
	if l.granted = reply == "OK"; l.granted || err != nil {
		return l.granted, err
	}
	n, err := s.Do(ctx, "GET", learn.LockKey)
	if err != nil || n == nil {
		return false, err
	}
	next, err := strconv.Atoi(n.(string))
	if err == nil {
		_, err = s.Do(ctx, "SET", learn.LockKey, next+1, "XX", "KEEPTTL")
	}
	return false, err
}

func (l *stepper) Release(ctx context.Context) (bool, error) {
	if !l.granted {
		return false, nil
	}
	n, err := l.env.Server().Do(ctx, "DEL", learn.LockKey)
	return n == int64(1), err
}

var counters = map[string]func(plain) impls.Lock{
	"by two commands":              func(p plain) impls.Lock { return &counter{plain: p} },
	"by a script":                  func(p plain) impls.Lock { return &counter{plain: p, script: true} },
	"by two commands that prolong": func(p plain) impls.Lock { return &counter{plain: p, prolongs: true} },
	"by a script that prolongs":    func(p plain) impls.Lock { return &counter{plain: p, script: true, prolongs: true} },
	"down, and back up if refused": func(p plain) impls.Lock { return &permit{p, learn.LockKey} },
	"by a script that reads":       func(p plain) impls.Lock { return &stepper{plain: p, script: true} },
	"by SET":                       func(p plain) impls.Lock { return &stepper{plain: p} },
}

// A refused try that counts under the lock's key takes nothing from the client that has the lock.
func TestCountingIsNoOverwrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		counts string
		only   checker.Name
		kind   faults.Kind
		found  bool
	}{
		{counts: "by two commands"},
		{counts: "by a script"},
		{counts: "by a script that reads"},
		{counts: "down, and back up if refused"},
		{counts: "by a script", only: checker.Overwrite, kind: faults.Pause},
		{counts: "by two commands", only: checker.Overwrite, kind: faults.Pause},
		{counts: "by a script", only: checker.WrongfulRenew, kind: faults.Pause},
		{counts: "by a script", only: checker.StuckLock, kind: faults.Crash},
		// What goes wrong is still found.
		{counts: "by SET", only: checker.Overwrite, found: true},
		{counts: "by a script", only: checker.DoubleHolder, kind: faults.Pause, found: true},
		{counts: "by a script", only: checker.WrongfulDelete, kind: faults.Pause, found: true},
		{counts: "by two commands", only: checker.StuckLock, kind: faults.Crash, found: true},
		{counts: "down, and back up if refused", only: checker.StuckLock, kind: faults.Crash, found: true},
		{counts: "by a script that prolongs", only: checker.WrongfulRenew, kind: faults.Pause, found: true},
		{counts: "by two commands that prolong", only: checker.WrongfulRenew, kind: faults.Pause, found: true},
		{counts: "by a script that prolongs", only: checker.StuckLock, kind: faults.Crash, found: true},
	} {
		config := Config{Lock: stranger(counters[test.counts]), Clients: 2, Budget: Budget{}}
		if test.kind != "" {
			config.Budget = spend(test.kind)
		}
		if test.only != "" {
			config.Only = []checker.Name{test.only}
		}
		result, err := Explore(context.Background(), config.Usual())
		require.NoError(t, err)
		assert.Empty(t, result.Disputed, "%+v", test)
		if assert.Equal(t, test.found, result.Found != nil, "%+v", test); test.found {
			assert.Contains(t, result.Found.Verdict.Names(), test.only)
		}
		if !test.found && test.counts != "down, and back up if refused" {
			assert.Equal(t, errCounted.Error(), result.Limit, "%+v", test)
		}
	}
}

func TestTheJudgesAgreeOnLocksThatCount(t *testing.T) {
	t.Parallel()
	walks := cmp.Or(*strangerWalks, needs.Count(t, "random paths", 6, 40))
	for name, made := range counters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walk(t, Config{Lock: stranger(made)}, walks, onTheWay)
		})
	}
}
