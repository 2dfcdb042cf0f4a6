package explore

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// generations has tries end a generation, and begin another that is as the one before was. A task deletes the lock if its reply is lost after its own
// generation has ended. How many requests a try makes decides which of them come to the same place first.
type generations struct {
	plain
	now      *generation
	begun    bool
	requests int
}

type generation struct{ over bool }

func (l *generations) TryAcquire(ctx context.Context) (bool, error) {
	first := !l.begun
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil {
		return ok, err
	}
	if first {
		l.begun, l.now = true, &generation{}
		mine := l.now
		l.env.Go(func(ctx context.Context) {
			if _, err := l.env.Server().Do(ctx, "PING"); err != nil && mine.over {
				_, _ = l.env.Server().Do(ctx, "DEL", lockKey)
			}
			l.now = nil
		})
	}
	if err := l.ask(ctx, l.requests); err != nil {
		return false, err
	}
	if !first && l.now != nil {
		l.now.over = true
		l.now = &generation{}
	}
	return false, nil
}

func (l *plain) ask(ctx context.Context, times int) error {
	for range times {
		if _, err := l.env.Server().Do(ctx, "GET", lockKey); err != nil {
			return err
		}
	}
	return nil
}

// heirs has a task begin another and end. The other deletes the lock if its reply is lost and the context of the first has ended: tries end that.
type heirs struct {
	plain
	stop     func()
	begun    bool
	requests int
}

func (l *heirs) TryAcquire(ctx context.Context) (bool, error) {
	first := !l.begun
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil {
		return ok, err
	}
	if first {
		l.begun = true
		l.stop = l.env.Go(func(first context.Context) {
			l.env.Go(func(ctx context.Context) {
				if _, err := l.env.Server().Do(ctx, "PING"); err != nil && first.Err() != nil {
					_, _ = l.env.Server().Do(ctx, "DEL", lockKey)
				}
				l.stop = nil
			})
		})
	}
	if err := l.ask(ctx, l.requests); err != nil {
		return false, err
	}
	if !first && l.stop != nil {
		l.stop()
	}
	return false, nil
}

// What a try does to what a task has shows, also if the lock then looks as before.
func TestTriesThatTouchATask(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(p plain, requests int) impls.Lock{
		"by an object in whose place an equal one is": func(p plain, requests int) impls.Lock { return &generations{plain: p, requests: requests} },
		"by a context that another task has left":     func(p plain, requests int) impls.Lock { return &heirs{plain: p, requests: requests} },
	} {
		for requests := range 4 {
			t.Run(fmt.Sprint(name, " ", requests), func(t *testing.T) {
				t.Parallel()
				s := strange{only: []checker.Name{checker.WrongfulDelete}, faults: []faults.Kind{faults.ReplyLost}, made: func(p plain) impls.Lock { return made(p, requests) }}
				result := s.explore(t)
				assert.NotNil(t, result.Found)
			})
		}
	}
}

// forgetful counts its refusals in a variable of the package.
type forgetful struct {
	plain
	stop  func()
	most  int
	tasks bool
}

var refusals = struct {
	sync.Mutex
	of map[*forgetful]int
}{of: map[*forgetful]int{}}

func (l *forgetful) TryAcquire(ctx context.Context) (bool, error) {
	if l.tasks && l.stop == nil {
		l.stop = l.env.Go(func(ctx context.Context) { _ = l.env.Sleep(ctx, 3*l.lease) })
	}
	ok, err := l.plain.TryAcquire(ctx)
	if ok || err != nil {
		return ok, err
	}
	refusals.Lock()
	refusals.of[l]++
	n := refusals.of[l]
	refusals.Unlock()
	if n >= l.most {
		return l.take(ctx, l.env.Token())
	}
	return false, nil
}

// A count that the lock itself does not keep shows in samples, and where histories were merged. Tokens are not to blame for it.
func TestRefusalsCountedInAPackage(t *testing.T) {
	t.Parallel()
	for _, tasks := range []bool{false, true} {
		for _, most := range []int{3, 9, 15} {
			t.Run(fmt.Sprint(tasks, " ", most), func(t *testing.T) {
				t.Parallel()
				s := strange{only: overwrites, made: func(p plain) impls.Lock { return &forgetful{plain: p, most: most, tasks: tasks} }}
				result := s.explore(t)
				assert.True(t, result.Found != nil || !result.Complete())
			})
		}
	}
}
