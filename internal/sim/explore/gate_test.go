package explore

import (
	"context"
	"testing"

	"github.com/locklab/locklab/internal/sim/learn"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
)

// gated takes the lock behind a gate, a second key, so that nobody else is in between. The gate has a lease or none.
func gated(lease ...any) func(plain) impls.Lock {
	return script(func(l *scripted, ctx context.Context) (bool, error) {
		reply, err := l.env.Server().Do(ctx, append([]any{"SET", "gate", l.env.Token(), "NX"}, lease...)...)
		if reply != "OK" || err != nil {
			return false, err
		}
		ok, err := l.plain.TryAcquire(ctx)
		if err != nil {
			return false, err
		}
		_, err = l.env.Server().Do(ctx, "DEL", "gate")
		return ok, err
	}, nil)
}

// A gate that a crashed client has left keeps all others out. No key of the lock shows it, so nobody is accused, but nothing is shown either.
func TestWhatKeepsOthersOutWithoutTheKeyIsNoticed(t *testing.T) {
	t.Parallel()
	only := []checker.Name{checker.StuckLock}
	for name, test := range map[string]struct {
		strange
		noticed bool
	}{
		"no client crashes":     {strange{only: only, made: gated()}, false},
		"a gate for good":       {strange{only: only, faults: []faults.Kind{faults.Crash}, made: gated()}, true},
		"a gate for a lease":    {strange{only: only, faults: []faults.Kind{faults.Crash}, made: gated("PX", learn.Lease.Milliseconds())}, false},
		"looked for other ends": {strange{only: holders, faults: []faults.Kind{faults.Crash}, made: gated()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			result := test.explore(t)
			assert.Nil(t, result.Found)
			assert.Empty(t, result.Limit)
			if test.noticed {
				assert.Contains(t, result.Doubt, "refused for good")
				assert.False(t, result.Complete())
				return
			}
			assert.True(t, result.Complete(), result.Doubt)
		})
	}
}
