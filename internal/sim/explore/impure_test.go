package explore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// impure is a lock that minds something that is not its Env's.
type impure struct {
	env   impls.Env
	value func() any
	wait  func()
}

func (l *impure) TryAcquire(ctx context.Context) (bool, error) {
	l.wait()
	reply, err := l.env.Server().Do(ctx, "SET", learn.LockKey, l.value(), "NX", "PX", 1200)
	return reply == "OK", err
}

func (l *impure) Release(ctx context.Context) (bool, error) {
	_, err := l.env.Server().Do(ctx, "DEL", learn.LockKey)
	return err == nil, err
}

// A lock that is not a function of what it is given is reported, and not explored as if it were.
func TestImpureLocksAreReported(t *testing.T) {
	t.Parallel()
	nothing, constant := func() {}, func() any { return "x" }
	calls, names := 0, map[string]int{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		names[name] = 1
	}
	tests := map[string]struct {
		value func() any
		wait  func()
		want  string
	}{
		"a real clock":      {func() any { return time.Now().UnixNano() }, nothing, "did not do the same twice"},
		"a hidden variable": {func() any { calls++; return calls }, nothing, "did not do the same twice"},
		"a map's order": {func() any {
			order := ""
			for name := range names {
				order += name
			}
			return order
		}, nothing, "did not do the same twice"},
		"a channel": {constant, func() { <-make(chan int) }, "does not come back"},
		"a panic":   {constant, func() { panic("oh") }, "panicked: oh"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := impls.Spec{
				Card: impls.Card{Name: "impure", Needs: impls.OneServer},
				New: func(env impls.Env, _ impls.Options) impls.Lock {
					return &impure{env: env, value: test.value, wait: test.wait}
				},
			}
			_, err := Explore(context.Background(), Config{Lock: spec, Clients: 2, Rounds: 2, States: 100_000, Time: time.Minute})
			require.Error(t, err)
			assert.ErrorContains(t, err, test.want)
			assert.ErrorContains(t, err, "impure cannot be explored")
		})
	}
}

// These are variables that all locks of a process share, and that the first use changes for good.
var (
	sharedUses  atomic.Int64
	sharedFirst atomic.Pointer[scripted]
)

// A lock that does something else by the first use in its process does so in each process, and in a search only once. That must show although the search
// begins again, because the clients differ or because the lock reads a clock.
func TestFirstUsesAreReported(t *testing.T) {
	t.Parallel()
	byForce := func(isFirst func(*scripted) bool) func(plain) impls.Lock {
		return script(func(l *scripted, ctx context.Context) (bool, error) {
			if isFirst(l) {
				return l.take(ctx, l.env.Token())
			}
			return l.plain.TryAcquire(ctx)
		}, nil)
	}
	for name, made := range map[string]func(plain) impls.Lock{
		"the first use":                 byForce(func(*scripted) bool { return sharedUses.Add(1) == 1 }),
		"the first use, beside a clock": byForce(func(l *scripted) bool { return !l.env.Now().IsZero() && sharedUses.Add(1) == 1 }),
		"the first lock": byForce(func(l *scripted) bool {
			sharedFirst.CompareAndSwap(nil, l)
			return sharedFirst.Load() == l
		}),
	} {
		sharedUses.Store(0)
		sharedFirst.Store(nil)
		_, err := Explore(context.Background(), Config{Lock: stranger(made), Clients: 2, Only: overwrites, Budget: Budget{}}.Usual())
		assert.ErrorContains(t, err, "a variable of its package", name)
	}
}

// A goroutine of its own has no Env to ask.
func TestAGoroutineOfItsOwnIsReported(t *testing.T) {
	spec := impls.Spec{
		Card: impls.Card{Name: "impure", Needs: impls.OneServer},
		New: func(env impls.Env, _ impls.Options) impls.Lock {
			return &impure{env: env, value: func() any { return "x" }, wait: func() {
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = env.Sleep(context.Background(), time.Second)
				}()
				<-done
			}}
		},
	}
	_, err := Explore(context.Background(), Config{Lock: spec, Clients: 1, Rounds: 1})
	require.Error(t, err)
}

// refuser is a lock that nobody ever gets.
type refuser struct {
	env  impls.Env
	asks bool
}

func (refuser) State() any { return nil }

func (l refuser) TryAcquire(ctx context.Context) (bool, error) {
	if l.asks {
		_, err := l.env.Server().Do(ctx, "GET", learn.LockKey)
		return false, err
	}
	return false, nil
}

func (l refuser) Release(context.Context) (bool, error) { return false, nil }

// A lock that refuses for no reason is of no use, but nothing is there that could be stuck: the judges agree that nothing was shown.
func TestRefusalsForNothingShowNothing(t *testing.T) {
	needs.Long(t, "a long search")
	for name, asks := range map[string]bool{"what is free": true, "without asking": false} {
		t.Run(name, func(t *testing.T) {
			spec := impls.Spec{
				Card: impls.Card{Name: "refuser", Needs: impls.OneServer, EqualTokens: true},
				New:  func(env impls.Env, _ impls.Options) impls.Lock { return refuser{env, asks} },
			}
			result, err := Explore(context.Background(), Config{Lock: spec}.Usual())
			require.NoError(t, err)
			assert.Empty(t, result.Disputed)
			assert.Nil(t, result.Found)
			assert.True(t, result.Complete())
			assert.True(t, result.Vacuous())
		})
	}
}

// scriptRefuser is a lock whose script asks for what is free and does not take it.
type scriptRefuser struct{ refuser }

func (l scriptRefuser) TryAcquire(ctx context.Context) (bool, error) {
	_, err := l.env.Server().Eval(ctx, &impls.Script{Source: "return redis.call('GET', KEYS[1])"}, []string{learn.LockKey})
	return false, err
}

// A script is the whole try: who runs it, and is refused, has asked for a lock that is free, and no client ever gets it.
func TestFreeLockThatRefusesScriptsIsStuck(t *testing.T) {
	spec := impls.Spec{
		Card: impls.Card{Name: "refuser", Needs: impls.OneServer, EqualTokens: true},
		New:  func(env impls.Env, _ impls.Options) impls.Lock { return scriptRefuser{refuser{env: env}} },
	}
	result, err := Explore(t.Context(), Config{Lock: spec, Clients: 1, Rounds: 1})
	require.NoError(t, err)
	assert.Empty(t, result.Disputed)
	require.NotNil(t, result.Found)
	assert.Equal(t, []checker.Name{checker.StuckLock}, result.Found.Anomalies)
}

// everywhere is a lock without a lease on all servers. An eager one asks all of them, whatever the first have answered.
type everywhere struct {
	env   impls.Env
	eager bool
}

func (everywhere) State() any { return nil }

func (l everywhere) TryAcquire(ctx context.Context) (bool, error) {
	var mine []impls.Server
	for _, server := range l.env.Servers() {
		reply, err := server.Do(ctx, "SETNX", learn.LockKey, "x")
		switch {
		case err != nil:
			return false, err
		case reply == int64(1):
			mine = append(mine, server)
		case !l.eager:
			return false, l.free(ctx, mine)
		}
	}
	if len(mine) == len(l.env.Servers()) {
		return true, nil
	}
	return false, l.free(ctx, mine)
}

func (l everywhere) Release(ctx context.Context) (bool, error) {
	return true, l.free(ctx, l.env.Servers())
}

func (l everywhere) free(ctx context.Context, servers []impls.Server) error {
	for _, server := range servers {
		if _, err := server.Do(ctx, "DEL", learn.LockKey); err != nil {
			return err
		}
	}
	return nil
}

// What a crash leaves on several servers is stuck where so many are seen to be taken that nobody can have a majority: the judges agree.
func TestLocksLeftOnSeveralServers(t *testing.T) {
	needs.Long(t, "a long search")
	for _, eager := range []bool{true, false} {
		for _, servers := range []int{2, 3} {
			spec := impls.Spec{
				Card: impls.Card{Name: "everywhere", Needs: impls.EveryServer, Contract: history.Contract{Leaseless: true}, Servers: servers, EqualTokens: true},
				New:  func(env impls.Env, _ impls.Options) impls.Lock { return everywhere{env, eager} },
			}
			config := Config{Lock: spec}.Usual()
			config.Budget, config.MostFaults, config.Only = spend(faults.Crash), 1, []checker.Name{checker.StuckLock}
			result := explored(t, config)
			assert.Empty(t, result.Disputed)
			assert.Equal(t, eager || servers == 2, result.Found != nil, "eager %v, %d servers", eager, servers)
		}
	}
}

// remembering keeps what a real clock shows, and takes the lock by force a second later.
type remembering struct {
	plain
	last int64
}

func (l *remembering) TryAcquire(ctx context.Context) (bool, error) {
	now := time.Now().UnixNano()
	if l.last > 0 && now-l.last > time.Second.Nanoseconds() {
		return l.take(ctx, l.env.Token())
	}
	l.last = now
	return l.plain.TryAcquire(ctx)
}

// What a lock remembers of a real clock shows before it makes a difference.
func TestAMemoryOfARealClockIsReported(t *testing.T) {
	t.Parallel()
	config := Config{Lock: stranger(func(p plain) impls.Lock { return &remembering{plain: p} }), Clients: 2, Budget: Budget{}}
	_, err := Explore(context.Background(), config.Usual())
	assert.ErrorContains(t, err, "its State was not the same twice")
}
