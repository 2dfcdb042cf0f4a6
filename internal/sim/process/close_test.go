package process

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
)

// However a task ends, closing the process leaves no goroutine behind.
func TestClosedProcessesLeaveNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	spec, _ := impls.Find("setnx-del")
	unwound := 0
	sleeps := func(ctx context.Context, env impls.Env) { _ = env.Sleep(ctx, time.Hour) }
	recovers := func(turn func()) { defer func() { _ = recover() }(); turn() }
	for _, test := range []struct {
		name    string
		run     func(ctx context.Context, env impls.Env)
		waits   int
		unwound int
		err     error
	}{
		{"returns", func(context.Context, impls.Env) {}, 0, 0, nil},
		{"is closed", func(ctx context.Context, env impls.Env) { defer func() { unwound++ }(); sleeps(ctx, env) }, 1, 1, nil},
		{"panics", func(context.Context, impls.Env) { panic("at once") }, 0, 0, ErrPanic},
		{"recovers what closes it", func(ctx context.Context, env impls.Env) { defer func() { _ = recover() }(); sleeps(ctx, env) }, 1, 0, nil},
		{"waits while it unwinds", func(ctx context.Context, env impls.Env) { defer sleeps(ctx, env); sleeps(ctx, env) }, 1, 0, nil},
		{"goes by a derived context", func(ctx context.Context, env impls.Env) {
			within, cancel := context.WithCancel(ctx)
			defer cancel()
			for within.Err() == nil {
				recovers(func() { sleeps(ctx, env) })
			}
		}, 1, 0, nil},
		{"looks whether it is done", func(ctx context.Context, env impls.Env) {
			for {
				select {
				case <-ctx.Done():
					return
				default:
					recovers(func() { sleeps(ctx, env) })
				}
			}
		}, 1, 0, nil},
		{"is closed again", func(ctx context.Context, env impls.Env) { defer func() { unwound++ }(); sleeps(ctx, env) }, 1, 1, nil},
	} {
		unwound = 0
		p := New(&keeper{begun: map[int]time.Duration{}})
		p.Open("lock", spec, impls.Options{Key: "lock", Lease: time.Second}, 1)
		p.Call("lock", history.OpAcquire, func(ctx context.Context, _ impls.Lock) history.Answer {
			test.run(ctx, p.Env("lock"))
			return history.Answer{Outcome: history.OK}
		})
		require.Len(t, p.Waits(), test.waits, test.name)
		require.ErrorIs(t, p.Err(), test.err, test.name)
		p.Close()
		require.Equal(t, test.unwound, unwound, test.name)
	}
}

// A task that recovers from whatever ends it, and never looks at its context, is left where it stands: to close the process takes no longer.
func TestEndlessTasksAreLeft(t *testing.T) {
	p, _, _ := opened(t, func(ctx context.Context, env impls.Env) error {
		for {
			func() {
				defer func() { _ = recover() }()
				_ = env.Sleep(ctx, time.Second)
			}()
		}
	})
	p.Close()
	require.Empty(t, p.Waits())
}

// What a lock keeps of a time-out for which nothing waits is noted, also if it is a context made of it.
func TestTimeoutsForNothingAreNoted(t *testing.T) {
	for name, test := range map[string]struct {
		keeps func(held context.Context) context.Context
		want  bool
	}{
		"itself": {func(held context.Context) context.Context { return held }, true},
		"derived": {func(held context.Context) context.Context {
			within, cancel := context.WithCancel(held)
			t.Cleanup(cancel)
			return within
		}, true},
		"nothing": {func(context.Context) context.Context { return context.Background() }, false},
	} {
		p := New(&timeless{})
		spec, _ := impls.Find("setnx-del")
		p.Open("lock", spec, impls.Options{Key: "lock", Lease: time.Second}, 1)
		p.Call("lock", history.OpAcquire, func(ctx context.Context, _ impls.Lock) history.Answer {
			held, cancel := p.Env("lock").WithTimeout(ctx, time.Hour)
			kept := test.keeps(held)
			if !test.want {
				cancel()
			}
			_ = p.Env("lock").Sleep(context.Background(), time.Second)
			return answers.Settled(kept.Err() == nil, nil)
		})
		p.Resume(p.Waits()[0].Task, Input{})
		require.Equal(t, test.want, p.AskedLate, name)
		p.Close()
	}
}

// timeless is a Host that does not mind time-outs.
type timeless struct{}

func (*timeless) Now() time.Time           { return time.Unix(1_700_000_000, 0) }
func (*timeless) Monotonic() time.Duration { return 0 }
func (*timeless) Token() string            { return "token" }
