package explore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// metered counts its refusals, and shows the count to nobody.
type metered struct {
	plain
	refused atomic.Int64
}

func (l *metered) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	if !ok && err == nil {
		l.refused.Add(1)
	}
	return ok, err
}

// logger keeps a log.
type logger struct {
	plain
	log []string
}

func (l *logger) TryAcquire(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryAcquire(ctx)
	l.log = append(l.log, fmt.Sprint("acquire: ", ok, err))
	return ok, err
}

// weary has counted its refusals, and deletes whatever is there when it releases the lock after many.
type weary struct {
	metered
	most int64
}

func (l *weary) Release(ctx context.Context) (bool, error) {
	if l.refused.Load() > l.most {
		return l.del(ctx)
	}
	return l.plain.Release(ctx)
}

// forceful takes the lock by force after many refusals.
type forceful struct{ weary }

func (l *forceful) TryAcquire(ctx context.Context) (bool, error) {
	if l.refused.Load() > l.most {
		return l.take(ctx, l.env.Token())
	}
	return l.metered.TryAcquire(ctx)
}

// assisted is forceful, and has a background task ask the server in each try, which ends with it.
type assisted struct{ forceful }

func (l *assisted) TryAcquire(ctx context.Context) (bool, error) {
	done := false
	l.env.Go(func(ctx context.Context) {
		_, _ = l.env.Server().Do(ctx, "PING")
		done = true
	})
	ok, err := l.forceful.TryAcquire(ctx)
	for !done && err == nil {
		err = l.env.Sleep(ctx, time.Millisecond)
	}
	return ok, err
}

// overtime takes the lock by force when a time-out is over that it has begun at its first refusal.
type overtime struct {
	plain
	done <-chan struct{}
}

func (l *overtime) TryAcquire(ctx context.Context) (bool, error) {
	select {
	case <-l.done:
		return l.take(ctx, l.env.Token())
	default:
	}
	ok, err := l.plain.TryAcquire(ctx)
	if !ok && l.done == nil {
		within, _ := l.env.WithTimeout(context.Background(), l.lease/2) //nolint:govet // it ends by itself
		l.done = within.Done()
	}
	return ok, err
}

// Locks that count their refusals, or keep a log, are searched to the end, unless they do something else after many.
func TestLocksThatCount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		made  func(p plain) impls.Lock
		doubt string
	}{
		"counts":                           {func(p plain) impls.Lock { return &metered{plain: p} }, ""},
		"keeps a log":                      {func(p plain) impls.Lock { return &logger{plain: p} }, ""},
		"by force after 20 refusals":       {func(p plain) impls.Lock { return &forceful{weary{metered{plain: p}, 20}} }, "times more than in the search"},
		"by force after 900 refusals":      {func(p plain) impls.Lock { return &forceful{weary{metered{plain: p}, 900}} }, "times more than in the search"},
		"by force, and a task in each try": {func(p plain) impls.Lock { return &assisted{forceful{weary{metered{plain: p}, 20}}} }, "times more than in the search"},
		"deletes after 30 refusals":        {func(p plain) impls.Lock { return &weary{metered{plain: p}, 30} }, "times more than in the search"},
		"sends how often it was refused": {script(func(l *scripted, ctx context.Context) (bool, error) {
			l.n++
			return l.try(ctx, fmt.Sprint(l.env.Token(), l.n))
		}, nil), "times more than in the search"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := strange{made: test.made}
			result := s.explore(t)
			assert.Nil(t, result.Found)
			assert.Contains(t, result.Doubt, test.doubt)
			assert.Equal(t, test.doubt == "", result.Complete(), "%s %s", result.Limit, result.Doubt)
		})
	}
}

// A context's Done closes when its time-out is over, and nothing in the lock's memory shows when that is.
func TestNothingIsShownOfALockThatKeepsADone(t *testing.T) {
	t.Parallel()
	s := strange{only: overwrites, faults: pauses(1), made: func(p plain) impls.Lock { return &overtime{plain: p} }}
	result := s.explore(t)
	assert.Nil(t, result.Found)
	assert.False(t, result.Complete())
	assert.Contains(t, result.Unmerged, "overtime.done")
}

// What it does after many refusals shows only where its release comes too late, which few paths do.
func TestRareContinuationsAreSampled(t *testing.T) {
	t.Parallel()
	needs.Long(t, "a long search")
	s := strange{rounds: 2, only: []checker.Name{checker.WrongfulDelete}, faults: pauses(1), made: script(func(l *scripted, ctx context.Context) (bool, error) {
		ok, err := l.plain.TryAcquire(ctx)
		if !ok && err == nil {
			l.n++
		}
		return ok, err
	}, func(l *scripted, ctx context.Context) (bool, error) {
		v, err := l.do(ctx, "GET", lockKey)
		if err == nil && v == nil && l.n > 20 {
			return l.del(ctx)
		}
		if err != nil {
			return false, err
		}
		return l.plain.Release(ctx)
	})}
	result := s.explore(t)
	assert.Nil(t, result.Found)
	assert.Contains(t, result.Doubt, "times more than in the search")
}

// A try after which the search has gone nowhere is repeated, too.
func TestTheLastTriesAreRepeated(t *testing.T) {
	t.Parallel()
	config := Config{Lock: stranger(func(p plain) impls.Lock { return &forceful{weary{metered{plain: p}, 20}} }), Clients: 2, Rounds: 1, Budget: spend()}
	x := newExplorer(config.Usual(), traits{symmetric: true})
	defer x.automaton.close()
	require.NoError(t, x.search(context.Background()))
	require.NotEmpty(t, x.counting)
	p := newSampler(x.automaton)
	for n := range x.counting {
		path, called := p.refusedTry(n)
		require.GreaterOrEqual(t, called, 0)
		doubt, err := p.checkCount(path, called, len(path))
		assert.NoError(t, err)
		assert.Contains(t, doubt, "does something else")
	}
	doubt, err := p.checkCounting(context.Background(), []uint32{0})
	assert.NoError(t, err)
	assert.Contains(t, doubt, "no refused try can be repeated")
}
