package process

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// keeping is a lock that keeps something beside a background task that sleeps.
type keeping struct {
	env         impls.Env
	stop, other func()
	count       int
	shares      *[]int
	words       map[string]int
	adds        func()
	word        chan int
}

func (*keeping) TryAcquire(context.Context) (bool, error) { return true, nil }
func (*keeping) Release(context.Context) (bool, error)    { return true, nil }

func (l *keeping) start() {
	l.stop = l.env.Go(func(ctx context.Context) {
		for l.env.Sleep(ctx, time.Second) == nil {
			_, _ = l.env.Server().Do(ctx, "GET", "key")
		}
	})
}

// What a lock remembers beside a task is the same after an operation that has changed nothing, and otherwise another, or cannot be compared.
func TestBesideATask(t *testing.T) {
	nothing := func(Context, *keeping) {}
	for name, test := range map[string]struct {
		before, then func(Context, *keeping)
		compared     bool
		same         bool
	}{
		"nothing":                              {nothing, nothing, true, true},
		"a request":                            {nothing, func(ctx Context, l *keeping) { _, _ = l.env.Server().Do(ctx.Ctx(), "GET", "key") }, true, true},
		"a count":                              {nothing, func(_ Context, l *keeping) { l.count++ }, true, false},
		"a token":                              {nothing, func(_ Context, l *keeping) { l.env.Shared(l.env.Token(), func() any { return 1 }) }, true, false},
		"a function with a variable":           {func(_ Context, l *keeping) { n := 0; l.adds = func() { n++ } }, func(_ Context, l *keeping) { l.adds() }, false, false},
		"a channel":                            {func(_ Context, l *keeping) { l.word = make(chan int, 1) }, func(_ Context, l *keeping) { l.word <- 1 }, false, false},
		"an equal object":                      {func(_ Context, l *keeping) { l.shares = &[]int{1} }, func(_ Context, l *keeping) { l.shares = &[]int{1} }, true, false},
		"the same object":                      {func(_ Context, l *keeping) { l.shares = &[]int{1} }, func(Context, *keeping) {}, true, true},
		"an equal map":                         {func(_ Context, l *keeping) { l.words = map[string]int{"one": 1} }, func(_ Context, l *keeping) { l.words = map[string]int{"one": 1} }, true, false},
		"a task that has ended is told to end": {func(_ Context, l *keeping) { l.other = l.env.Go(func(context.Context) {}) }, func(_ Context, l *keeping) { l.other() }, true, false},
		"another task in its place":            {nothing, func(_ Context, l *keeping) { l.stop(); l.start() }, true, false},
		"one more task":                        {nothing, func(_ Context, l *keeping) { l.env.Go(func(ctx context.Context) { _ = l.env.Sleep(ctx, time.Hour) }) }, true, false},
		"no task":                              {nothing, func(_ Context, l *keeping) { l.stop() }, false, false},
		"a function that ends no task":         {nothing, func(_ Context, l *keeping) { l.stop = func() { l.count++ } }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(&keeper{begun: map[int]time.Duration{}})
			defer p.Close()
			l := &keeping{}
			p.Open("lock", impls.Spec{New: func(env impls.Env, _ impls.Options) impls.Lock { l.env = env; return l }}, impls.Options{Key: "key"}, 1)
			call := func(do func(Context, *keeping)) {
				task := p.Call("lock", history.OpAcquire, func(ctx Context, _ impls.Lock) history.Answer {
					do(ctx, l)
					return history.Answer{Outcome: history.OK}
				})
				for _, w := range p.Waits() {
					if w.Task == task {
						_, compared := p.Beside()
						assert.False(t, compared, "an operation is under way")
						p.Resume(task, Input{Lost: true})
					}
				}
				require.NoError(t, p.Err())
				require.False(t, p.Busy())
			}
			_, compared := p.Beside()
			require.False(t, compared, "no task lives")
			call(func(ctx Context, l *keeping) { l.start(); test.before(ctx, l) })
			before, first := p.Beside()
			call(test.then)
			after, then := p.Beside()
			assert.Equal(t, test.compared, first && then)
			assert.Equal(t, test.same, first && then && string(before) == string(after))
		})
	}
}

// A task that has run meanwhile may remember something else.
func TestBesideATaskThatRuns(t *testing.T) {
	p := New(&keeper{begun: map[int]time.Duration{}})
	defer p.Close()
	l := &keeping{}
	p.Open("lock", impls.Spec{New: func(env impls.Env, _ impls.Options) impls.Lock { l.env = env; return l }}, impls.Options{Key: "key"}, 1)
	p.Call("lock", history.OpAcquire, func(Context, impls.Lock) history.Answer { l.start(); return history.Answer{} })
	before, compared := p.Beside()
	require.True(t, compared)
	task := p.Waits()[0].Task
	p.Resume(task, Input{})           // it asks
	p.Resume(task, Input{Lost: true}) // and sleeps again
	after, compared := p.Beside()
	require.True(t, compared)
	assert.NotEqual(t, before, after)
}
