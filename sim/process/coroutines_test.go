package process

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// However a task ends, the next process uses its coroutine again; and what belongs to one task does not reach the next.
func TestCoroutinesAreUsedAgain(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	spec, _ := impls.Find("setnx-del")
	var coroutines Coroutines
	defer coroutines.Close()
	unwound := 0
	sleeps := func(ctx Context, env impls.Env) { _ = env.Sleep(ctx.Ctx(), time.Hour) }
	for _, test := range []struct {
		name    string
		run     func(ctx Context, env impls.Env)
		waits   int
		unwound int
		err     error
	}{
		{"returns", func(Context, impls.Env) {}, 0, 0, nil},
		{"is closed", func(ctx Context, env impls.Env) { defer func() { unwound++ }(); sleeps(ctx, env) }, 1, 1, nil},
		{"panics", func(Context, impls.Env) { panic("at once") }, 0, 0, ErrPanic},
		{"recovers what closes it", func(ctx Context, env impls.Env) { defer func() { _ = recover() }(); sleeps(ctx, env) }, 1, 0, nil},
		{"waits while it unwinds", func(ctx Context, env impls.Env) { defer sleeps(ctx, env); sleeps(ctx, env) }, 1, 0, nil},
		{"is closed again", func(ctx Context, env impls.Env) { defer func() { unwound++ }(); sleeps(ctx, env) }, 1, 1, nil},
	} {
		unwound = 0
		p := New(&keeper{begun: map[int]time.Duration{}})
		p.Use(&coroutines)
		p.Open("lock", spec, impls.Options{Key: "lock", Lease: time.Second}, 1)
		p.Call("lock", history.OpAcquire, func(ctx Context, _ impls.Lock) history.Answer {
			test.run(ctx, p.Env("lock"))
			return history.Answer{Outcome: history.OK}
		})
		require.Len(t, p.Waits(), test.waits, test.name)
		require.ErrorIs(t, p.Err(), test.err, test.name)
		p.Close()
		require.Equal(t, test.unwound, unwound, test.name)
		require.Len(t, coroutines.idle, 1, test.name)
	}
}
