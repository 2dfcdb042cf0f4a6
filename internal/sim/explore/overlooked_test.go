package explore

import (
	"context"
	"crypto/rand"
	"io"
	"math"
	randv2 "math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// wallClock is a clock of a lock's own, as people write one for their tests.
type wallClock interface{ Now() time.Time }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

var (
	nowOfPackage             = time.Now
	clockOfPackage wallClock = realClock{}
)

// byOwnClock takes the lock by force if its try took longer than a lease, by a clock that is not its Env's.
func byOwnClock(ctx context.Context, l *plain, now func() time.Time) (bool, error) {
	begun := now()
	ok, err := l.TryAcquire(ctx)
	if ok || err != nil || now().Sub(begun) <= l.lease {
		return ok, err
	}
	return l.take(ctx, l.env.Token())
}

// functionKeeper keeps the function that reads its clock.
type functionKeeper struct {
	plain
	now func() time.Time
}

func (l *functionKeeper) TryAcquire(ctx context.Context) (bool, error) {
	return byOwnClock(ctx, &l.plain, l.now)
}

// clockKeeper keeps its clock.
type clockKeeper struct {
	plain
	clock wallClock
}

func (l *clockKeeper) TryAcquire(ctx context.Context) (bool, error) {
	return byOwnClock(ctx, &l.plain, l.clock.Now)
}

// functionOfPackage reads its clock by a function in a variable.
type functionOfPackage struct{ plain }

func (l *functionOfPackage) TryAcquire(ctx context.Context) (bool, error) {
	begun := nowOfPackage()
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil || nowOfPackage().Sub(begun) <= l.lease {
		return ok, err
	}
	return l.take(ctx, l.env.Token())
}

// interfaceOfPackage reads its clock by an interface in a variable.
type interfaceOfPackage struct{ plain }

func (l *interfaceOfPackage) TryAcquire(ctx context.Context) (bool, error) {
	begun := clockOfPackage.Now()
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil || clockOfPackage.Now().Sub(begun) <= l.lease {
		return ok, err
	}
	return l.take(ctx, l.env.Token())
}

// gambler takes the lock by force, once in 16 million times, by a variable with a source of chance.
type gambler struct{ plain }

func (l *gambler) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	var drawn [3]byte
	if ok || err != nil {
		return ok, err
	}
	if _, err := io.ReadFull(rand.Reader, drawn[:]); err != nil || drawn != [3]byte{} {
		return false, err
	}
	return l.take(ctx, l.env.Token())
}

// outsideClocks go by real time or chance, and call it not by its name.
var outsideClocks = []strange{
	{name: "a function that it keeps", made: func(p plain) impls.Lock { return &functionKeeper{p, time.Now} }},
	{name: "a clock that it keeps", made: func(p plain) impls.Lock { return &clockKeeper{p, realClock{}} }},
	{name: "a draw that is inlined", made: func(p plain) impls.Lock { return &drawing{p} }},
	{name: "a goroutine of its own", made: func(p plain) impls.Lock { return &starting{plain: p} }},
}

// drawing takes the lock by force, once in as many times as there are numbers.
type drawing struct{ plain }

func (l *drawing) TryAcquire(ctx context.Context) (bool, error) {
	if randv2.Uint64() == 7 {
		return l.take(ctx, l.env.Token())
	}
	return l.plain.TryAcquire(ctx)
}

// starting counts its refusals in goroutines of its own.
type starting struct {
	plain
	refused int
}

func (l *starting) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	if !ok && err == nil {
		done := make(chan struct{})
		go func() {
			l.refused++
			close(done)
		}()
		<-done
	}
	return ok, err
}

// variableClocks do so by a variable, which only the machine code of amd64 shows.
var variableClocks = []strange{
	{name: "a function of its package", made: func(p plain) impls.Lock { return &functionOfPackage{p} }},
	{name: "a clock of its package", made: func(p plain) impls.Lock { return &interfaceOfPackage{p} }},
	{name: "a reader of chance", made: func(p plain) impls.Lock { return &gambler{p} }},
}

// certain is a lock that says for how long it is valid, whatever that rests on.
type certain struct {
	plain
	valid time.Duration
}

func (l *certain) Valid() time.Duration { return l.valid }

// bytewise keeps its last token as bytes, and takes the lock by force if it gets that once more.
type bytewise struct {
	plain
	last [4]byte
}

func (l *bytewise) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	if string(l.last[:]) == mine {
		return l.take(ctx, mine)
	}
	copy(l.last[:], mine)
	return l.try(ctx, mine)
}

// tokened draws a token when it is made, and takes the lock by force if it gets that once more.
type tokened struct {
	plain
	name string
}

func (l *tokened) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	if mine == l.name {
		return l.take(ctx, mine)
	}
	return l.try(ctx, mine)
}

// refusedThen does something more when it has been refused.
func refusedThen(more step) func(plain) impls.Lock {
	return script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if ok || err != nil {
			return ok, err
		}
		return more(l, ctx)
	}, nil)
}

// byHash runs a script by its hash, having loaded it.
func (l *scripted) byHash(ctx context.Context, source string, args ...any) (any, error) {
	sha, err := l.do(ctx, "SCRIPT", "LOAD", source)
	if err != nil {
		return nil, err
	}
	return l.do(ctx, append([]any{"EVALSHA", sha, 1, lockKey}, args...)...)
}

var overlooked = []strange{
	{name: "valid for a month", only: holders, faults: pauses(1), made: func(p plain) impls.Lock { return &certain{p, 30 * 24 * time.Hour} }},
	{name: "valid for ever", only: holders, faults: pauses(1), made: func(p plain) impls.Lock { return &certain{p, math.MaxInt64} }},
	{name: "writes a yes, and reads a one", only: strays, made: refusedThen(func(l *scripted, ctx context.Context) (bool, error) {
		if _, err := l.do(ctx, "SET", "refused", true); err != nil {
			return false, err
		}
		if v, err := l.do(ctx, "GET", "refused"); err != nil || v != "1" {
			return false, err
		}
		return l.del(ctx)
	})},
	{name: "a lease in nanoseconds", only: []checker.Name{checker.StuckLock}, faults: []faults.Kind{faults.Crash}, made: script(func(l *scripted, ctx context.Context) (bool, error) {
		l.value = l.env.Token()
		reply, err := l.do(ctx, "SET", lockKey, l.value, "NX", "PX", l.lease)
		return reply == "OK", err
	}, nil)},
	{name: "a script that it has loaded takes over before the lease ends", only: overwrites, faults: pauses(1), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		mine := l.env.Token()
		n, err := l.byHash(ctx, `local t = redis.call("PTTL", KEYS[1]); if t == -2 or t > 500 and t < 620 then redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) return 1 end return 0`,
			mine, l.lease.Milliseconds())
		if n == int64(1) {
			l.value = mine
		}
		return n == int64(1), err
	}, nil)},
	{name: "a script that it has loaded releases", holds: true, rounds: 2, faults: []faults.Kind{faults.Crash}, made: script(nil, func(l *scripted, ctx context.Context) (bool, error) {
		n, err := l.byHash(ctx, compareAndDelete, l.value)
		return n == int64(1), err
	})},
	{name: "makes a map", holds: true, only: strays, made: refusedThen(func(l *scripted, ctx context.Context) (bool, error) {
		seen := map[any]int{}
		v, err := l.do(ctx, "GET", lockKey)
		seen[v]++
		return seen[l.value] > 0, err
	})},
	{name: "has a token from the start", holds: true, only: strays, rounds: 2, made: func(p plain) impls.Lock { return &tokened{p, p.env.Token()} }},
	{name: "keeps its token as bytes", holds: true, only: strays, rounds: 2, made: func(p plain) impls.Lock { return &bytewise{plain: p} }},
}

func TestOverlookedLocks(t *testing.T) {
	t.Parallel()
	for _, s := range overlooked {
		t.Run(s.name, func(t *testing.T) {
			result := s.explore(t)
			assert.Equal(t, s.holds, result.Found == nil)
			assert.True(t, !s.holds || result.Complete(), "%s %s", result.Limit, result.Doubt)
		})
	}
}

// Nothing is shown of a lock that reads a real clock or draws chance, by what it keeps or by a variable, or that starts goroutines by itself.
func TestOutsideClocksAreNoticed(t *testing.T) {
	t.Parallel()
	all := outsideClocks
	if runtime.GOARCH == "amd64" {
		all = slices.Concat(all, variableClocks)
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			if s.name == "a goroutine of its own" {
				needs.Long(t, "a long search")
			}
			s.only, s.faults = overwrites, pauses(2)
			result := s.explore(t)
			assert.Nil(t, result.Found)
			assert.Contains(t, result.Doubt, "which is not its Env's")
		})
	}
}
