//go:build linux || darwin

package reproduce_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/search"
)

// patient takes the lock by force when it has been refused three times. It counts by itself, or on the server under another key.
type patient struct {
	env      impls.Env
	opts     impls.Options
	onServer bool
	refused  int64
}

func (l *patient) State() any { return l.refused }

func (l *patient) TryAcquire(ctx context.Context) (bool, error) {
	set := []any{"SET", l.opts.Key, l.env.Token(), "PX", l.opts.Lease.Milliseconds()}
	reply, err := l.env.Server().Do(ctx, append(set, "NX")...)
	if reply == "OK" || err != nil {
		return reply == "OK", err
	}
	l.refused++
	refused := any(l.refused)
	if l.onServer {
		if refused, err = l.env.Server().Do(ctx, "INCR", l.opts.Key+":refused"); err != nil {
			return false, err
		}
		l.refused = 0
	}
	if refused == int64(3) {
		reply, err = l.env.Server().Do(ctx, set...)
	}
	return reply == "OK", err
}

func (l *patient) Release(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "DEL", l.opts.Key)
	return reply == int64(1), err
}

// requireReplayed has two clients of a lock explored without a fault, and what is found replayed.
func requireReplayed(t *testing.T, spec impls.Spec, only checker.Name) {
	t.Helper()
	explored, err := lab.Explore(t.Context(), lab.ExplorePlan{Lock: spec, Clients: 2, Tries: 3, Budget: search.Budget{}, Only: []checker.Name{only}})
	require.NoError(t, err)
	require.NotNil(t, explored.Found)
	replays, err := lab.Replays(t.Context(), lab.ReplayPlan{
		Counterexamples: []reproduce.Counterexample{{Lock: spec, Faults: reproduce.All, Trace: explored.Found}},
		Options:         lab.Options{Setting: lab.Setting{World: lab.Sim}},
	})
	require.NoError(t, err)
	require.NoError(t, replays[0].Err)
	require.Equal(t, 1, replays[0].Shown)
}

// A try that is refused and changes nothing under the lock's key may still be part of what breaks the lock: somebody remembers it.
func TestRefusedTriesThatSomebodyRemembers(t *testing.T) {
	for _, onServer := range []bool{false, true} {
		t.Run(fmt.Sprintf("on the server: %v", onServer), func(t *testing.T) {
			spec := impls.Spec{
				Card: impls.Card{Name: "patient", Needs: impls.OneServer, EqualTokens: true},
				New: func(env impls.Env, opts impls.Options) impls.Lock {
					return &patient{env: env, opts: opts, onServer: onServer}
				},
			}
			requireReplayed(t, spec, checker.Overwrite)
		})
	}
}

// next writes the next number over that of the client that has the lock. It only looks like a count.
type next struct {
	env  impls.Env
	opts impls.Options
}

func (l *next) State() any { return nil }

func (l *next) TryAcquire(ctx context.Context) (bool, error) {
	s := l.env.Server()
	reply, err := s.Do(ctx, "SET", l.opts.Key, 1, "NX", "PX", l.opts.Lease.Milliseconds())
	if reply != "OK" && err == nil {
		_, err = s.Do(ctx, "SET", l.opts.Key, 2, "XX", "KEEPTTL")
	}
	return reply == "OK", err
}

func (l *next) Release(ctx context.Context) (bool, error) {
	reply, err := l.env.Server().Do(ctx, "DEL", l.opts.Key)
	return reply == int64(1), err
}

func TestRefusedTriesThatSetTheNextNumber(t *testing.T) {
	requireReplayed(t, impls.Spec{
		Card: impls.Card{Name: "next", Needs: impls.OneServer, EqualTokens: true},
		New:  func(env impls.Env, opts impls.Options) impls.Lock { return &next{env, opts} },
	}, checker.Overwrite)
}

// keeper never gives its lock back. Refused tries sleep, or leave a note.
type keeper struct {
	env   impls.Env
	opts  impls.Options
	notes bool
}

func (l *keeper) State() any { return nil }

func (l *keeper) TryAcquire(ctx context.Context) (bool, error) {
	s := l.env.Server()
	n, err := s.Do(ctx, "SETNX", l.opts.Key, l.env.Token())
	switch {
	case n == int64(1) || err != nil:
		return err == nil, err
	case l.notes:
		_, err = s.Do(ctx, "SET", l.opts.Key+":here", l.env.Token())
	default:
		err = l.env.Sleep(ctx, l.opts.Lease/12)
	}
	return false, err
}

func (l *keeper) Release(context.Context) (bool, error) { return false, nil }

func TestRefusedForGood(t *testing.T) {
	for _, notes := range []bool{false, true} {
		requireReplayed(t, impls.Spec{
			Card: impls.Card{Name: "keeper", Needs: impls.OneServer, EqualTokens: true},
			New:  func(env impls.Env, opts impls.Options) impls.Lock { return &keeper{env, opts, notes} },
		}, checker.StuckLock)
	}
}

// early takes its fencing token before it takes the lock, which one who waited for longer gets with a smaller token.
type early struct {
	env   impls.Env
	opts  impls.Options
	value string
	fence int64
}

func (l *early) State() any {
	return struct {
		value string
		fence int64
	}{l.value, l.fence}
}

func (l *early) TryAcquire(ctx context.Context) (bool, error) {
	n, err := l.env.Server().Do(ctx, "INCR", l.opts.Key+":fence")
	if err != nil {
		return false, err
	}
	l.fence, l.value = n.(int64), l.env.Token()
	reply, err := l.env.Server().Do(ctx, "SET", l.opts.Key, l.value, "NX", "PX", l.opts.Lease.Milliseconds())
	return reply == "OK", err
}

func (l *early) Fence() int64 { return l.fence }

func (l *early) Release(ctx context.Context) (bool, error) {
	source := `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
	n, err := l.env.Server().Eval(ctx, &impls.Script{Source: source}, []string{l.opts.Key}, l.value)
	return n == int64(1), err
}

// intent takes the lock unless somebody else has announced a try since its own, or has the lock.
type intent struct{ early }

func (l *intent) TryAcquire(ctx context.Context) (bool, error) {
	s := l.env.Server()
	l.value = l.env.Token()
	if _, err := s.Do(ctx, "SET", l.opts.Key+":intent", l.value); err != nil {
		return false, err
	}
	held, err := s.Do(ctx, "GET", l.opts.Key)
	if err != nil || held != nil {
		return false, err
	}
	announced, err := s.Do(ctx, "GET", l.opts.Key+":intent")
	if err != nil || announced != l.value {
		return false, err
	}
	_, err = s.Do(ctx, "SET", l.opts.Key, l.value, "PX", l.opts.Lease.Milliseconds())
	return err == nil, err
}

func (l *intent) Fence() int64 { return 0 }

// Breakpoints do not count what is under other keys than the lock's and the data's. Still, the order there may decide.
func TestOrderUnderAnotherKey(t *testing.T) {
	for name, test := range map[string]struct {
		made func(early) impls.Lock
		only checker.Name
	}{
		"a fence before the lock":     {func(l early) impls.Lock { return &l }, checker.FenceRegression},
		"an intent and then the lock": {func(l early) impls.Lock { return &intent{l} }, checker.DoubleHolder},
	} {
		t.Run(name, func(t *testing.T) {
			spec := impls.Spec{
				Card: impls.Card{Name: "stranger", Needs: impls.OneServer, EqualTokens: true},
				New:  func(env impls.Env, opts impls.Options) impls.Lock { return test.made(early{env: env, opts: opts}) },
			}
			requireReplayed(t, spec, test.only)
		})
	}
}
