package explore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/impls"
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

// admitting has a place for one in its own process, and tells whoever listens what has come of it.
type admitting struct {
	plain
	place  chan struct{}
	events chan string
}

func (l *admitting) TryAcquire(ctx context.Context) (bool, error) {
	select {
	case l.place <- struct{}{}:
	default:
		return false, nil
	}
	ok, err := l.plain.TryAcquire(ctx)
	if !ok {
		<-l.place
	}
	select {
	case l.events <- fmt.Sprint(ok, err):
	default:
	}
	return ok, err
}

func (l *admitting) Release(ctx context.Context) (bool, error) {
	select {
	case <-l.place:
		return l.plain.Release(ctx)
	default:
		return false, nil
	}
}

// What counts its refusals, or keeps a log or a channel, is searched to the end, unless it does something else after many.
func TestLocksThatCount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		made  func(p plain) impls.Lock
		doubt string
	}{
		"counts":                      {func(p plain) impls.Lock { return &metered{plain: p} }, ""},
		"keeps a log":                 {func(p plain) impls.Lock { return &logger{plain: p} }, ""},
		"has channels":                {func(p plain) impls.Lock { return &admitting{p, make(chan struct{}, 1), make(chan string, 3)} }, ""},
		"by force after 20 refusals":  {func(p plain) impls.Lock { return &forceful{weary{metered{plain: p}, 20}} }, "times more than in the search"},
		"by force after 900 refusals": {func(p plain) impls.Lock { return &forceful{weary{metered{plain: p}, 900}} }, "times more than in the search"},
		"deletes after 30 refusals":   {func(p plain) impls.Lock { return &weary{metered{plain: p}, 30} }, "times more than in the search"},
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
